"""hipRTC called directly, the peer of compile_bench.py, which starts it through the loader of Kiln's worker.

Reads lines {"source", "options", "headers"} and answers {"ms", "cpu_ms", "sha256", "bytes"}: from hiprtcCreateProgram
to the code object's bytes. `headers`: whether the source sees Kiln's device headers.
argv: a folder with kiln/*.hpp, which the sources include.
"""

import ctypes
import glob
import hashlib
import json
import os
import sys
import time


def load():
    for name in ("libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"):
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            refused = error
    sys.exit("no hipRTC: %s" % refused)


def text_array(texts):
    return (ctypes.c_char_p * len(texts))(*texts)


def compile_text(hiprtc, source, headers, options):
    program = ctypes.c_void_p()
    names, texts = text_array([n for n, _ in headers]), text_array([t for _, t in headers])
    begin, begin_cpu = time.perf_counter(), time.process_time()
    code = hiprtc.hiprtcCreateProgram(ctypes.byref(program), source, b"kernel.hip", len(headers), texts, names)
    if code == 0:
        code = hiprtc.hiprtcCompileProgram(program, len(options), text_array(options))
    if code != 0:
        size = ctypes.c_size_t()
        hiprtc.hiprtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        hiprtc.hiprtcGetProgramLog(program, log)
        sys.exit("hipRTC failed with %d: %s" % (code, log.value.decode(errors="replace")))
    size = ctypes.c_size_t()
    hiprtc.hiprtcGetCodeSize(program, ctypes.byref(size))
    code_object = ctypes.create_string_buffer(size.value)
    hiprtc.hiprtcGetCode(program, code_object)
    ms = (time.perf_counter() - begin) * 1e3
    cpu_ms = (time.process_time() - begin_cpu) * 1e3
    hiprtc.hiprtcDestroyProgram(ctypes.byref(program))
    return {"ms": ms, "cpu_ms": cpu_ms, "bytes": size.value, "sha256": hashlib.sha256(code_object.raw).hexdigest()}


def main():
    hiprtc = load()
    headers = []
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "kiln", "*.hpp"))):
        with open(path, "rb") as file:
            headers.append((b"kiln/" + os.path.basename(path).encode(), file.read()))
    for line in sys.stdin:
        request = json.loads(line)
        given = headers if request["headers"] else []
        answer = compile_text(hiprtc, request["source"].encode(), given, [o.encode() for o in request["options"]])
        print(json.dumps(answer), flush=True)


main()
