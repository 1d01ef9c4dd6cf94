"""The connection: newline-delimited JSON-RPC with descriptors over a Unix socket."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time

from .errors import NotRunning, PermissionDenied, ProtocolError, from_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

    Progress = Callable[[Dict[str, Any]], None]

PROTOCOL = "1.0"
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_INT_BYTES = struct.calcsize("i")


def default_socket() -> str:
    """``$KILN_SOCKET``, else ``$XDG_RUNTIME_DIR/kiln/kiln.sock``, else ``/tmp/kiln-<uid>/kiln.sock``."""
    if os.environ.get("KILN_SOCKET"):
        return os.path.abspath(os.environ["KILN_SOCKET"])
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return os.path.join(runtime, "kiln", "kiln.sock")
    return "/tmp/kiln-%d/kiln.sock" % os.geteuid()


def find_daemon() -> Optional[str]:
    """``kilnd``: ``$KILN_DAEMON``, beside this package's checkout (``build/bin``) or installation, or on ``PATH``."""
    here = os.path.dirname(os.path.abspath(__file__))
    candidates = [os.environ.get("KILN_DAEMON", ""), os.path.join(here, "bin", "kilnd"),
                  os.path.join(here, "..", "..", "..", "build", "bin", "kilnd")]
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return os.path.abspath(path)
    import shutil  # with the next one, a third of this package's import time, and seldom needed

    return shutil.which("kilnd")


def _daemon_environment() -> Dict[str, str]:
    keep = {"HOME", "PATH", "TMPDIR", "LANG", "LC_ALL", "USER", "LOGNAME"}
    return {k: v for k, v in os.environ.items() if k in keep or k.startswith(("KILN_", "XDG_"))}


def start_daemon(path: str, arguments: Sequence[str] = ()) -> str:
    """Starts ``kilnd`` for ``path``: ``"ready"`` when it serves, ``"busy"`` when another one holds the place."""
    daemon = find_daemon()
    if daemon is None:
        raise NotRunning("no daemon listens on %s and kilnd was not found: set KILN_DAEMON to its path" % path)
    import subprocess

    reading, writing = os.pipe()
    try:
        child = subprocess.Popen([daemon, "--socket", path, "--auto-started", "--ready-fd", str(writing), *arguments], cwd="/",
                                 env=_daemon_environment(), pass_fds=(writing,), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(writing)
        writing = -1
        with os.fdopen(reading, "r", errors="replace") as ready:
            reading = -1
            said = ready.readline().strip()
    finally:
        for fd in (reading, writing):
            if fd >= 0:
                os.close(fd)
    if said not in ("ready", "busy"):
        raise NotRunning("the daemon did not start: %s" % (said or "exit status %s" % child.wait()))
    if said == "busy":
        child.wait()
    child.returncode = 0  # it lives on by itself
    return said


class Connection:
    """One socket. Threads may share it: requests are sent one after the other and answered one after the other."""

    def __init__(self, path: Optional[str] = None, auto_start: bool = True, daemon_arguments: Sequence[str] = ()) -> None:
        self.path = path or default_socket()
        self._lock = threading.Lock()
        self._id = 0
        self._buffer = b""
        self._fds: List[int] = []
        self._pid = os.getpid()
        end = time.monotonic() + 20
        while True:
            self._socket = self._connect(auto_start, daemon_arguments)
            try:
                self.hello, _ = self.call("hello", {"protocol": PROTOCOL, "client": "python"})
                return
            except NotRunning:  # it took the connection and ended before the first reply: another one may serve
                self.close()
                self._buffer = b""
                if not auto_start or time.monotonic() > end:
                    raise
                time.sleep(0.02)
            except BaseException:
                self.close()
                raise

    def _connect(self, auto_start: bool, daemon_arguments: Sequence[str]) -> socket.socket:
        end = time.monotonic() + 20  # a daemon that is just ending holds the place until it is gone
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(self.path)
            except (FileNotFoundError, ConnectionRefusedError):
                sock.close()
                if not auto_start or time.monotonic() > end:
                    raise NotRunning("no daemon listens on %s" % self.path) from None
                if start_daemon(self.path, daemon_arguments) == "busy":
                    time.sleep(0.02)
                continue
            _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if uid not in (os.geteuid(), 0):
                sock.close()
                raise PermissionDenied("the daemon on %s belongs to another user (uid %d)" % (self.path, uid))
            return sock

    def call(self, method: str, params: Optional[Dict[str, Any]] = None, fds: Sequence[int] = (),
             progress: Optional[Progress] = None) -> Tuple[Dict[str, Any], List[int]]:
        """One request and its answer: the result and the descriptors that came with it (the caller owns them)."""
        if os.getpid() != self._pid:
            raise NotRunning("this connection belongs to the parent process: connect again after fork")
        with self._lock:
            self._id += 1
            request: Dict[str, Any] = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}}
            if fds:
                request["fds"] = len(fds)
            self._send(_encode(request).encode() + b"\n", fds)
            return self._answer(self._id, progress)

    def _send(self, data: bytes, fds: Sequence[int]) -> None:
        try:
            if fds:
                sent = self._socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("%di" % len(fds), *fds))])
                data = data[sent:]
            self._socket.sendall(data)
        except OSError as error:
            raise NotRunning("the daemon went away: %s" % error, retryable=True) from None

    def _answer(self, wanted: int, progress: Optional[Progress]) -> Tuple[Dict[str, Any], List[int]]:
        while True:
            line = json.loads(self._line().decode())
            if line.get("method") == "$/progress":
                if progress:
                    progress(line.get("params", {}))
                continue
            if line.get("id") != wanted and line.get("id") is not None:
                continue
            fds, self._fds = self._fds, []
            if "error" in line:
                for fd in fds:
                    os.close(fd)
                raise from_wire(line["error"])
            return line.get("result", {}), fds

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            try:
                data, control, flags, _ = self._socket.recvmsg(1 << 16, socket.CMSG_SPACE(64 * 4), socket.MSG_CMSG_CLOEXEC)
            except OSError as error:
                raise NotRunning("the daemon went away: %s" % error, retryable=True) from None
            for level, kind, payload in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    count = len(payload) // _INT_BYTES
                    self._fds.extend(struct.unpack("%di" % count, payload[: count * _INT_BYTES]))
            if flags & socket.MSG_CTRUNC:
                raise ProtocolError("descriptors were lost")
            if not data:
                raise NotRunning("the daemon closed the connection", retryable=True)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def close(self) -> None:
        self._socket.close()
        for fd in self._fds:
            os.close(fd)
        self._fds = []
