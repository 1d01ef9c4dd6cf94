"""Warm start (P6 of the targets): 100 kernels from disk, against Triton's cache with 100 in a new process.

    python3 -m venv /tmp/kiln-triton && /tmp/kiln-triton/bin/pip install triton
    python3 tests/bench/warm_start_bench.py --triton-python /tmp/kiln-triton/bin/python [--bin build/bin] [--rounds 9]
        [--json [FILE]]

Fills both caches first (GEMM kernels f16 for gfx942 of the same 100 sizes; minutes), then in alternating rounds of one
run:
- Triton: a new process; its hits (triton.compile of each kernel, which gives the object's bytes) and the whole process.
- kiln, new daemon: hits as 100 kernel.compile requests, each with the code object as a descriptor, over one connection
  to a daemon that was just started; whole = with the start of the daemon. Once more as one kernel.prepare request;
  whole = the process `kiln prepare` that finds no daemon and starts one.
- kiln --no-daemon: a new `kiln --no-daemon prepare` process; hits = less the same process with an empty list.
- Python client: a new process, the daemon running (kernels in its memory), 100 requests with descriptors.
Every Kiln request says must_hit: a compile would be an error. The system's page cache is warm for all.
Without --triton-python only Kiln's rows are printed, without ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional, Tuple

from private_daemon import PrivateDaemon, private_environment, programs_folder
from ratios import Samples, judged, machine, report

HERE = os.path.dirname(os.path.abspath(__file__))


def timed_process(command: List[str], environment: Dict[str, str]) -> Tuple[float, str]:
    """Milliseconds from start to end, and its standard output."""
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          start_new_session=True)
    ms = (time.perf_counter() - begin) * 1e3
    if done.returncode != 0:
        raise RuntimeError("%s ended with status %d: %s" % (command[0], done.returncode, done.stderr[-2000:]))
    return ms, done.stdout


class WarmStarts:
    """The caches, filled once, and one way of starting a method each."""

    def __init__(self, bin_folder: str, folder: str, count: int, triton_python: Optional[str]) -> None:
        self.bin, self.folder, self.count, self.triton = bin_folder, folder, count, triton_python
        self.cache = os.path.join(folder, "cache")
        self.kernels = [{"program": "gemm", "target": "gfx942",
                         "set": {"M": 1024 + 128 * i, "N": 1024, "K": 1024, "dtype": "f16"}} for i in range(count)]
        self.list, self.empty_list = os.path.join(folder, "kernels.json"), os.path.join(folder, "none.json")
        for path, content in ((self.list, self.kernels), (self.empty_list, [])):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(content, file)
        self.samples = Samples()
        self.facts: Dict[str, Any] = {**machine(), "kernels": count}

    def fill(self) -> None:
        """Both caches, cold; the time of each is a fact of the report."""
        with PrivateDaemon(self.bin, os.path.join(self.folder, "filling"), self.cache) as daemon:
            begin = time.perf_counter()
            answer = daemon.call("kernel.prepare", kernels=self.kernels)
            if answer["compiled"] != self.count:
                raise RuntimeError("%d of %d kernels were compiled" % (answer["compiled"], self.count))
            self.facts["kiln cold s"] = round(time.perf_counter() - begin, 1)
        if self.triton:
            self.facts["Triton cold s"] = round(self.run_triton()[0] / 1e3, 1)

    def run_triton(self) -> Tuple[float, Dict[str, Any]]:
        assert self.triton
        environment = {"HOME": self.folder, "PATH": os.environ.get("PATH", ""), "TRITON_DEFAULT_FP_FUSION": "1",
                       "TRITON_CACHE_DIR": os.path.join(self.folder, "triton")}
        ms, out = timed_process([self.triton, os.path.join(HERE, "triton_cache.py"), str(self.count)], environment)
        inside = json.loads(out.splitlines()[-1])
        self.facts["Triton"] = inside["version"]
        return ms, inside

    def triton_process(self) -> None:
        ms, inside = self.run_triton()
        self.samples.add("Triton, hits", inside["hits_ms"])
        self.samples.add("Triton, hits, the first of them", inside["first_ms"])
        self.samples.add("Triton, import", inside["import_ms"])
        self.samples.add("Triton, whole process", ms)

    def new_daemon_requests(self) -> None:
        with PrivateDaemon(self.bin, os.path.join(self.folder, "requests"), self.cache) as daemon:
            begin = time.perf_counter()
            for kernel in self.kernels:
                answer = daemon.call("kernel.compile", must_hit=True, want="fd", **kernel)
                if answer["origin"] != "disk":
                    raise RuntimeError("a hit of a new daemon came from " + answer["origin"])
            ms = (time.perf_counter() - begin) * 1e3
        self.samples.add("kiln new daemon, hits, a request each", ms)
        self.samples.add("kiln new daemon, start and hits, a request each", daemon.start_ms + ms)

    def new_daemon_prepare(self) -> None:
        with PrivateDaemon(self.bin, os.path.join(self.folder, "prepare"), self.cache) as daemon:
            begin = time.perf_counter()
            answer = daemon.call("kernel.prepare", kernels=[{**kernel, "must_hit": True} for kernel in self.kernels])
            ms = (time.perf_counter() - begin) * 1e3
        if answer["cached"] != self.count:
            raise RuntimeError("%d of %d hits" % (answer["cached"], self.count))
        self.samples.add("kiln new daemon, hits, one prepare", ms)

    def new_daemon_command_line(self) -> None:
        folder = os.path.join(self.folder, "line")
        environment = private_environment(folder, {})
        common = [os.path.join(self.bin, "kiln"), "--socket", os.path.join(folder, "kiln.sock"), "--cache", self.cache]
        ms, _ = timed_process([*common, "prepare", self.list, "--must-hit"], environment)
        self.samples.add("kiln prepare starting a daemon, whole process", ms)
        timed_process([*common, "daemon", "stop"], environment)

    def no_daemon(self) -> None:
        environment = private_environment(os.path.join(self.folder, "alone"), {})
        common = [os.path.join(self.bin, "kiln"), "--no-daemon", "--cache", self.cache, "prepare", "--must-hit"]
        base, _ = timed_process([*common, self.empty_list], environment)
        whole, _ = timed_process([*common, self.list], environment)
        self.samples.add("kiln --no-daemon prepare, whole process", whole)
        self.samples.add("kiln --no-daemon prepare, with an empty list", base)
        self.samples.add("kiln --no-daemon prepare, hits", whole - base)

    def python_client(self, daemon: PrivateDaemon) -> None:
        command = [sys.executable, os.path.join(HERE, "warm_client.py"), daemon.socket, self.list]
        ms, out = timed_process(command, daemon.environment)
        inside = json.loads(out)
        self.samples.add("Python client, hits, a request each", inside["hits_ms"])
        self.samples.add("Python client, import and connect", inside["connect_ms"])
        self.samples.add("Python client, whole process", ms)

    def measure(self, rounds: int) -> None:
        with PrivateDaemon(self.bin, os.path.join(self.folder, "running"), self.cache) as running:
            ways = [self.new_daemon_requests, self.new_daemon_prepare, self.new_daemon_command_line, self.no_daemon,
                    lambda: self.python_client(running)] + ([self.triton_process] if self.triton else [])
            for i in range(-1, rounds):  # one round more, first, brings files into memory
                for way in ways[i % len(ways):] + ways[:i % len(ways)]:
                    way()
                if i < 0:
                    self.samples.values.clear()

    def ratios(self) -> List[Dict[str, Any]]:
        if not self.triton:
            return []
        hits, whole = "Triton, hits", "Triton, whole process"
        return [judged("hits: Triton / " + name, self.samples.ratio(hits, name), at_least=20) for name in
                ("kiln new daemon, hits, a request each", "kiln new daemon, hits, one prepare",
                 "kiln --no-daemon prepare, hits", "Python client, hits, a request each")] + \
               [judged("whole: Triton / " + name, self.samples.ratio(whole, name), at_least=10) for name in
                ("kiln new daemon, start and hits, a request each", "kiln prepare starting a daemon, whole process",
                 "kiln --no-daemon prepare, whole process", "Python client, whole process")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="folder of kiln and kilnd")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7 for figures that are quoted")
    parser.add_argument("--count", type=int, default=100, help="kernels")
    parser.add_argument("--triton-python", help="the Python of an environment that has Triton")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="JSON to FILE, or to standard output")
    options = parser.parse_args()
    bin_folder = programs_folder(options.bin)
    if options.triton_python and not shutil.which(options.triton_python):
        sys.exit("no Python at " + options.triton_python)
    with tempfile.TemporaryDirectory(prefix="kiln-bench-") as folder:
        starts = WarmStarts(bin_folder, folder, options.count, options.triton_python)
        starts.fill()
        starts.measure(options.rounds)
    notes = ["hits and whole processes are separate figures",
             "the first Triton hit includes what Triton does once a process",
             "the daemon of the Python client's row has the kernels in memory; all other Kiln rows read them from disk"]
    if not options.triton_python:
        notes.append("no --triton-python: no peer, no ratios")
    document = {"title": "Warm start", "facts": starts.facts, "ratios": starts.ratios(), "notes": notes}
    report(document, starts.samples, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
