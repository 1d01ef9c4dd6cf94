#!/bin/sh
# Makes variables_gfx942.co from variables.cl: needs clang 22 and LLVM's linker (Debian: clang-22, lld-22). The object
# is checked in, so that tests need neither; run this after a change of the source.
set -eu
cd "$(dirname "$0")"
clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -nogpuinc -O2 -Wall \
  -fvisibility=default -Xclang -fapply-global-visibility-to-externs -mllvm -amdgpu-kernarg-preload-count=8 \
  -Wl,--strip-debug variables.cl -o variables_gfx942.co
