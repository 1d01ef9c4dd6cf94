"""Kiln's Python client.

    import kiln, numpy
    k = kiln.connect()                                   # starts the daemon when there is none
    a, b = k.from_numpy(x), k.from_numpy(y)
    c = k.empty((m, n), "f32")
    gemm = k.compile("gemm", M=m, N=n, K=kk, dtype="f32")
    gemm(A=a, B=b, C=c)
    c.numpy()

Standard library only; NumPy is optional. One client may be shared by threads, and used on both sides of a ``fork``: the child
connects by itself. A daemon that died is started again by the next request, and arrays live on.
"""

from __future__ import annotations

import json
import os

from . import errors
from ._arrays import Array, numpy_dtype_name
from ._connection import Connection, default_socket
from ._printed import Milliseconds
from .errors import KilnError

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers only: importing it takes a fifth of this package's start
    from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

    from ._cards import CardEvent, CardMemory, Stream
    from ._connection import Progress
    from ._plans import Plan
    from ._rings import Ring

    Program = Union[str, Mapping[str, Any]]

__all__ = ["Array", "Client", "Kernel", "KilnError", "connect", "default_socket", "errors"]
__version__ = "0.1.0"


class Kernel:
    """A compiled kernel.

    Attributes:
        key: 64 hex digits, the kernel's identity.
        cached: no compile happened for it.
        info: the whole answer of ``kernel.compile``: resources, tensors, launches.
        tuning: the tuning record that chose its tunables, or ``"default"``.
    """

    def __init__(self, client: "Client", info: Dict[str, Any], request: Dict[str, Any]) -> None:
        self._client, self._request = client, request
        self.info = info
        self.key: str = info["key"]
        self.cached: bool = info["cached"]
        self.target: str = info["target"]
        self.tuning: Union[str, Dict[str, Any]] = info["tuning"]

    def __call__(self, device: str = "host", deadline_ms: Optional[int] = None, stream: Optional[Stream] = None,
                 wait: Sequence[CardEvent] = (), event: Optional[CardEvent] = None,
                 symbols: Optional[Mapping[str, int]] = None,
                 **arguments: Union[Array, CardMemory, float, int]) -> Optional[Milliseconds]:
        """Runs it on arrays, a card's memory and scalars by name; gives the milliseconds that it took on the device,
        with what the program printed as ``.printed``. A failed assert of the program is errors.AssertionFailed.

        Args:
            stream: of :meth:`Client.create_stream`; launches of one stream run in order.
            wait: the card begins when what was recorded in these events is done.
            event: recorded behind the launch. The call returns None as soon as others can wait for it; an error after that is
                raised by the stream's next launch or :meth:`Client.synchronize`.
            symbols: values of the program's dynamic symbols, such as ``{"S": 1000}``; those that it was compiled with
                count where none is given.
        """
        params: Dict[str, Any] = {"key": self.key, "device": device, "args": self._arguments(arguments)}
        if self.info["symbols"]:
            params["symbols"] = self._symbols(symbols)
        elif symbols:
            params["symbols"] = dict(symbols)  # answered with what is wrong
        if stream is not None:
            params["stream"] = stream
        if wait:
            params["wait"] = list(wait)
        if event is not None:
            params["event"] = event
        if deadline_ms is not None:
            params["deadline_ms"] = deadline_ms
        call = self._client.connection.call
        try:
            answer, _ = call("kernel.launch", params)
        except errors.NotFound:  # a daemon that was started since, without a cache that it could write
            if call("kernel.compile", self._request)[0]["key"] != self.key:
                raise
            answer, _ = call("kernel.launch", params)
        return None if event is not None else Milliseconds.of(answer)

    def step(self, symbols: Optional[Mapping[str, int]] = None,
             **arguments: Union[Array, CardMemory, float, int]) -> Dict[str, Any]:
        """The same launch as a part of a plan (:meth:`Client.plan`)."""
        step: Dict[str, Any] = {"key": self.key, "args": self._arguments(arguments)}
        if self.info["symbols"] or symbols:
            step["symbols"] = self._symbols(symbols) if self.info["symbols"] else dict(symbols or {})
        return step

    def verify(self, device: str = "host", symbols: Optional[Mapping[str, int]] = None,
               **arguments: Union[Array, float, int]) -> Dict[str, Any]:
        """Runs it and compares what it wrote with the interpreter: ``passed`` and, a tensor each, ``error_max`` and more."""
        params: Dict[str, Any] = {**self._request, "device": device, "args": self._arguments(arguments)}
        if symbols:
            params["symbols"] = dict(symbols)
        answer, _ = self._client.connection.call("kernel.verify", params)
        return answer

    def explain(self) -> Dict[str, Any]:
        """The whole report: resources, layouts, bank conflicts, bounds, decisions, texts."""
        answer, _ = self._client.connection.call("kernel.explain", {"key": self.key})
        return answer

    def _symbols(self, given: Optional[Mapping[str, int]]) -> Dict[str, int]:
        """What is given, and the values at compilation for the rest."""
        bound = self._request["set"]
        values = {s["name"]: int(bound[s["name"]]) for s in self.info["symbols"] if s["name"] in bound}
        values.update(given or {})
        return values

    def _arguments(self, arguments: Dict[str, Any]) -> Dict[str, Any]:
        for name, value in arguments.items():
            if isinstance(value, Array) and value._client is not self._client:
                raise ValueError("%s is an array of another client" % name)
        return arguments

    def __repr__(self) -> str:
        return "kiln.Kernel(%s for %s, key %s…)" % (self.info["program"], self.target, self.key[:12])


