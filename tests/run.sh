#!/usr/bin/env bash
# Sets up and runs all tests; the last lines are ctest's own summary. Further arguments go to ctest (-R NAME, -V, …).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"
# What reads strangers' bytes, once more, with sanitizers and as fuzz targets.
if ! { cmake --preset readers >>build-setup.log 2>&1 && cmake --build --preset readers >>build-setup.log 2>&1; }; then
  tail -n 60 build-setup.log
  exit 1
fi
exec ctest --test-dir build --output-on-failure --timeout 300 -j 2 "$@"
