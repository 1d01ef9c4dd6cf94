#!/usr/bin/env python3
"""The main job: a daemon, this client's own memory, four kernels checked against the definition, four AMD targets; then again
in a new daemon that may not compile. Its cache is its own, so that every run shows the same."""
import os, random, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "api/python"))
import kiln

GEMM = dict(dtype="f32", transpose_b=True)
JOBS = [("gemm 300x257x129", "gemm", dict(M=300, N=257, K=129, **GEMM)),
        ("gemm 1024x1024x1024", "gemm", dict(M=1024, N=1024, K=1024, **GEMM)),
        ("attention 2x4x129x64", "flash_attention", dict(B=2, H=4, HKV=4, S=129, SK=129, D=64, causal=True, dtype="f32")),
        ("attention 2x4x512x64", "flash_attention", dict(B=2, H=4, HKV=4, S=512, SK=512, D=64, causal=True, dtype="f32")),
        ("rmsnorm 33x1000", "rmsnorm", dict(M=33, N=1000, dtype="f32"))]
TARGETS = ["gfx90a", "gfx942", "gfx950", "gfx1100"]


def normals(array, seed):
    try:
        import numpy
        array.numpy()[...] = numpy.random.default_rng(seed).standard_normal(array.shape, dtype=numpy.float32)
    except ImportError:
        generator = random.Random(seed)
        array.fill_from(generator.gauss(0, 1) for _ in range(array.size))


def operands(client, kernel, seed):
    """One array a tensor, in this process's memory: inputs normal, outputs NaN."""
    made = {}
    for index, tensor in enumerate(kernel.info["tensors"]):
        made[tensor["name"]] = array = client.empty(tensor["shape"], tensor["dtype"])
        if tensor["access"] == "read":
            normals(array, seed * 100 + index)
        else:
            array.fill_from([float("nan")] * array.size)
    return made


def run_jobs(client, seed, must_hit):
    compiles, passed = 0, True
    for label, program, bindings in JOBS:
        kernel = client.compile(program, "host", must_hit=must_hit, **bindings)
        compiles += not kernel.cached
        arguments = operands(client, kernel, seed)
        result = kernel.verify(**arguments)
        worst = max(result["tensors"], key=lambda t: t["ratio_max"])
        passed = passed and result["passed"]
        print("  %-22s %9.3f ms  largest error %.2e  tolerance %.2e  %s" % (
            label, result["launch_ms"], worst["error_max"], worst["tolerance_at_max"], "ok" if result["passed"] else "WRONG"))
        for array in arguments.values():
            array.free()
    for label, program, bindings in JOBS:
        for target in TARGETS:
            kernel = client.compile(program, target, must_hit=must_hit, **dict(bindings, dtype="f16"))
            compiles += not kernel.cached
            r = kernel.info["resources"]
            print("  %-22s %-8s vgpr %3d agpr %3d sgpr %3d spills %d lds %6d matrix %4d conflicts %d" % (
                label, target, r["vgprs"], r["agprs"], r["sgprs"], r["vgpr_spills"] + r["sgpr_spills"], r["lds_bytes"],
                r["matrix_instructions"], r["lds_conflict_cycles"]))
    return compiles, passed


def main():
    with tempfile.TemporaryDirectory(prefix="kiln-quickstart-", ignore_cleanup_errors=True) as folder:
        socket = os.path.join(folder, "run", "kiln.sock")
        arguments = ["--cache", os.path.join(folder, "cache")]
        good = True
        for number, more in (("first", []), ("second", ["--worker", "hip=/bin/false", "--worker", "host=/bin/false"])):
            with kiln.connect(socket, daemon_arguments=arguments + more) as client:
                print("%s pass, daemon %d" % (number, client.connection.hello["pid"]))
                compiles, passed = run_jobs(client, seed=1 if number == "first" else 2, must_hit=number == "second")
                print("%s pass: %d compiles" % (number, compiles))
                good = good and passed and (number == "first" or compiles == 0)
                client.shutdown()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
