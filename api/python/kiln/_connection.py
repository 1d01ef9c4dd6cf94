"""The connection: newline-delimited JSON-RPC with descriptors over a Unix socket, made anew when the daemon died or we forked."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from _weakrefset import WeakSet

from .errors import Busy, InvalidArgument, KilnError, NotRunning, PermissionDenied, ProtocolError, from_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

    from ._capture import Captures
    from ._visible_cards import VisibleCards

    Progress = Callable[[Dict[str, Any]], None]

PROTOCOL = "1.0"
_RESTART_S = 20.0  # a daemon that is just ending holds its place until it is gone
_INT_BYTES = struct.calcsize("i")

_VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")  # which cards hip:0, hip:1 … are

# Requests that change nothing when they happen twice: sent again when the daemon died before it answered. The loss of any
# other one is told, because whether it happened is not known.
_REPEATABLE = frozenset((
    "hello", "ping", "rpc.discover", "program.check", "program.list", "program.show", "kernel.compile", "kernel.prepare",
    "kernel.load", "kernel.unload", "kernel.explain", "kernel.list", "buffer.register", "buffer.list", "cache.stats", "cache.list",
    "cache.verify", "cache.evict", "cache.export", "cache.import", "device.list", "engine.stats", "engine.connections", "engine.metrics"))


def _wire(value: Any) -> Any:
    """JSON of what is no JSON type: arrays, by the id that their memory has on the present connection."""
    to_wire = getattr(value, "to_wire", None)
    if to_wire is None:
        raise TypeError("%s cannot be an argument" % type(value).__name__)
    return to_wire()


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_wire).encode


def _unsendable(where: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """Places of numbers that are infinite or none, and the numbers."""
    if isinstance(value, float) and value - value != 0:
        yield where, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for name, part in items:
        yield from _unsendable("%s.%s" % (where, name) if where else str(name), part)


def default_socket() -> str:
    """``$KILN_SOCKET``, else ``$XDG_RUNTIME_DIR/kiln/kiln.sock``, else ``/tmp/kiln-<uid>/kiln.sock``."""
    if os.environ.get("KILN_SOCKET"):
        return os.path.abspath(os.environ["KILN_SOCKET"])
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime):
        return os.path.join(runtime, "kiln", "kiln.sock")
    return "/tmp/kiln-%d/kiln.sock" % os.geteuid()


def _vouched_for(path: str, uid: int) -> bool:
    """Whether only root and ``uid`` can have put a socket at ``path``: every folder on the way is theirs, and nobody else
    may write there."""
    try:
        folder = os.path.realpath(os.path.dirname(path), strict=True)
        while True:
            status = os.lstat(folder)
            if status.st_uid not in (0, uid) or status.st_mode & 0o022:
                return False
            if folder == os.path.dirname(folder):
                return True
            folder = os.path.dirname(folder)
    except (OSError, TypeError):
        return False


class Registration:
    """Memory that the daemon knows by ``id``. The descriptor stays ours, so that the next daemon can be given the same memory.

    Or what belongs to a card: ``method`` and ``params`` made it, and make it again where it was not the daemon's own (then
    ``id`` is 0 from then on, which no daemon gives); ``release`` gives ``{field: id}`` back.
    """

    __slots__ = ("fd", "id", "users", "method", "params", "field", "release")

    def __init__(self, fd: int, number: int, method: str = "buffer.register", params: Optional[Dict[str, Any]] = None,
                 field: str = "buffer", release: str = "buffer.unregister") -> None:
        self.fd, self.id, self.users = fd, number, 1
        self.method, self.params, self.field, self.release = method, params, field, release

    def close(self, close: Callable[[int], None] = os.close) -> None:
        if self.fd >= 0:
            close(self.fd)
            self.fd = -1

    __del__ = close


class Connection:
    """One socket. Threads may share it: requests are sent one after the other and answered one after the other.

    When the daemon is gone, or this is a forked child, the next request connects again (starting a daemon where the first
    connect could), registers the live memory there and goes on. A request under way is repeated if that is harmless
    (compiles, queries); one that runs a kernel raises :class:`errors.NotRunning` with ``retryable`` and is never repeated.

    Attributes:
        hello: the answer to the newest connection's ``hello``.
    """

    def __init__(self, path: Optional[str] = None, auto_start: bool = True, daemon_arguments: Sequence[str] = ()) -> None:
        self.path = os.path.abspath(path) if path else default_socket()
        self._auto_start = auto_start
        self._daemon_arguments = list(daemon_arguments)
        if self._daemon_arguments:
            from ._start import absolute_arguments

            self._daemon_arguments = absolute_arguments(daemon_arguments)
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self._id = 0
        self._buffer = b""
        self._fds: List[int] = []
        self._sent = self._answering = self._closed = False  # the first two: of the newest request
        self._registrations: Set[Registration] = set()
        self._dropped: List[Registration] = []
        self.hello: Dict[str, Any] = {}
        self._captures: Optional[Captures] = None
        self._asked = False  # the newest request: for a capture
        if os.environ.get("KILN_CAPTURE"):
            from ._capture import Captures

            self._captures = Captures(os.environ["KILN_CAPTURE"], os.environ.get("KILN_CAPTURE_ON", ""))
        self._visible: Optional[VisibleCards] = None
        if any(name in os.environ for name in _VISIBLE):
            from ._visible_cards import VisibleCards

            self._visible = VisibleCards(os.environ)
        self._open()
        _connections.add(self)

    def call(self, method: str, params: Optional[Dict[str, Any]] = None, fds: Sequence[int] = (),
             progress: Optional[Progress] = None) -> Tuple[Dict[str, Any], List[int]]:
        """One request and its answer: the result and the descriptors that came with it (the caller owns them)."""
        return self._alone(lambda: self._request(method, params or {}, fds, progress))

    def register(self, fd: int) -> Registration:
        """Hands a memfd over. The registration owns ``fd``, once it is made."""

        def work() -> Registration:
            answer, _ = self._request("buffer.register", {"fd": {"fd": 0}}, [fd])
            made = Registration(fd, answer["buffer"])
            self._registrations.add(made)
            return made

        return self._alone(work)

    def make(self, method: str, params: Dict[str, Any], field: str, release: str) -> Tuple[Registration, Dict[str, Any]]:
        """What the daemon keeps for us by number until it is given back; and the answer."""

        def work() -> Tuple[Registration, Dict[str, Any]]:
            answer, _ = self._request(method, params)
            made = Registration(-1, answer[field], method, params, field, release)
            self._registrations.add(made)
            return made, answer

        return self._alone(work)

    def hold(self, registration: Registration) -> None:
        """To be given back; what made it has been asked for already."""
        self._alone(lambda: self._registrations.add(registration))

    def share(self, registration: Registration) -> bool:
        """One user more; False when the memory is not (or no longer) registered here."""

        def work() -> bool:
            held = registration in self._registrations
            registration.users += held
            return held

        return self._alone(work)

    def release(self, registration: Registration) -> None:
        """One user less; without any, the memory is given back. The daemon answers when launches in flight are done."""

        def work() -> None:
            registration.users -= 1
            try:
                if registration.users <= 0:
                    self._give_back(registration)
            except Busy:
                registration.users += registration in self._registrations
                raise

        self._alone(work)

    def drop(self, registration: Registration) -> None:
        """For finalizers, which may run in any thread and inside any call: only notes it; the next request gives it back."""
        self._dropped.append(registration)

    def close(self) -> None:
        """Ends the connection for good. A request that another thread waits for ends with NotRunning."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._lock.release()
            return
        running = self._socket
        if running is not None:
            try:
                running.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _alone(self, work: Callable[[], Any]) -> Any:
        with self._lock:
            try:
                while self._dropped:
                    try:
                        self._give_back(self._next_dropped())
                    except KilnError:
                        pass  # nobody waits for this one
                return work()
            finally:
                if self._closed:
                    self._let_go()

    def _next_dropped(self) -> Registration:
        """Rings, then plans: what they use cannot be given back before them."""
        for field in ("ring", "plan"):
            for dropped in self._dropped:
                if dropped.field == field:
                    self._dropped.remove(dropped)
                    return dropped
        return self._dropped.pop()

    def _request(self, method: str, params: Dict[str, Any], fds: Sequence[int] = (),
                 progress: Optional[Progress] = None) -> Tuple[Dict[str, Any], List[int]]:
        if self._captures is not None:
            given, params = params, self._captures.ask(method, params)
            self._asked = params is not given
        if self._socket is not None:
            try:
                return self._exchange(method, params, fds, progress)
            except NotRunning as error:
                if self._socket is not None or method == "shutdown":
                    raise  # an answer; or what was asked for
                if self._sent and (self._answering or method not in _REPEATABLE):
                    raise NotRunning("%s; whether %s happened is not known, so it was not repeated" % (error.message, method),
                                     retryable=True) from None
        self._open()
        return self._exchange(method, params, fds, progress)

    def _give_back(self, registration: Registration) -> None:
        if registration not in self._registrations:
            return
        stays = False
        try:
            if self._socket is not None and registration.id != 0:
                self._exchange(registration.release, {registration.field: registration.id})
        except NotRunning:
            pass  # a connection takes its buffers along
        except Busy as error:
            stays = not error.retryable  # a plan uses it
            raise
        finally:
            if not stays:
                self._registrations.discard(registration)
                registration.close()

    def _open(self) -> None:
        """Connects, starting a daemon when there is none, says hello and registers the live memory."""
        end = time.monotonic() + _RESTART_S
        while True:
            self._socket = self._connect(end)
            try:
                self.hello, _ = self._exchange("hello", {"protocol": PROTOCOL, "client": "python"})
                for registration in sorted(self._registrations, key=lambda held: held.field == "plan"):
                    self._make_again(registration)  # plans behind what they use
                return
            except (NotRunning, Busy):  # it took the connection and ended before the first reply: another one may serve
                self._disconnect()
                if not self._auto_start or time.monotonic() > end:
                    raise
                time.sleep(0.02)
            except BaseException:
                self._disconnect()
                raise

    def _make_again(self, registration: Registration) -> None:
        if registration.params is None:
            answer, _ = self._exchange("buffer.register", {"fd": {"fd": 0}}, [registration.fd])
            registration.id = answer["buffer"]
            return
        registration.id = 0
        if registration.method in ("buffer.alloc", "event.export", "ring.create"):
            return  # it was the device's own, and went with its process
        try:
            answer, _ = self._exchange(registration.method, registration.params)
            registration.id = answer[registration.field]
        except (NotRunning, Busy):
            raise
        except KilnError:
            pass  # its owner has gone: what uses it says that there is no such number

    def _connect(self, end: float) -> socket.socket:
        while True:
            if self._closed:
                raise NotRunning("this client was closed")
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(self.path)
                _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            except (FileNotFoundError, ConnectionRefusedError):
                sock.close()
                if not self._auto_start or time.monotonic() > end:
                    raise NotRunning("no daemon listens on %s" % self.path, retryable=True) from None
                from ._start import start_daemon

                if start_daemon(self.path, self._daemon_arguments) == "busy":
                    time.sleep(0.02)
                continue
            except BaseException:
                sock.close()
                raise
            if uid not in (os.geteuid(), 0) and not _vouched_for(self.path, uid):
                sock.close()
                raise PermissionDenied("the daemon on %s belongs to another user (uid %d), and not root and that user "
                                       "alone can have put it there" % (self.path, uid))
            return sock

    def _exchange(self, method: str, params: Dict[str, Any], fds: Sequence[int] = (),
                  progress: Optional[Progress] = None) -> Tuple[Dict[str, Any], List[int]]:
        """One request on the present socket. Without a whole answer to it (an error is one) the socket is closed."""
        self._sent = False
        if self._visible is not None:
            params = self._visible.named(params)
        self._id += 1
        request: Dict[str, Any] = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        if fds:
            request["fds"] = len(fds)
        try:
            data = _encode(request).encode() + b"\n"
        except ValueError:
            where, what = next(_unsendable("", params), ("the request", "this"))
            raise InvalidArgument("%s: %s cannot be sent: JSON has no such number" % (where, what)) from None
        most = self.hello.get("limits", {}).get("line_bytes_max", 0)
        if 0 < most < len(data):
            raise InvalidArgument("the request has %d bytes, and the daemon takes at most %d (limits.line_bytes_max in its config.json)"
                                  % (len(data), most))
        try:
            line = self._send(data, fds)
            self._sent = True
            if line is None:
                line = self._answer(self._id, progress)
        except BaseException:  # half a line may be out, or an answer be on its way that nobody waits for
            self._answering = bool(self._buffer)
            self._disconnect()
            raise
        received, self._fds = self._fds, []
        if self._captures is not None and self._asked:
            self._captures.keep(line["error"].get("data") if "error" in line else line.get("result"), received)
        if "error" in line:
            for fd in received:
                os.close(fd)
            raise from_wire(line["error"])
        return line.get("result", {}), received

    def _send(self, data: bytes, fds: Sequence[int]) -> Optional[Dict[str, Any]]:
        """Gives what the daemon said before it closed the connection, if it did: why it refused it."""
        try:
            if fds:
                sent = self._socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("%di" % len(fds), *fds))])
                data = data[sent:]
            self._socket.sendall(data)
        except OSError as error:
            try:
                return self._answer(0, None)
            except NotRunning:
                raise NotRunning("the daemon went away: %s" % error, retryable=True) from None
        return None

    def _answer(self, wanted: int, progress: Optional[Progress]) -> Dict[str, Any]:
        while True:
            line = json.loads(self._line().decode())
            if line.get("method") == "$/progress":
                if progress:
                    progress(line.get("params", {}))
            elif line.get("id") in (wanted, None):
                return line

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

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        for fd in self._fds:
            os.close(fd)
        self._socket, self._buffer, self._fds = None, b"", []

    def _let_go(self) -> None:
        self._disconnect()
        for registration in self._registrations:
            registration.close()
        self._registrations.clear()

    def _leave_parent(self) -> None:
        """In a forked child: the socket is the parent's (closing our copy does not end it), and so is whoever holds the lock."""
        self._lock = threading.Lock()
        self._disconnect()


_connections: WeakSet[Connection] = WeakSet()


def _after_fork_in_child() -> None:
    for connection in list(_connections):
        connection._leave_parent()


os.register_at_fork(after_in_child=_after_fork_in_child)