class Client:
    """A connection to the daemon and what goes over it. Made by :func:`connect`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def compile(self, program: Program, target: str = "host", *, layouts: Optional[Mapping[str, str]] = None,
                must_hit: bool = False, explain_key: bool = False, tuned: bool = True, deadline_ms: Optional[int] = None,
                progress: Optional[Progress] = None, **bindings: Union[int, str, bool]) -> Kernel:
        """Compiles, or finds, a kernel.

        Args:
            program: a built-in's name, or a tile/1 program as a mapping (as ``json.load`` gives it).
            target: ``host``, ``gfx942`` …
            layouts: layouts of shared tiles by tile, such as ``{"As": "row_major"}``.
            must_hit: raise :class:`errors.MustHit` instead of compiling.
            tuned: False: by the program's defaults, whatever tuning records say.
            bindings: symbols, options and tunables by name: ``M=1024, dtype="f16"``.

        Raises:
            errors.ProgramInvalid: with located diagnostics; errors.CompileFailed: with the compiler's log.
        """
        request: Dict[str, Any] = {"program": program, "set": dict(bindings), "target": target}
        if layouts:
            request["layouts"] = dict(layouts)
        if not tuned:
            request["tuned"] = False
        params = dict(request)
        if must_hit:
            params["must_hit"] = True
        if explain_key:
            params["explain_key"] = True
        if deadline_ms is not None:
            params["deadline_ms"] = deadline_ms
        answer, _ = self.connection.call("kernel.compile", params, progress=progress)
        return Kernel(self, answer, request)

    def tune(self, program: Program, target: Optional[str] = None, *, device: Optional[str] = None,
             candidates: Optional[Sequence[Mapping[str, Any]]] = None, layouts: Optional[Mapping[str, str]] = None,
             arguments: Optional[Mapping[str, Union[Array, float, int]]] = None, rounds_max: Optional[int] = None,
             candidates_max: Optional[int] = None, candidate_deadline_ms: Optional[int] = None, force: bool = False,
             deadline_ms: Optional[int] = None, progress: Optional[Progress] = None,
             **bindings: Union[int, str, bool]) -> Dict[str, Any]:
        """Measures candidates and keeps the best: later compiles of the same class of sizes use it.

        Args:
            device: where to measure; default the host, or with an AMD ``target`` its emulated card (counted work, no times).
            candidates: these alone, mappings with ``name``, ``set``, ``layouts``, ``program``; default the program's tunables.
            arguments: arrays to measure on, which are only read, and scalars; default seeded normals.
            force: measure anew, whatever is known.
            bindings: symbols, options, and tunables that stay as they are.

        Returns:
            The answer of ``kernel.tune``: ``winner``, ``set``, ``ratio`` to the baseline, ``candidates`` with their verdicts.
        """
        params: Dict[str, Any] = {"program": program, "set": dict(bindings)}
        optional = {"target": target, "device": device, "candidates": candidates and list(candidates), "rounds_max": rounds_max,
                    "layouts": layouts and dict(layouts), "args": arguments and dict(arguments), "deadline_ms": deadline_ms,
                    "candidates_max": candidates_max, "candidate_deadline_ms": candidate_deadline_ms, "force": force or None}
        params.update({name: value for name, value in optional.items() if value is not None})
        return self.connection.call("kernel.tune", params, progress=progress)[0]

    def prepare(self, kernels: Sequence[Mapping[str, Any]], progress: Optional[Progress] = None) -> Dict[str, Any]:
        """Compiles many: mappings with ``program``, ``set``, ``target``. Counts of found, compiled and failed ones."""
        answer, _ = self.connection.call("kernel.prepare", {"kernels": list(kernels)}, progress=progress)
        return answer

    def empty(self, shape: Sequence[int], dtype: str = "f32") -> Array:
        """A new array in shared memory, zeroed by the system."""
        return Array(self, shape, dtype)

    def from_numpy(self, array: Any, dtype: Optional[str] = None) -> Array:
        """An array with a NumPy array's contents; ``dtype`` for bits such as bf16.

        A view of an array's own memory (``a.numpy()``, a contiguous part of it that begins at a multiple of 16 bytes) is not
        copied: both arrays are the same memory. Anything else is copied once, into shared memory.
        """
        name = dtype or numpy_dtype_name(array.dtype)
        if name is None:
            raise ValueError("NumPy dtype %s has no equal here; pass dtype=" % array.dtype)
        shared = Array.over(self, array, name)
        if shared is not None:
            return shared
        result = Array(self, array.shape, name)
        result.numpy()[...] = array
        return result

    def open_memory(self, ipc: Union[str, bytes], device: str, size: int, offset: int = 0) -> CardMemory:
        """Another process's memory of a card, by its HIP IPC handle (64 bytes, or as hex). ``offset`` counts from the
        allocation's first byte. An argument for launches on that device."""
        return _card_types().CardMemory(self.connection, "buffer.register", {"ipc": _hex(ipc), "device": device, "offset": offset, "size": size})

    def alloc_memory(self, device: str, size: int) -> CardMemory:
        """Zeroed memory of a card's own; its ``ipc`` is for ``hipIpcOpenMemHandle``. Lost when the card's process ends."""
        return _card_types().CardMemory(self.connection, "buffer.alloc", {"device": device, "size": size})

    def import_event(self, ipc: Union[str, bytes], device: str) -> CardEvent:
        """Another process's HIP event, by its IPC handle."""
        return _card_types().CardEvent(self.connection, "event.import", {"ipc": _hex(ipc), "device": device})

    def export_event(self, device: str) -> CardEvent:
        """A new event of a card; its ``ipc`` is for ``hipIpcOpenEventHandle``."""
        return _card_types().CardEvent(self.connection, "event.export", {"device": device})

    def plan(self, steps: Sequence[Mapping[str, Any]], device: str = "host") -> Plan:
        """Launches that one call runs, one after the other:
        ``k.plan([gemm.step(A=a, B=b, C=c), softmax.step(X=c, Y=y)])()``. They are checked here, and a launch more costs well under a microsecond when the plan runs on the host."""
        from ._plans import Plan as made  # not needed before: most clients start without

        return made(self.connection, [dict(step) for step in steps], device)

    def ring(self, device: str = "host", slots: int = 256) -> Ring:
        """Shared memory by which ``ring(plan)`` runs a plan without a message, in microseconds on the host."""
        from ._rings import Ring as made  # not needed before: most clients start without

        return made(self.connection, device, slots)

    def create_stream(self) -> Stream:
        """One more stream of this client, beside the one of launches that name none."""
        return _card_types().Stream(self.connection, "stream.create", {})

    def synchronize(self, stream: Optional[Stream] = None) -> None:
        """Waits for a stream's launches; raises the first error of those that had returned when they were enqueued."""
        self.connection.call("stream.synchronize", {} if stream is None else {"stream": stream})

    def run(self, program: Program, target: str = "host", *, arguments: Mapping[str, Any], **bindings: Any) -> float:
        """Compiles and runs in one call; milliseconds on the device."""
        return self.compile(program, target, **bindings)(**arguments)

    def check(self, program: Program, **bindings: Any) -> Dict[str, Any]:
        """All diagnostics of a program; with bindings also those of the binding. ``ok`` tells."""
        params: Dict[str, Any] = {"program": program}
        if bindings:
            params["set"] = bindings
        answer, _ = self.connection.call("program.check", params)
        return answer

    def programs(self) -> List[str]:
        """Names of the built-in programs."""
        return list(self.connection.call("program.list")[0]["programs"])

    def devices(self) -> List[Dict[str, Any]]:
        return list(self.connection.call("device.list")[0]["devices"])

    def stats(self) -> Dict[str, Any]:
        """Counters of the daemon, its workers and its cache."""
        return self.connection.call("engine.stats")[0]

    def shutdown(self) -> None:
        """Ends the daemon: no new work, running work gets 10 s."""
        self.connection.call("shutdown")

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def connect(socket: Optional[str] = None, auto_start: bool = True, daemon_arguments: Sequence[str] = ()) -> Client:
    """Connects to the daemon; starts one when none answers and ``auto_start``.

    Args:
        socket: its path; default as for every Kiln program (``KILN_SOCKET``, ``XDG_RUNTIME_DIR``, ``/tmp/kiln-<uid>``).
        daemon_arguments: further arguments for a daemon that is started here.
    """
    return Client(Connection(socket, auto_start, daemon_arguments))


def _card_types() -> Any:
    from . import _cards as module  # not needed before: most clients start without

    return module


def _hex(ipc: Union[str, bytes]) -> str:
    return ipc if isinstance(ipc, str) else bytes(ipc).hex()


def load_program(path: Union[str, "os.PathLike[str]"]) -> Dict[str, Any]:
    """A tile program from a file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)
