"""What the scripts of `kiln bench` share: arguments, progress, samples, and the document that they hand back.

A script measures one area. `kiln bench AREA` starts it, judges its rows and prints the table; started by hand it prints
the document: {"rows": [...], "notes": [...]}. A row is {"what", "against", "unit", "kiln": [...], "peer": [...],
"relation", "target"?} with a time per round and side; equal indexes mean the same round. Relation `cost`: kiln / peer,
wanted at most `target`; `gain`: peer / kiln, wanted at least `target`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
import tempfile
from typing import Any, Callable, Dict, List, Optional

from private_daemon import programs_folder

Document = Dict[str, Any]


class Samples:
    """Milliseconds by name, one value a round."""

    def __init__(self) -> None:
        self.values: Dict[str, List[float]] = {}

    def add(self, name: str, ms: float) -> None:
        self.values.setdefault(name, []).append(ms)

    def cost(self, what: str, kiln: str, peer: str, at_most: Optional[float] = None,
             against: Optional[str] = None) -> Dict[str, Any]:
        """A row of the samples ``kiln`` and ``peer``; ``against`` is the peer's sample name if not given."""
        return self._row("cost", what, kiln, peer, at_most, against)

    def gain(self, what: str, kiln: str, peer: str, at_least: Optional[float] = None,
             against: Optional[str] = None) -> Dict[str, Any]:
        return self._row("gain", what, kiln, peer, at_least, against)

    def _row(self, relation: str, what: str, kiln: str, peer: str, target: Optional[float],
             against: Optional[str]) -> Dict[str, Any]:
        row: Dict[str, Any] = {"what": what, "against": against or peer, "unit": "ms", "kiln": self.values[kiln],
                               "peer": self.values[peer], "relation": relation}
        return row if target is None else {**row, "target": target}


class Progress:
    """One line on the terminal, rewritten."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown

    def __call__(self, text: str = "") -> None:
        if self.shown:
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()

    def round(self, number: int, rounds: int, what: str) -> None:
        """Round 0 warms up."""
        self("%s: %s" % (what, "round %d of %d" % (number, rounds) if number else "warming up"))


def parse(description: Optional[str], add_arguments: Callable[[argparse.ArgumentParser], None]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="folder of kiln and kilnd")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7 for figures that are quoted")
    parser.add_argument("--check", action="store_true", help="print what is missing here, if anything")
    parser.add_argument("--progress", action="store_true", help="draw progress on standard error")
    parser.add_argument("--document-fd", type=int, default=1, help="where the document goes")
    add_arguments(parser)
    options = parser.parse_args()
    options.bin = programs_folder(options.bin)
    return options


def end_with_parent() -> None:
    """The end of `kiln bench`, however it comes, acts like a person's interrupt: what was started here ends too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG


def run_area(description: Optional[str], missing: Callable[[argparse.Namespace], str],
             measure: Callable[[argparse.Namespace, str, Progress], Document],
             add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None) -> int:
    """A script's main. ``missing``: what the area lacks here and what helps, or "". ``measure``: options, a folder that
    goes away afterwards, and progress; gives the document."""
    options = parse(description, add_arguments)
    if options.document_fd != 1:
        end_with_parent()
    lack = missing(options)
    with os.fdopen(options.document_fd, "w", encoding="utf-8") as out:
        if options.check:
            out.write(lack)
            return 0
        if lack:
            sys.exit("cannot run here: " + lack)
        progress = Progress(options.progress)
        try:
            with tempfile.TemporaryDirectory(prefix="kiln-bench-") as folder:
                document = measure(options, folder, progress)
        except RuntimeError as error:
            sys.exit("%s%s" % ("\n" if options.progress else "", error))
        except KeyboardInterrupt:
            sys.exit(130)
        finally:
            progress()
        json.dump(document, out)
        out.write("\n")
    return 0
