"""Which cards this process is shown, and what the daemon, which sees all, calls them. Imported only where a variable chooses."""

from __future__ import annotations

from .errors import UnknownTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional


class VisibleCards:
    """By HIP's rules: ``ROCR_VISIBLE_DEVICES`` chooses among the machine's cards by number or UUID, ``HIP_VISIBLE_DEVICES``, or
    else ``CUDA_VISIBLE_DEVICES``, among those; each list ends at its first entry that is neither."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._shown: Optional[List[str]] = None
        self._variable = ""
        self._choose("ROCR_VISIBLE_DEVICES", environment)
        self._choose("HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in environment else "CUDA_VISIBLE_DEVICES", environment)

    def _choose(self, variable: str, environment: Mapping[str, str]) -> None:
        if variable not in environment:
            return
        shown: List[str] = []
        for entry in (e.strip() for e in environment[variable].split(",")):
            if not entry.startswith("GPU-"):
                if not (entry.isascii() and entry.isdigit()) or (self._shown is not None and int(entry) >= len(self._shown)):
                    break
                entry = self._shown[int(entry)] if self._shown is not None else entry
            shown.append(entry)
        self._shown, self._variable = shown, "%s=%s" % (variable, environment[variable])

    def daemon_name(self, device: str) -> str:
        """What the daemon calls ``device``: ``hip:0`` is the first card that is shown; other names are the same for both."""
        number = device[4:] if device.startswith("hip:") else ""
        if self._shown is None or not (number.isascii() and number.isdigit()):
            return device
        if int(number) >= len(self._shown):
            raise UnknownTarget("%s shows this process %d cards: there is no %s" % (self._variable, len(self._shown), device))
        return "hip:" + self._shown[int(number)]

    def named(self, params: Dict[str, Any]) -> Dict[str, Any]:
        """A request's parameters with the daemon's names of devices."""
        if isinstance(params.get("device"), str):
            params = dict(params, device=self.daemon_name(params["device"]))
        if isinstance(params.get("kernels"), list):
            params = dict(params, kernels=[self.named(k) if isinstance(k, dict) else k for k in params["kernels"]])
        return params
