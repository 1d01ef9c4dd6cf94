"""A file system of a test's own, in /dev/fuse's protocol (linux/fuse.h): one file, about which one process gets no
answers."""

import ctypes
import os
import struct
import tempfile
import threading

LOOKUP, FORGET, GETATTR, OPEN, STATFS, RELEASE, FLUSH, INIT, BATCH_FORGET = 1, 2, 3, 14, 17, 18, 25, 26, 42
ENOSYS = 38
MNT_FORCE, MNT_DETACH = 1, 2  # sys/mount.h
libc = ctypes.CDLL(None, use_errno=True)


def available():
    return os.geteuid() == 0 and os.path.exists("/dev/fuse")


def attributes(node):
    mode, size = (0o040755, 0) if node == 1 else (0o100600, 4096)
    return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


class SilentFiles:
    """What the threads of `pid` ask is kept in `asked`, by its number, and not answered until end()."""

    def __init__(self, pid):
        self.pid, self.asked = pid, []
        self.folder = tempfile.mkdtemp(prefix="kiln-test-")
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = b"fd=%d,rootmode=40755,user_id=%d,group_id=%d" % (self.device, os.getuid(), os.getgid())
        if libc.mount(b"kiln-test", self.folder.encode(), b"fuse", 0, options) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def open(self):
        return os.open(os.path.join(self.folder, "file"), os.O_RDWR)

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 17)
            except OSError:  # unmounted
                return
            _, operation, unique, node, _, _, thread = struct.unpack_from("<IIQQIII", request)
            if operation in (FORGET, BATCH_FORGET):
                continue
            if os.path.exists("/proc/%d/task/%d" % (self.pid, thread)):
                self.asked.append(operation)
                continue
            answer = self.answer(operation, node)
            error = -ENOSYS if answer is None else 0
            os.write(self.device, struct.pack("<IiQ", 16 + len(answer or b""), error, unique) + (answer or b""))

    def answer(self, operation, node):
        if operation == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 16, 0, 16, 12, 1 << 16, 1, 16, 0, *[0] * 8)
        if operation == LOOKUP:
            return struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2)
        if operation == GETATTR:
            return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
        if operation == OPEN:
            return struct.pack("<Q2I", 1, 0, 0)
        return b"" if operation in (FLUSH, RELEASE) else None

    def end(self):
        """Whoever still waits for an answer gets an error."""
        libc.umount2(self.folder.encode(), MNT_FORCE | MNT_DETACH)
        self.thread.join()
        os.close(self.device)
        os.rmdir(self.folder)
