"""Kiln's Python client as a new process, started by warm_start_bench.py. argv: the socket, a file with the kernels.

Asks the running daemon for every kernel, one request each, with its code object as a descriptor. Prints JSON:
milliseconds for the imports with the connection, and for all the requests.
"""

import json
import os
import sys
import time

begin = time.perf_counter()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "api", "python"))
import kiln  # noqa: E402


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        kernels = json.load(file)
    client = kiln.connect(sys.argv[1], auto_start=False)
    connected = time.perf_counter()
    for kernel in kernels:
        answer, descriptors = client.connection.call("kernel.compile", {**kernel, "must_hit": True, "want": "fd"})
        if not answer["cached"] or os.fstat(descriptors[0]).st_size == 0:
            sys.exit("no hit")
        os.close(descriptors[0])
    print(json.dumps({"connect_ms": (connected - begin) * 1e3, "hits_ms": (time.perf_counter() - connected) * 1e3}))


main()
