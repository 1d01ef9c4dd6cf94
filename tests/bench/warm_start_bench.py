"""Warm start (P6 of the targets): 100 kernels from disk, against Triton's cache with 100 in a new process.

Area `warm-start` of `kiln bench`; by hand: warm_start_bench.py --triton-python PYTHON [--bin FOLDER] [--rounds 9]. For
the peer: python3 -m venv DIR && DIR/bin/pip install triton, and PYTHON is DIR/bin/python.

Fills both caches first (GEMM kernels f16 for gfx942 of the same 100 sizes; minutes), then in alternating rounds of one
run:
- Triton: a new process; its hits (triton.compile of each kernel, which gives the object's bytes) and the whole process.
- kiln, new daemon: hits as 100 kernel.compile requests, each with the code object as a descriptor, over one connection
  to a daemon that was just started; whole = with the start of the daemon. Once more as one kernel.prepare request;
  whole = the process `kiln prepare` that finds no daemon and starts one.
- kiln --no-daemon: a new `kiln --no-daemon prepare` process; hits = less the same process with an empty list.
- Python client: a new process of the same interpreter, the daemon running (kernels in its memory), 100 requests with
  descriptors.
Every Kiln request says must_hit: a compile would be an error. The system's page cache is warm for all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any, Dict, List, Tuple

from area import Document, Progress, Samples, run_area
from private_daemon import PrivateDaemon, missing_hiprtc, private_environment

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

    def __init__(self, bin_folder: str, folder: str, count: int, triton_python: str) -> None:
        self.bin, self.folder, self.count, self.triton = bin_folder, folder, count, triton_python
        self.cache = os.path.join(folder, "cache")
        self.kernels = [{"program": "gemm", "target": "gfx942",
                         "set": {"M": 1024 + 128 * i, "N": 1024, "K": 1024, "dtype": "f16"}} for i in range(count)]
        self.list, self.empty_list = os.path.join(folder, "kernels.json"), os.path.join(folder, "none.json")
        for path, content in ((self.list, self.kernels), (self.empty_list, [])):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(content, file)
        self.samples = Samples()
        self.facts: Dict[str, Any] = {}

    def fill(self) -> None:
        """Both caches, cold; the time of each is a note of the document."""
        with PrivateDaemon(self.bin, os.path.join(self.folder, "filling"), self.cache) as daemon:
            begin = time.perf_counter()
            answer = daemon.call("kernel.prepare", kernels=self.kernels)
            if answer["compiled"] != self.count:
                raise RuntimeError("%d of %d kernels were compiled" % (answer["compiled"], self.count))
            self.facts["kiln cold s"] = round(time.perf_counter() - begin, 1)
        self.facts["Triton cold s"] = round(self.run_triton()[0] / 1e3, 1)

    def run_triton(self) -> Tuple[float, Dict[str, Any]]:
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
        command = [self.triton, os.path.join(HERE, "warm_client.py"), daemon.socket, self.list]  # the same interpreter
        ms, out = timed_process(command, daemon.environment)
        inside = json.loads(out)
        self.samples.add("Python client, hits, a request each", inside["hits_ms"])
        self.samples.add("Python client, import and connect", inside["connect_ms"])
        self.samples.add("Python client, whole process", ms)

    def measure(self, rounds: int, progress: Progress) -> None:
        with PrivateDaemon(self.bin, os.path.join(self.folder, "running"), self.cache) as running:
            ways = [self.new_daemon_requests, self.new_daemon_prepare, self.new_daemon_command_line, self.no_daemon,
                    lambda: self.python_client(running), self.triton_process]
            for i in range(-1, rounds):  # one round more, first, brings files into memory
                progress.round(i + 1, rounds, "starting")
                for way in ways[i % len(ways):] + ways[:i % len(ways)]:
                    way()
                if i < 0:
                    self.samples.values.clear()

    def rows(self) -> List[Dict[str, Any]]:
        hits = [("new daemon, one prepare", "kiln new daemon, hits, one prepare"),
                ("new daemon, a request each", "kiln new daemon, hits, a request each"),
                ("prepare --no-daemon", "kiln --no-daemon prepare, hits"),
                ("Python client, a request each", "Python client, hits, a request each")]
        whole = [("kiln prepare, starts a daemon", "kiln prepare starting a daemon, whole process"),
                 ("start of a daemon, a request each", "kiln new daemon, start and hits, a request each"),
                 ("kiln prepare --no-daemon", "kiln --no-daemon prepare, whole process"),
                 ("Python client, running daemon", "Python client, whole process")]
        gain = self.samples.gain
        return [gain("P6 hits: " + what, name, "Triton, hits", 20, "Triton's hits") for what, name in hits] + \
               [gain("P6 process: " + what, name, "Triton, whole process", 10, "a new Triton process")
                for what, name in whole]


def triton_path(given: str) -> str:
    return os.path.abspath(os.path.expanduser(given))  # not its real path: an environment's Python is a link


def missing(options: argparse.Namespace) -> str:
    get = "get one with `python3 -m venv DIR && DIR/bin/pip install triton` and say --triton-python DIR/bin/python"
    if not options.triton_python:
        return "no Python with Triton was named; " + get
    try:
        look = "import importlib.util as u, sys; sys.exit(u.find_spec('triton') is None)"
        command = [triton_path(options.triton_python), "-c", look]
        if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode != 0:
            return "%s has no Triton; %s" % (options.triton_python, get)
    except OSError as error:
        return "%s cannot be started (%s); %s" % (options.triton_python, error.strerror, get)
    return missing_hiprtc(options.bin)


def measure(options: argparse.Namespace, folder: str, progress: Progress) -> Document:
    starts = WarmStarts(options.bin, folder, options.count, triton_path(options.triton_python))
    progress("filling both caches with %d kernels; minutes" % options.count)
    starts.fill()
    starts.measure(options.rounds, progress)
    notes = ["%d kernels; %s" % (options.count, ", ".join("%s %s" % fact for fact in starts.facts.items())),
             "hits and whole processes are separate figures",
             "the first Triton hit includes what Triton does once a process",
             "the Python client's daemon has the kernels in memory; all other Kiln rows read them from disk"]
    return {"rows": starts.rows(), "notes": notes}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=100, help="kernels")
    parser.add_argument("--triton-python", default="", help="the Python of an environment that has Triton")


if __name__ == "__main__":
    sys.exit(run_area(__doc__, missing, measure, add_arguments))
