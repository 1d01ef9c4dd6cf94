"""Captures of launches as files, where KILN_CAPTURE names one (``kiln capture`` sets it): imported only then.

KILN_CAPTURE_ON: ``fault`` (the default; the first launch that fails), ``always`` (the file holds the last one) or a number (that
launch of the process). A file that is there is kept by ``fault`` and a number: the first of several processes wins.
"""

from __future__ import annotations

import os
import tempfile
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

_LAUNCHES = ("kernel.launch", "kernel.verify", "kernel.profile")


class Captures:
    def __init__(self, path: str, on: str) -> None:
        self._path, self._on, self._launches = os.path.abspath(path), on or "fault", 0
        if self._on not in ("fault", "always") and not (self._on.isascii() and self._on.isdigit() and int(self._on)):
            raise ValueError("KILN_CAPTURE_ON: expected fault, always or a number from 1, found %r" % on)

    def ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """The params to send: with ``capture`` where one is wanted."""
        if method not in _LAUNCHES:
            return params
        self._launches += 1
        if any(name in params for name in ("capture", "wait", "event")):
            return params
        if self._on.isdigit() and self._launches != int(self._on):
            return params
        if self._on != "always" and os.path.lexists(self._path):
            return params
        return dict(params, capture="fault" if self._on == "fault" else "always")

    def keep(self, members: Any, fds: List[int]) -> None:
        """Writes the file that an answer, or an error's data, names; takes it out of both."""
        said = members.pop("capture", None) if isinstance(members, dict) else None
        if not isinstance(said, dict):
            return
        try:
            if "fd" not in said:
                raise OSError(said.get("error", {}).get("message", "the daemon gave no file"))
            fd = fds.pop(said["fd"])
            try:
                self._write(fd)
            finally:
                os.close(fd)
        except (OSError, IndexError) as error:  # the launch is what it is, whether its capture can be written or not
            warnings.warn("the launch could not be captured: %s" % error, stacklevel=2)

    def _write(self, fd: int) -> None:
        made, temporary = tempfile.mkstemp(prefix=os.path.basename(self._path) + ".", dir=os.path.dirname(self._path))
        try:
            with os.fdopen(made, "wb") as out:
                at = 0
                while True:
                    piece = os.pread(fd, 1 << 20, at)
                    if not piece:
                        break
                    out.write(piece)
                    at += len(piece)
            if self._on == "always":
                os.rename(temporary, self._path)
                return
            try:
                os.link(temporary, self._path)
            except FileExistsError:
                pass
            os.unlink(temporary)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
