"""The emulated card: whole kernels on emu:gfx942, and loops of one kind of instruction, against the wanted speeds.

Area `emulator` of `kiln bench`; by hand: emulator_bench.py [--bin FOLDER] [--rounds 9]. Kernels are checked against the
definition once (smaller sizes; the interpreter is slow) and then timed in the device process on all of this machine's
cores; loops run on one thread, the three scalar instructions that close a loop of eight count as instructions too.
A matrix instruction of the loop is 16384 floating-point operations.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Dict, List

from area import Document, Progress, Samples, run_area
from private_daemon import missing_hiprtc, private_environment

DEVICE = "emu:gfx942"
KERNELS = [("gemm f16 1024 cubed", "gemm", "M=1024 N=1024 K=1024 dtype=f16", "M=192 N=160 K=128 dtype=f16", 500.0),
           ("attention 1x8x1024x128 causal f16", "flash_attention", "B=1 H=8 HKV=8 S=1024 SK=1024 D=128 dtype=f16 causal=true",
            "B=1 H=1 HKV=1 S=128 SK=128 D=128 dtype=f16 causal=true", 1000.0)]
# Milliseconds a million of instructions at the wanted speed: 20 million a second, 40 GFLOP/s.
LOOPS = [("vector instructions, one core", "vector", 50.0), ("v_mfma_f32_32x32x8_f16, one core", "matrix", 8 / 11 * 16384 / 40.0)]


def loops_program(bin_folder: str) -> str:
    return os.path.join(os.path.dirname(bin_folder), "tests", "bench_emulator")


def missing(options: argparse.Namespace) -> str:
    if not os.access(loops_program(options.bin), os.X_OK):
        return "no %s; build the target bench_emulator (it needs LLVM 22)" % loops_program(options.bin)
    return missing_hiprtc(options.bin)


def run_kernel(options: argparse.Namespace, environment: Dict[str, str], folder: str, words: List[str]) -> Dict:
    command = [os.path.join(options.bin, "kiln"), "--no-daemon", "--json", "--cache", os.path.join(folder, "cache"), "run", *words]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s ended with status %d: %s" % (" ".join(words), done.returncode, done.stdout + done.stderr))
    return json.loads(done.stdout)


def measure(options: argparse.Namespace, folder: str, progress: Progress) -> Document:
    samples, environment = Samples(), private_environment(os.path.join(folder, "run"), {})
    for what, program, _, small, _ in KERNELS:
        progress("checking " + what)
        run_kernel(options, environment, folder, [program, "--device", DEVICE, "--set", *small.split(), "--check"])
    for number in range(options.rounds + 1):
        progress.round(number, options.rounds, "kernels")
        for what, program, sizes, _, wanted in KERNELS:
            report = run_kernel(options, environment, folder, [program, "--device", DEVICE, "--set", *sizes.split(), "--repeat", "2"])
            if number:
                samples.add(what, report["duration_ms"]["min"])
                samples.add(what + ", wanted", wanted)
    progress("loops")
    done = subprocess.run([loops_program(options.bin), str(options.rounds)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError("bench_emulator ended with status %d" % done.returncode)
    for what, name, wanted in LOOPS:
        for nanoseconds in json.loads(done.stdout)[name]:
            samples.add(what, nanoseconds)  # ns an instruction: ms a million
            samples.add(what + ", wanted", wanted)
    kinds = [what for what, *_ in KERNELS] + [what + ": a million of them" for what, *_ in LOOPS]
    names = [what for what, *_ in KERNELS] + [what for what, *_ in LOOPS]
    rows = [samples.gain(kind, name, name + ", wanted", 1.0, "the wanted time") for kind, name in zip(kinds, names)]
    return {"rows": rows, "notes": ["the peer is a wanted time, not a program: 0.5 s, 1 s, 20 million a second, 40 GFLOP/s"]}


if __name__ == "__main__":
    sys.exit(run_area(__doc__, missing, measure))
