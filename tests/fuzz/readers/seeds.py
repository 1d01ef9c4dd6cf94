"""What each fuzz target begins with: real inputs, as files of a folder."""

import glob
import json
import os
import re
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def programs():
    texts = [text_of("kernels", "programs", name) for name in sorted(os.listdir(os.path.join(ROOT, "kernels", "programs")))]
    return [json.dumps(json.loads(text), separators=(",", ":")).encode() for text in texts]


def expressions():
    found = set()

    def walk(value):
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            if isinstance(part, str) and re.search(r"[\[(+*/<]", part):
                found.add(part)
            walk(part)

    for text in programs():
        walk(json.loads(text))
    return [text.encode() for text in sorted(found)]


def lines():
    requests = re.findall(r"^--> (\{.*\})$", text_of("api", "protocol", "PROTOCOL.md"), re.M)
    batch = "[" + ",".join(requests[:3]) + "]"
    return [b"\xff\xff" + (text + "\n").encode() for text in [*requests, batch, "\n".join(requests[:4])]]


def entries():
    page = re.search(r"```hex\n(.*?)```", text_of("cache", "ENTRY.md"), re.S).group(1)
    return [bytes.fromhex(page), b"KILNENT\x1a" + struct.pack("<II32sQQ", 1, 0, bytes(32), 0, 0) + bytes(8)]


SEEDS = {"lines": lines, "program": programs, "expression": expressions, "entry": entries}


def write(target, folder):
    os.makedirs(folder, exist_ok=True)
    for number, data in enumerate(SEEDS[target]()):
        with open(os.path.join(folder, "%03d" % number), "wb") as file:
            file.write(data)
    return len(glob.glob(os.path.join(folder, "*")))
