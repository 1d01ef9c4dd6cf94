"""GEMM on this machine's cores: against OpenBLAS, and an edited copy of the built-in against the built-in.

Area `host` of `kiln bench`; by hand: host_bench.py [--bin FOLDER] [--rounds 9]. The measuring is bench_host's, which
takes further flags (see host/host_bench.cpp): this script gives it the edited program and passes its rows on.
Inputs are random, results are checked.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys

from area import Document, Progress, run_area
from private_daemon import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from edited_gemm import edited_gemm  # noqa: E402


def bench_host(bin_folder: str) -> str:
    return os.path.join(os.path.dirname(bin_folder), "tests", "bench_host")


def missing(options: argparse.Namespace) -> str:
    if not os.access(bench_host(options.bin), os.X_OK):
        return "no %s; build the target bench_host (it needs LLVM 22)" % bench_host(options.bin)
    try:
        ctypes.CDLL("libopenblas.so.0")
    except OSError as error:
        return "no OpenBLAS (%s); get it with `apt-get install libopenblas0-pthread`" % error
    return ""


def measure(options: argparse.Namespace, folder: str, progress: Progress) -> Document:
    edited = os.path.join(folder, "edited_gemm.json")
    with open(edited, "w", encoding="utf-8") as file:
        json.dump(edited_gemm(), file)
    command = [bench_host(options.bin), "--json", "--rounds", str(options.rounds), "--edited", edited]
    done = subprocess.run(command + ["--progress"] * options.progress, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError("bench_host ended with status %d" % done.returncode)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(run_area(__doc__, missing, measure))
