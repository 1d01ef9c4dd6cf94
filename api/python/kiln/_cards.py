"""What a card shares with other processes: memory and events by HIP IPC handle; and streams, which order launches."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Union

    from ._connection import Connection


class _Held:
    """Something that the daemon keeps under a number until it is given back; given back when this is gone.

    After the daemon was started again it is made again, but for the card's own memory and events, which are lost: what uses
    them is refused.
    """

    _field = ""
    _release = ""

    def __init__(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        self._connection = connection
        self._registration, self._answer = connection.make(method, params, self._field, self._release)

    @property
    def number(self) -> int:
        """The daemon's number of it, 0 when it was given back or is lost."""
        return self._registration.id

    def free(self) -> None:
        """Gives it back; the daemon answers when launches in flight are done."""
        if self._registration.users > 0:
            self._connection.release(self._registration)
            self._registration.id = 0

    def to_wire(self) -> Union[int, Dict[str, int]]:
        return self.number

    def __del__(self) -> None:
        registration = getattr(self, "_registration", None)
        if registration is not None and registration.users > 0:
            self._connection.drop(registration)

    def __repr__(self) -> str:
        return "kiln.%s(%d)" % (type(self).__name__, self.number)


class CardMemory(_Held):
    """Memory of a card, for launches on that device.

    Attributes:
        device, nbytes: where, and how much.
        ipc: the HIP IPC handle as hex, of memory that the card allocated; None of opened memory.
    """

    _field, _release = "buffer", "buffer.unregister"

    def __init__(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        super().__init__(connection, method, params)
        self.device, self.nbytes, self.ipc = params["device"], int(params["size"]), self._answer.get("ipc")

    def to_wire(self) -> Dict[str, int]:
        return {"buffer": self.number}

    def at(self, offset: int) -> "_Part":
        """The memory from ``offset`` on, as a launch's argument."""
        return _Part(self, offset)


class _Part:
    __slots__ = ("_memory", "_offset")

    def __init__(self, memory: CardMemory, offset: int) -> None:
        self._memory, self._offset = memory, offset

    def to_wire(self) -> Dict[str, int]:
        return {"buffer": self._memory.number, "offset": self._offset}


class CardEvent(_Held):
    """An event of a card. ``ipc``: its handle as hex, of an event that the card made; None of an imported one."""

    _field, _release = "event", "event.release"

    def __init__(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        super().__init__(connection, method, params)
        self.device, self.ipc = params["device"], self._answer.get("ipc")


class Stream(_Held):
    """Launches of one stream run in order, those of different ones side by side."""

    _field, _release = "stream", "stream.release"
