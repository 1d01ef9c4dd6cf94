"""clang's offload bundles, as its documentation, "Clang Offload Bundler", lays them out."""

import struct

PAGE = 4096


def whole_pages(data):
    return data + b"\0" * (-len(data) % PAGE)


def bundle(objects):
    """The bundle of {target: code object}."""
    table, offset = b"", PAGE
    for target, data in objects.items():
        name = b"hipv4-amdgcn-amd-amdhsa--" + target.encode()
        table += struct.pack("<QQQ", offset, len(data), len(name)) + name
        offset += len(whole_pages(data))
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(objects)) + table
    return whole_pages(head) + b"".join(whole_pages(data) for data in objects.values())
