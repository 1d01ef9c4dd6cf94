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


def of_the_page(magic):
    """The examples of cache/ENTRY.md that begin so."""
    examples = [bytes.fromhex(block) for block in re.findall(r"```hex\n(.*?)```", text_of("cache", "ENTRY.md"), re.S)]
    return [example for example in examples if example.startswith(magic)]


def bundles():
    return [*of_the_page(b"KILNBUN\x1a"), b"KILNBUN\x1a" + struct.pack("<IIQQQ24x", 1, 0, 0, 0, 64) + bytes(32)]


def entries():
    return [*of_the_page(b"KILNENT\x1a"), b"KILNENT\x1a" + struct.pack("<II32sQQ", 1, 0, bytes(32), 0, 0) + bytes(8)]


SEEDS = {"lines": lines, "program": programs, "expression": expressions, "entry": entries, "bundle": bundles}


def write(target, folder):
    os.makedirs(folder, exist_ok=True)
    for number, data in enumerate(SEEDS[target]()):
        with open(os.path.join(folder, "%03d" % number), "wb") as file:
            file.write(data)
    return len(glob.glob(os.path.join(folder, "*")))
