"""Submission rings: plans are run by shared memory, without a message (PROTOCOL.md, "Submission ring")."""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import threading
import time

from . import errors
from ._connection import Registration
from ._printed import Milliseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional

    from ._connection import Connection
    from ._plans import Plan

_SUBMITTED, _READ, _CLIENT_SLEEPS, _TAKEN, _COMPLETED, _CONSUMER_SLEEPS = 64, 68, 72, 128, 132, 136
_ENTRY, _HEADER = 32, 4096
_AWAKE_S = 50e-6
_LOOKS = 30  # some microseconds
_FAILURES = {1: "no such plan is attached to the ring", 2: "it was cancelled", 3: "the device was lost",
             4: "a launch failed"}


class Ring:
    """Runs plans of one device: ``ring(plan)``. Made by :meth:`Client.ring`; threads may share it, one run at a time.

    What a ring does not take, and everything once it has ended with its device's process or its daemon, is run over the
    socket, as ``plan()`` does.
    """

    def __init__(self, connection: Connection, device: str, slots: int) -> None:
        self._connection, self._lock, self._fence = connection, threading.Lock(), threading.Lock()
        self._memory: Optional[mmap.mmap] = None
        self._submitted = self._read = self._serial = 0
        self._attached: Dict[int, bool] = {}
        try:
            answer, fds = connection.call("ring.create", {"device": device, "slots": slots})
        except errors.MethodNotFound:
            return  # a daemon without rings
        self._registration = Registration(-1, answer["ring"], "ring.create", {}, "ring", "ring.release")
        connection.hold(self._registration)
        self._slots, self._pid = answer["slots"], os.getpid()
        self._bell = socket.socket(fileno=fds[1])
        self._bell.setblocking(False)
        try:
            self._memory = mmap.mmap(fds[0], answer["bytes"])
            self._words = memoryview(self._memory).cast("I")
        finally:
            os.close(fds[0])

    @property
    def ended(self) -> bool:
        """Whether runs go over the socket."""
        return self._memory is None or self._pid != os.getpid()

    def __call__(self, plan: Plan) -> Milliseconds:
        """Runs the plan and waits for its end; the milliseconds that it took on the device. Raises what ``plan()``
        does; errors.DeviceLost where the ring ended and it is not known whether the plan ran."""
        if plan._connection is not self._connection:
            raise ValueError("the plan is of another client than the ring")
        with self._lock:
            if self.ended or not self._takes(plan):
                return plan()
            self._submit(plan.number)
            try:
                if self._wait():
                    return self._completion()
            except KeyboardInterrupt:  # nobody takes the completion that is still to come
                self._end()
                raise
            taken = self._load(_TAKEN) == self._submitted
            self._end()
        if not taken:
            return plan()
        raise errors.DeviceLost("the ring ended with its device's process while the plan may have run", retryable=True)

    def free(self) -> None:
        """Gives it back, with the next request. Further runs go over the socket."""
        with self._lock:
            if self._memory is not None:
                self._end()

    def __del__(self) -> None:
        if getattr(self, "_memory", None) is not None:
            self._end()

    def _takes(self, plan: Plan) -> bool:
        number = plan.number
        if number not in self._attached:
            try:
                self._connection.call("ring.attach", {"ring": self._registration.id, "plan": plan})
                self._attached[number] = True
            except errors.Unsupported:
                self._attached[number] = False
            except errors.KilnError:
                if self._bell_is_open():
                    raise
                self._end()  # with its device's process or its daemon, which the plan has outlived
                return False
        return self._attached[number]

    def _submit(self, plan: int) -> None:
        self._serial += 1
        place = _HEADER + _ENTRY * (self._submitted % self._slots)
        self._memory[place:place + 24] = struct.pack("<QQQ", self._serial, plan, 0)
        self._submitted = (self._submitted + 1) & 0xFFFFFFFF
        self._store(_SUBMITTED, self._submitted)
        self._wake()

    def _completion(self) -> Milliseconds:
        place = _HEADER + _ENTRY * (self._slots + self._read % self._slots)
        serial, duration_ns, status = struct.unpack("<QQQ", self._memory[place:place + 24])
        self._read = (self._read + 1) & 0xFFFFFFFF
        self._store(_READ, self._read)
        self._wake()
        if serial != self._serial:
            raise errors.ProtocolError("a completion of another submission than the one that was made")
        if status == 3:
            raise errors.DeviceLost(_FAILURES[3], retryable=True)
        if status != 0:
            what = _FAILURES.get(status, "status %d" % status)
            raise errors.LaunchFailed("the plan's run failed: %s; plan() tells more" % what)
        return Milliseconds(duration_ns / 1e6)

    def _wait(self) -> bool:
        """False: the ring has ended."""
        end = time.perf_counter() + _AWAKE_S
        while time.perf_counter() < end:
            for _ in range(_LOOKS):
                if self._load(_COMPLETED) != self._read:
                    return True
            os.sched_yield()  # the device's process may be waiting for this very processor
        is_open = True
        while is_open and self._load(_COMPLETED) == self._read:
            self._store(_CLIENT_SLEEPS, 1)
            self._full_fence()
            if self._load(_COMPLETED) == self._read:
                poll = select.poll()
                poll.register(self._bell, select.POLLIN)
                poll.poll()
                is_open = self._bell_is_open()
            self._store(_CLIENT_SLEEPS, 0)
        return self._load(_COMPLETED) != self._read

    def _bell_is_open(self) -> bool:
        """Takes what was rung."""
        try:
            while True:
                if not self._bell.recv(256):
                    return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _wake(self) -> None:
        self._full_fence()
        if self._load(_CONSUMER_SLEEPS):
            try:
                self._bell.send(b"\0", socket.MSG_NOSIGNAL)
            except OSError:
                pass  # full of others, or the end, which the wait sees

    def _full_fence(self) -> None:
        """A store before it is seen before a load behind it is made: taking a lock is an atomic operation, which orders
        them on the processors that Kiln's device processes run on."""
        with self._fence:
            pass

    def _load(self, word: int) -> int:
        return self._words[word // 4]

    def _store(self, word: int, value: int) -> None:
        self._words[word // 4] = value

    def _end(self) -> None:
        """The daemon forgets it with the next request."""
        self._words.release()
        self._memory.close()
        self._bell.close()
        self._memory = None
        self._connection.drop(self._registration)
