#!/usr/bin/env python3
"""Runs one fuzz target for a while, from real inputs. A crash keeps its input and prints the command that repeats it."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=sorted(seeds.SEEDS))
    parser.add_argument("--programs", required=True, help="the folder of the targets' programs")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", help="a folder where what was learned is kept; else a temporary one")
    arguments = parser.parse_args()
    program = os.path.join(arguments.programs, arguments.target + "_fuzz")
    crashes = os.path.join(arguments.programs, "crashes", arguments.target + "-")
    os.makedirs(os.path.dirname(crashes), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kiln-fuzz-") as folder:
        begun = seeds.write(arguments.target, os.path.join(folder, "seeds"))
        corpus = arguments.corpus or os.path.join(folder, "corpus")
        os.makedirs(corpus, exist_ok=True)
        command = [program, corpus, os.path.join(folder, "seeds"), "-max_total_time=%d" % arguments.seconds, "-seed=%d" % arguments.seed,
                   "-max_len=20000", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1", "-artifact_prefix=" + crashes]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        sys.stdout.write(done.stdout[-8000:])
        kept = re.search(r"Test unit written to (\S+)", done.stdout)
        print("seed %d; repeat: %s %s" % (arguments.seed, program, kept.group(1) if kept else "(nothing was kept)"))
        return 1
    runs = int(re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stdout).group(1))
    coverage = re.findall(r"cov: (\d+)", done.stdout)[-1]
    print("%s: %d inputs from %d seeds in %d s, seed %d, coverage %s" % (arguments.target, runs, begun, arguments.seconds, arguments.seed, coverage))
    return 0 if runs > begun else 1


if __name__ == "__main__":
    sys.exit(main())
