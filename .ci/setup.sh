#!/usr/bin/env bash
# Sets a Debian 12 machine and this checkout up: packages of .ci/packages.txt, the release build, a hipRTC if there is none.
# Does nothing that is done already. Sourced by examples/quickstart.sh and tests/run.sh; sets KILN_ROOT.
set -euo pipefail
KILN_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$KILN_ROOT"

kiln_packages() {
  local missing=() name
  while read -r name; do
    case "$name" in ''|'#'*) continue ;; esac
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done <.ci/packages.txt
  [ ${#missing[@]} -eq 0 ] && return
  echo "setup: installing ${#missing[@]} packages: ${missing[*]}"
  local sudo=() policy=/usr/sbin/policy-rc.d policy_is_ours= status=0
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  # Tests start servers of their own: what Debian would start of these packages, now and with the machine, is not wanted.
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
    "${sudo[@]}" chmod 755 "$policy"
    policy_is_ours=yes
  fi
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || status=$?
  [ -z "$policy_is_ours" ] || "${sudo[@]}" rm "$policy"
  for name in redis-server nginx; do
    case " ${missing[*]} " in *" $name "*) "${sudo[@]}" systemctl --quiet disable "$name" 2>/dev/null || true ;; esac
  done
  return "$status"
}

kiln_build() {
  echo "setup: building"
  if ! { cmake --preset release >build-setup.log 2>&1 && cmake --build --preset release >>build-setup.log 2>&1; }; then
    tail -n 60 build-setup.log
    echo "setup: the build failed; the whole log is $KILN_ROOT/build-setup.log" >&2
    return 1
  fi
}

kiln_hiprtc() {
  local list
  list=$(build/bin/kiln toolchain list --json)
  # One made before HIP's headers were part of it is made again.
  if grep -q '"usable": *true' <<<"$list" && ! grep -q '"headers": *false' <<<"$list"; then return; fi
  echo "setup: no whole hipRTC on this machine: making a private one"
  build/bin/kiln toolchain install
}

kiln_packages
kiln_build
kiln_hiprtc
