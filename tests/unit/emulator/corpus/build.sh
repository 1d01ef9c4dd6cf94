#!/bin/sh
# Makes launch_<target>.co and faults_<target>.co from the .cl files: needs clang 22 and LLVM's linker (Debian:
# clang-22, lld-22). The objects are checked in, so that tests need neither; run this after a change of a source. Two
# are for other conventions: arguments preloaded into registers, and code object version 4.
set -eu
cd "$(dirname "$0")"
build() {
  output=$1
  shift
  clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -nogpulib -nogpuinc -O2 -Wl,--strip-all "$@" \
    "${output%%_*}.cl" -o "$output"
}
build launch_gfx90a.co -mcpu=gfx90a
build launch_gfx942.co -mcpu=gfx942
build launch_gfx950.co -mcpu=gfx950
build launch_gfx1100.co -mcpu=gfx1100
build launch_gfx942_preload.co -mcpu=gfx942 -mllvm -amdgpu-kernarg-preload-count=14
build launch_gfx90a_v4.co -mcpu=gfx90a -mcode-object-version=4
for target in gfx90a gfx942 gfx950; do build "faults_$target.co" "-mcpu=$target"; done
