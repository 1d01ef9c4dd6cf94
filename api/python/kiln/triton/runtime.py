"""``triton.runtime``: what host code asks about the device that kernels run on (``$KILN_DEVICE``, else the host)."""

from __future__ import annotations

from ..language._kernel import default_device, target_of


class Target:
    """Attributes: ``backend``, ``"hip"`` for cards of AMD (emulated ones too) and ``"cpu"`` for the host; ``arch`` such
    as ``"gfx942"``; ``warp_size``.
    """

    def __init__(self, target: str) -> None:
        self.arch = target.split(":")[0]
        self.backend = "hip" if self.arch.startswith("gfx") else "cpu"
        self.warp_size = 64 if self.arch.startswith("gfx9") else 32 if self.backend == "hip" else 1


class _Active:
    def get_current_target(self) -> Target:
        return Target(target_of(default_device()))

    def get_active_torch_device(self) -> str:
        """Where tensors lie: Kiln takes them from the host's memory."""
        return "cpu"


class _Driver:
    active = _Active()


driver = _Driver()
