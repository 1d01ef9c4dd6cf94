"""Cold compiles: what Kiln adds to hipRTC, what a GEMM costs beside an empty kernel, what a second worker gains.

Area `compile` of `kiln bench`; by hand: compile_bench.py [--bin FOLDER] [--rounds 9] [--part all].

Three parts, each in alternating rounds of one run, with caches of its own and kernels that nothing has compiled before:
- overhead (P4 of the targets): kernel.compile of the built-in gemm for gfx942 in a warm worker, as a client sees it and
  as the worker reports it, against hipRTC called directly (hiprtc_direct.py, a process that stays, with the same
  loader, libraries, headers, options and the very source that Kiln emitted; the code objects must be equal bytes).
- weight (P5): the same gemm compiles against an empty kernel in the same worker.
- workers (P4): kernel.prepare of 16 gemm kernels with workers_max 1 against 2.
CPU rows are processor time (daemon and worker; the peer's process): a busy machine stretches them less than wall time.
Needs hipRTC (`kiln toolchain install`) and nothing but Python 3.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import time
from typing import Any, Dict, List

from area import Document, Progress, Samples, run_area
from private_daemon import ROOT, PrivateDaemon, kiln_json, missing_hiprtc

TARGET = "gfx942"
# As hip_options() of the worker.
OPTIONS = ["--offload-arch=" + TARGET, "-O3", "-std=c++20", "-ffp-contract=off", "-fno-fast-math"]
BARE = 'extern "C" __attribute__((global)) void bare_%d(void* p) {}\n'
PREPARED = 16


def gemm(index: int) -> Dict[str, Any]:
    """A GEMM that differs from all others of this run: whole tiles, about 4096 cubed."""
    return {"program": "gemm", "target": TARGET, "set": {"M": 4096 + 128 * index, "N": 4096, "K": 4096, "dtype": "f16"}}


def empty(index: int) -> Dict[str, Any]:
    program = {"kiln": "tile/1", "name": "empty_%d" % index, "symbols": ["M"],
               "params": [{"name": "X", "dtype": "f32", "shape": ["M"], "access": "write"}],
               "launches": [{"grid": ["1"], "threads": "256", "body": []}]}
    return {"program": program, "target": TARGET, "set": {"M": 4096}}


class Direct:
    """hiprtc_direct.py in a process that stays, with the environment that Kiln's workers get."""

    def __init__(self, bin_folder: str, folder: str) -> None:
        worker = kiln_json(bin_folder, folder, "config", "show")["worker_hip"]["value"]
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hiprtc_direct.py")
        python = [os.path.realpath(sys.executable), script, os.path.join(ROOT, "kernels", "include")]
        environment = {name: os.environ.get(name, "/") for name in ("HOME", "PATH")}
        environment.update(AMD_COMGR_CACHE="0", TMPDIR=folder)
        command = python
        if "--library-path" in worker:  # the worker goes through a prefix's loader, so Python does too
            at = worker.index("--library-path")
            machine_libraries = "/usr/lib/" + (sysconfig.get_config_var("MULTIARCH") or "")
            libraries = [worker[at + 1], sysconfig.get_config_var("LIBDIR"), machine_libraries, "/lib64"]
            command = [*worker[:at + 1], ":".join(filter(None, libraries)), *python]
            environment.update(PYTHONHOME=sys.base_prefix)
        # A session of its own, like the daemon's: schedulers share a busy machine out by session.
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, start_new_session=True)

    def compile(self, source: str, headers: bool = True) -> Dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"source": source, "options": OPTIONS, "headers": headers}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("hiprtc_direct.py ended with status %s" % self._process.wait())
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def compile_cold(daemon: PrivateDaemon, request: Dict[str, Any]) -> Dict[str, Any]:
    """One compile: its milliseconds as this client sees them, as the worker reports them, and the object's digest."""
    begin, begin_cpu = time.perf_counter(), daemon.cpu_ms()
    answer, descriptors = daemon.client.connection.call("kernel.compile", {**request, "want": "fd"})
    round_trip, cpu = (time.perf_counter() - begin) * 1e3, daemon.cpu_ms() - begin_cpu
    with os.fdopen(descriptors[0], "rb") as file:
        file.seek(0)
        digest = hashlib.sha256(file.read()).hexdigest()
    if answer["cached"]:
        raise RuntimeError("this compile was to be cold")
    return {"round_trip": round_trip, "worker": answer["compile_ms"], "cpu": cpu, "sha256": digest}


def private_daemon(bin_folder: str, folder: str, name: str, workers: int) -> PrivateDaemon:
    """Not started yet; its cache is its own."""
    own = os.path.join(folder, name)
    return PrivateDaemon(bin_folder, own, own + "-cache", {"workers_max": workers})


def one_by_one(samples: Samples, options: argparse.Namespace, folder: str, progress: Progress) -> None:
    """Parts `overhead` and `weight`."""
    bin_folder, rounds = options.bin, options.rounds
    sources: Dict[int, Any] = {}
    progress("compiling the kernels once for their texts")
    with private_daemon(bin_folder, folder, "author", 2) as author:
        requests = [r for i in range(rounds + 1) for r in (gemm(i), empty(i))]
        author.call("kernel.prepare", kernels=requests)
        for i in range(rounds + 1):
            explained = author.call("kernel.explain", **gemm(i))
            if explained["attempt"] != 0:
                raise RuntimeError("gemm took more than one compile: the direct peer would compile less")
            sources[i] = explained["source"], author.call("kernel.explain", **empty(i))["source"]
    direct = Direct(bin_folder, folder)
    try:
        with private_daemon(bin_folder, folder, "one", 1) as daemon:
            for i in range(rounds + 1):  # the last kernels of all warm both sides up, before the first round
                at = (i - 1) % (rounds + 1)
                progress.round(i, rounds, "one by one")
                measure_round(samples if i else Samples(), daemon, direct, at, sources[at])
    finally:
        direct.close()


