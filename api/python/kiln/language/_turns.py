"""When the statements of a pipelined loop have their turn, as TileLang's authors write it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence


class Turns:
    """``order=``, ``stage=`` and ``group=`` of ``T.Pipelined``: a position and a stage for each statement of the loop,
    or for each group of statements. Negative numbers say nothing.
    """

    def __init__(self, order: Optional[Sequence[int]], stage: Optional[Sequence[int]], group: Any) -> None:
        self.order, self.stage, self.group = order, stage, group

    def schedule(self, origins: List[int]) -> Dict[str, Any]:
        """The loop's field ``schedule``, a hint. ``origins`` says for each statement of the program which statement of
        the source it comes from. Nothing where there are more or fewer numbers than statements.
        """
        owners = self._owners(origins)
        if owners is None:
            return {}
        schedule: Dict[str, Any] = {}
        if self.order is not None:
            order = self.order
            placed = sorted((order[k], i) for i, k in enumerate(owners) if order[k] >= 0)
            positions: List[Optional[str]] = [None] * len(owners)
            for position, (_, i) in enumerate(placed):
                positions[i] = str(position)
            schedule["order"] = positions
        if self.stage is not None:
            stage = self.stage
            schedule["stage"] = [None if stage[k] < 0 else str(stage[k]) for k in owners]
        schedule["hint"] = True
        return {"schedule": schedule}

    def _owners(self, origins: List[int]) -> Optional[List[int]]:
        """For each statement of the program the number of its entry in the lists."""
        counts = {len(x) for x in (self.order, self.stage) if x is not None}
        if len(counts) != 1:
            return None
        count = counts.pop()
        if self.group is not None:
            flat = {index: k for k, members in enumerate(self.group) for index in members}
            fits = len(self.group) == count and sorted(flat) == list(range(len(origins)))
            return [flat[i] for i in range(len(origins))] if fits else None
        if count == len(origins):
            return list(range(count))
        present = sorted(set(origins))
        return [present.index(k) for k in origins] if len(present) == count else None
