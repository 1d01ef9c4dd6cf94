"""This process's connection for kernels, and what a device's kernels are compiled for."""

from __future__ import annotations

import os
import threading
from typing import Any

from .. import errors

_client_lock = threading.Lock()
_client: Any = None


def client() -> Any:
    """This process's connection for kernels; the daemon is started when none runs."""
    global _client
    with _client_lock:
        if _client is None:
            import kiln

            _client = kiln.connect()
        return _client


def use_client(connected: Any) -> None:
    """Kernels run over this connection (of :func:`kiln.connect`) from now on."""
    global _client
    with _client_lock:
        _client = connected


def default_device() -> str:
    """``$KILN_DEVICE``, else ``host``."""
    return os.environ.get("KILN_DEVICE", "host")


def target_of(device: str) -> str:
    """The target that a device's kernels are compiled for."""
    if device.startswith("emu:"):
        return device[4:]
    if device == "host" or device.startswith("host:"):
        return "host"
    for row in client().connection.call("device.list", {"device": device})[0]["devices"]:
        if row.get("target"):
            return str(row["target"])
    raise errors.UnknownTarget("the device %s is not there" % device)
