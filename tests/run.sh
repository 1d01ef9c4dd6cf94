#!/usr/bin/env bash
# Sets up and runs all tests; the last lines are ctest's own summary. Further arguments go to ctest (-R NAME, -V, …).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"
exec ctest --test-dir build --output-on-failure --timeout 300 -j 2 "$@"