def measure_round(samples: Samples, daemon: PrivateDaemon, direct: Direct, at: int, source: Any) -> None:
    def through_kiln(name: str, request: Dict[str, Any]) -> str:
        result = compile_cold(daemon, request)
        samples.add("kiln %s, round trip" % name, result["round_trip"])
        samples.add("kiln %s, worker" % name, result["worker"])
        samples.add("kiln %s, CPU" % name, result["cpu"])
        return result["sha256"]

    def directly(name: str, text: str, headers: bool) -> str:
        result = direct.compile(text, headers)
        samples.add("hipRTC %s, direct" % name, result["ms"])
        samples.add("hipRTC %s, direct, CPU" % name, result["cpu_ms"])
        return result["sha256"]

    steps = [lambda: through_kiln("gemm", gemm(at)), lambda: directly("gemm", source[0], True),
             lambda: through_kiln("empty", empty(at)), lambda: directly("empty", source[1], True)]
    order = [0, 1, 2, 3] if at % 2 == 0 else [3, 2, 1, 0]
    digest = {step: steps[step]() for step in order}
    directly("bare kernel, no headers", BARE % at, False)
    if digest[0] != digest[1] or digest[2] != digest[3]:
        raise RuntimeError("hipRTC called directly made another object than Kiln's worker")


def with_workers(samples: Samples, options: argparse.Namespace, folder: str, progress: Progress) -> None:
    """Part `workers`."""
    daemons = {n: private_daemon(options.bin, folder, "workers%d" % n, n) for n in (1, 2)}
    try:
        for n, daemon in daemons.items():
            daemon.start()
            daemon.call("kernel.prepare", kernels=[gemm(500 + i) for i in range(2 * n)])  # all workers are warm
        for i in range(options.rounds):
            progress.round(i + 1, options.rounds, "%d kernels with 1 and 2 workers" % PREPARED)
            kernels = [gemm(100 + PREPARED * i + j) for j in range(PREPARED)]
            for n in (1, 2) if i % 2 == 0 else (2, 1):
                begin = time.perf_counter()
                answer = daemons[n].call("kernel.prepare", kernels=kernels)
                ms = (time.perf_counter() - begin) * 1e3
                samples.add("prepare %d gemm, %d worker%s" % (PREPARED, n, "s" if n > 1 else ""), ms)
                if answer["compiled"] != PREPARED:
                    raise RuntimeError("%d of %d kernels were compiled" % (answer["compiled"], PREPARED))
    finally:
        for daemon in daemons.values():
            daemon.stop()


def compile_rows(samples: Samples) -> List[Dict[str, Any]]:
    cost, direct, empty_same = samples.cost, "hipRTC called directly, same text", "an empty kernel"
    return [
        cost("P4 gemm, round trip", "kiln gemm, round trip", "hipRTC gemm, direct", 1.05, direct),
        cost("P4 gemm, in the worker", "kiln gemm, worker", "hipRTC gemm, direct", None, direct),
        cost("P4 gemm, CPU", "kiln gemm, CPU", "hipRTC gemm, direct, CPU", None, direct),
        cost("P4 empty kernel, round trip", "kiln empty, round trip", "hipRTC empty, direct", None, direct),
        cost("P4 empty kernel, CPU", "kiln empty, CPU", "hipRTC empty, direct, CPU", None, direct),
        cost("P5 gemm, round trip", "kiln gemm, round trip", "kiln empty, round trip", 1.6, empty_same),
        cost("P5 gemm, in the worker", "kiln gemm, worker", "kiln empty, worker", None, empty_same),
        cost("P5 gemm, CPU", "kiln gemm, CPU", "kiln empty, CPU", None, empty_same),
        cost("hipRTC alone: gemm, CPU", "hipRTC gemm, direct, CPU", "hipRTC empty, direct, CPU", None, empty_same),
        cost("hipRTC alone: empty kernel with Kiln's headers, CPU", "hipRTC empty, direct, CPU",
             "hipRTC bare kernel, no headers, direct, CPU", None, "a bare kernel without headers"),
    ]


def measure(options: argparse.Namespace, folder: str, progress: Progress) -> Document:
    samples, rows = Samples(), []
    notes = ["every compile is cold; the workers and the peer are warm processes"]
    if options.part != "workers":
        one_by_one(samples, options, folder, progress)
        rows += compile_rows(samples)
        notes.append("hipRTC called directly made the same code objects, byte for byte")
    if options.part != "compiles":
        with_workers(samples, options, folder, progress)
        one, two = ("prepare %d gemm, %s" % (PREPARED, workers) for workers in ("1 worker", "2 workers"))
        rows.append(samples.gain("P4 %d gemm with 2 workers" % PREPARED, two, one, 1.7, "with 1 worker"))
    return {"rows": rows, "notes": notes}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", choices=["all", "compiles", "workers"], default="all",
                        help="`compiles` are overhead and weight")


if __name__ == "__main__":
    sys.exit(run_area(__doc__, lambda options: missing_hiprtc(options.bin), measure, add_arguments))
