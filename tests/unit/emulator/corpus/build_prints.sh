#!/bin/sh
# Makes prints_<target>.co, prints_gfx942_buffered.co from prints.hip and prints_gfx942_opencl.co from prints_opencl.cl:
# needs clang 22 and LLVM's linker (Debian: clang-22, lld-22). The objects are checked in, so that tests need neither;
# run this after a change of a source.
set -eu
cd "$(dirname "$0")"
build() {
  output=$1
  shift
  clang-22 -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++20 -O2 -Wall -Wno-format \
    -Xoffload-linker --strip-all "$@" prints.hip -o "$output"
}
for target in gfx90a gfx942 gfx950 gfx1100; do build "prints_$target.co" "--offload-arch=$target"; done
build prints_gfx942_buffered.co --offload-arch=gfx942 -mprintf-kind=buffered -DBUFFERED
clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O2 -Wall -Wno-format -Wl,--strip-all \
  prints_opencl.cl -o prints_gfx942_opencl.co
