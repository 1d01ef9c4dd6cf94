#!/usr/bin/env python3
"""Who may include whom (ARCHITECTURE.md, "Rooms"), where heavy headers may stand, and a few rules of style."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What a room may include beside itself; the rooms that those may include count too.
DIRECT = {
    "engine/base": [],
    "engine/ir": ["engine/base"],
    "engine/profile": ["engine/ir"],
    "engine/reference": ["engine/ir"],
    "engine/specialize": ["engine/ir"],
    "engine/lower": ["engine/specialize", "engine/profile"],
    "engine/emit": ["engine/ir"],
    "engine/compile": ["engine/emit", "engine/lower"],
    "engine/capture": ["engine/compile"],
    "engine/device": ["engine/compile"],
    "engine/emulator": ["engine/device"],
    "engine/jit": ["engine/device", "engine/compile", "engine/emit", "engine/lower", "engine/specialize", "engine/profile", "engine/reference"],
    "engine/tune": ["engine/jit"],
    "cache": ["engine/base", "engine/jit:engine/jit/object_store.hpp", "engine/jit:engine/jit/remote_tier.hpp"],
    "api/protocol": ["engine/base"],
    "api/service": ["api/protocol", "engine/jit", "engine/capture"],
    "api/server": ["api/service"],
    "api/client": ["api/protocol"],
    "api/daemon": ["api/server", "api/service", "api/client", "cache", "engine/jit", "engine/tune"],
    "api/cli": ["api/daemon", "api/client", "cache", "engine/jit", "engine/capture"],
}
# Header -> rooms (or files by pattern) that may name it.
HEAVY = [
    (r"<nlohmann/", r"^(engine/ir/tile/|engine/ir/.*\.cpp|engine/profile/launch_counters\.cpp|engine/device/hip_emulate_main\.cpp|engine/device/hip/emulate\.cpp|engine/compile/(code_object|toolchain|hip_)|api/)"),
    (r"<boost/asio", r"^api/server/"),
    (r"<(hiredis|curl)/", r"^cache/tiers/"),
    (r"<llvm", r"_llvm\.cpp$|^engine/(compile|device)/.*llvm.*\.hpp$"),
    (r"<(spdlog|fmt)/", r"^api/daemon/"),
    (r"<CLI/", r"^api/(cli|daemon)/"),
    (r"<(hip|cuda|hiprtc|nvrtc)", r"^$"),
]


def allowed(room, seen=None):
    seen = seen if seen is not None else set()
    for other in DIRECT[room]:
        name = other.split(":")[0]
        if ":" not in other and name not in seen:
            seen.add(name)
            allowed(name, seen)
    return seen


def sources():
    for top in ("engine", "api", "cache"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".cpp", ".hpp")):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def room_of(path):
    parts = path.split("/")
    return parts[0] if parts[0] == "cache" else "/".join(parts[:2])


def check_includes(path, text, problems):
    room = room_of(path)
    may = allowed(room)
    files = {o.split(":")[1] for o in DIRECT[room] if ":" in o}
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'#include (["<])([^">]+)', line)
        if not match:
            continue
        kind, name = match.groups()
        if kind == '"':
            if "/" not in name:
                continue  # generated
            other = room_of(name)
            if other != room and other not in may and name not in files:
                problems.append("%s:%d: %s may not include %s" % (path, number, room, name))
        for pattern, where in HEAVY:
            if re.match(pattern, kind + name) and not re.search(where, path):
                problems.append("%s:%d: <%s> does not belong here" % (path, number, name))


def check_style(path, text, problems):
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
            problems.append("%s:%d: a note to self" % (path, number))
    if re.search(r"(^|/)(common|util|utils|misc|helpers)(/|\.|$)", path):
        problems.append("%s: a name that says nothing" % path)
    if len(lines) > 700:
        problems.append("%s: %d lines" % (path, len(lines)))


def main():
    problems, count = [], 0
    for path in sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        if room_of(path) not in DIRECT:
            problems.append("%s: no such room" % path)
            continue
        check_includes(path, text, problems)
        check_style(path, text, problems)
        count += 1
    print("\n".join(problems) if problems else "%d files keep the order" % count)
    return 1 if problems or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
