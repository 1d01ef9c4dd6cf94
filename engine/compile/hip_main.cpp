// kiln-compile-hip: the worker that compiles for AMD targets with hipRTC.
#include "engine/compile/hiprtc.hpp"

int main(int argc, char** argv) { return kiln::compile::worker_main(argc, argv, &kiln::compile::make_hip_compiler); }
