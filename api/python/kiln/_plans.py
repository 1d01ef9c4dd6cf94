"""Plans: launches that are recorded once and run by one message."""

from __future__ import annotations

from . import errors
from ._cards import _Held
from ._printed import Milliseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from ._cards import Stream
    from ._connection import Connection


class Plan(_Held):
    """Launches on one device, made by :meth:`Client.plan`; given back when this is gone. Its arrays live as long.

    After the daemon was started again it is made again.

    Attributes:
        device: where it runs.
    """

    _field, _release = "plan", "plan.release"

    def __init__(self, connection: Connection, launches: List[Dict[str, Any]], device: str) -> None:
        super().__init__(connection, "plan.create", {"launches": launches, "device": device})
        self.device: str = self._answer["device"]
        self._count: int = self._answer["launches"]

    def __call__(self, deadline_ms: Optional[int] = None, stream: Optional[Stream] = None) -> Milliseconds:
        """Runs the launches one after the other; gives the milliseconds that all took on the device, with what they
        printed as ``.printed``, each record with the number of its launch."""
        params: Dict[str, Any] = {"plan": self}
        if stream is not None:
            params["stream"] = stream
        if deadline_ms is not None:
            params["deadline_ms"] = deadline_ms
        if self.number == 0:
            raise errors.NotFound("the plan was given back, or could not be made again by a new daemon")
        return Milliseconds.of(self._connection.call("plan.run", params)[0])

    def __len__(self) -> int:
        return self._count
