#!/usr/bin/env bash
# Sets up (packages, build, a hipRTC if the machine has none) and runs the main job; see quickstart.py. No GPU needed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../.ci/setup.sh"
exec /usr/bin/python3 examples/quickstart.py "$@"
