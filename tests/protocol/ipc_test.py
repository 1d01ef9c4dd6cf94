"""Memory of a card that client and daemon share: HIP IPC handles between processes, on the emulated card."""

import ctypes
import fcntl
import os
import random
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from card import COLUMNS, COUNT, DEVICE, SIZE, SOFTMAX, VALUES, CardCase, Owner
from service import Service, until


class Ipc(CardCase):
    # ---- what is asked for ----------------------------------------------------------------------------------------
    def test_verify_reads_the_cards_memory(self):
        y, args = self.operands()
        answer = self.ok("kernel.verify", dict(SOFTMAX, args=args))
        self.assertTrue(answer["passed"], answer)
        self.assert_softmax(y)

    def test_the_cards_own_memory_is_answered_by_a_handle(self):
        made = self.ok("buffer.alloc", {"size": 2 * SIZE, "device": DEVICE})
        self.assertEqual((made["device"], made["allocated"], made["writable"], made["copied"]), (DEVICE, True, True, False))
        ours = self.hip.open_memory(made["ipc"])
        self.assertEqual(self.hip.read_floats(ours, 2 * COUNT), [0.0] * (2 * COUNT))
        self.hip.call("hipMemcpyDtoD", ours, self.hip.floats(VALUES), SIZE)
        args = {"X": {"buffer": made["buffer"]}, "Y": {"buffer": made["buffer"], "offset": SIZE}}
        self.ok("kernel.launch", dict(SOFTMAX, args=args))
        self.assertAlmostEqual(sum(self.hip.read_floats(ours, 2 * COUNT)[COUNT:COUNT + COLUMNS]), 1.0, places=4)
        # HIP opens handles of other processes only, and says so.
        error = self.refused("invalid_argument", "buffer.register", {"ipc": made["ipc"], "device": DEVICE, "offset": 0, "size": SIZE})
        self.assertIn("own memory", error["message"])

    def test_a_descriptor_of_the_cards_memory(self):
        x, y = self.hip.floats(VALUES), self.hip.floats([-1.0] * COUNT)
        args = {}
        for name, memory in (("X", x), ("Y", y)):
            fd = self.hip.descriptor(memory, SIZE)
            answer = self.ok("buffer.register", {"fd": {"fd": 0}, "device": DEVICE, "size": SIZE}, fds=[fd])
            self.assertEqual((answer["device"], answer["bytes"]), (DEVICE, SIZE))
            os.close(fd)
            args[name] = {"buffer": answer["buffer"]}
        self.ok("kernel.launch", dict(SOFTMAX, args=args))
        self.assert_softmax(y)

    def test_the_same_handle_twice_is_one_mapping_with_a_count(self):
        x = self.hip.floats(VALUES + [-1.0] * COUNT)
        first, second = self.register(x, 2 * SIZE), self.register(x, SIZE, SIZE)
        args = {"X": {"buffer": first}, "Y": {"buffer": second}}
        self.ok("kernel.launch", dict(SOFTMAX, args=args))
        self.ok("buffer.unregister", {"buffer": first})
        again = self.register(x, SIZE)
        self.ok("kernel.launch", dict(SOFTMAX, args={"X": {"buffer": again}, "Y": {"buffer": second}}))
        self.assertAlmostEqual(sum(self.hip.read_floats(x, 2 * COUNT)[COUNT:COUNT + COLUMNS]), 1.0, places=4)

    # ---- what is refused ------------------------------------------------------------------------------------------
    def test_parameters(self):
        x = self.hip.floats(VALUES)
        handle = self.hip.memory_handle(x)
        whole = {"ipc": handle, "device": DEVICE, "offset": 0, "size": SIZE}
        for missing in ("device", "offset", "size"):
            self.refused("invalid_argument", "buffer.register", {k: v for k, v in whole.items() if k != missing})
        for name, value in (("ipc", handle[:-2]), ("ipc", "g" + handle[1:]), ("ipc", 7), ("offset", -1), ("size", 0), ("size", 1.5)):
            self.refused("invalid_argument", "buffer.register", dict(whole, **{name: value}))
        self.refused("invalid_argument", "buffer.register", {})
        self.refused("unsupported", "buffer.register", dict(whole, device="host"))
        self.refused("unsupported", "buffer.alloc", {"size": 64, "device": "host"})
        self.refused("unsupported", "event.export", {"device": "host"})
        self.refused("unknown_target", "buffer.register", dict(whole, device="emu:gfx1"))
        self.refused("invalid_argument", "event.import", {"ipc": handle, "device": DEVICE})  # of memory, not of an event
        self.refused("invalid_argument", "buffer.register", dict(whole, ipc=self.hip.event_handle(self.hip.event())))

    def test_random_and_damaged_handles(self):
        seed = int(os.environ.get("KILN_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        generator = random.Random(seed)
        memory, event = self.hip.memory_handle(self.hip.floats(VALUES)), self.hip.event_handle(self.hip.event())
        again = "KILN_TEST_SEED=%d python3 %s Ipc.test_random_and_damaged_handles" % (seed, os.path.relpath(__file__))
        before = self.device_processes()
        for round in range(150):
            bits = bytearray(bytes.fromhex(generator.choice((memory, event)))) if round % 3 else bytearray(generator.randbytes(64))
            for _ in range(generator.randrange(1, 4)):
                bits[generator.randrange(64)] ^= 1 << generator.randrange(8)
            handle = bits.hex()
            for method, more in (("buffer.register", {"offset": 0, "size": SIZE}), ("event.import", {})):
                answer = self.connection.call(method, dict(more, ipc=handle, device=DEVICE))
                if "result" in answer:  # bits that name nothing: the card's number, where the pointer lies in its allocation
                    given = answer["result"]
                    self.ok("buffer.unregister" if "buffer" in given else "event.release", {k: given[k] for k in ("buffer", "event") if k in given})
                else:
                    self.assertIn(answer["error"]["data"]["code"], ("invalid_argument", "not_found", "permission_denied"), (again, answer))
        self.assertEqual(self.device_processes(), before, again)  # nothing of it ended the card's process
        y, args = self.operands()
        self.ok("kernel.launch", dict(SOFTMAX, args=args))
        self.assert_softmax(y)

    def test_ranges_are_checked_against_the_allocation(self):
        x = self.hip.floats(VALUES)
        handle = self.hip.memory_handle(x)
        for offset, size in ((0, SIZE + 1), (1, SIZE), (SIZE, 1), ((1 << 53) - 1, (1 << 53) - 1), (SIZE + 4096, 4)):
            used = self.memory_used()
            answer = self.connection.call("buffer.register", {"ipc": handle, "device": DEVICE, "offset": offset, "size": size})
            self.assertIn(answer["error"]["data"]["code"], ("invalid_argument", "resource_limit"), answer)
            self.assertEqual(self.memory_used(), used)
        # An inner pointer's handle names the same allocation: the offset counts from its first byte.
        inner = self.hip.memory_handle(ctypes.c_void_p(x.value + 256))
        self.register(inner, SIZE)
        self.refused("invalid_argument", "buffer.register", {"ipc": inner, "device": DEVICE, "offset": SIZE - 256, "size": 512})
        # A tensor that does not fit into the buffer's range.
        y, args = self.operands()
        args["Y"] = {"buffer": self.register(x, SIZE - 4)}
        self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, args=args))

    def test_what_is_written_overlaps_nothing(self):
        x = self.hip.floats(VALUES + [0.0] * COUNT)
        inner = self.hip.memory_handle(ctypes.c_void_p(x.value + 64))
        whole, same, other = self.register(x, 2 * SIZE), self.register(x, 2 * SIZE), self.register(inner, 2 * SIZE)
        for second in (whole, same, other):
            error = self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, args={"X": {"buffer": whole}, "Y": {"buffer": second, "offset": SIZE - 64}}))
            self.assertIn("overlaps", error["message"])
            self.ok("kernel.launch", dict(SOFTMAX, args={"X": {"buffer": whole}, "Y": {"buffer": second, "offset": SIZE}}))

    def test_freed_memory(self):
        x = self.hip.floats(VALUES)
        handle = self.hip.memory_handle(x)
        self.hip.call("hipFree", x)
        self.refused("not_found", "buffer.register", {"ipc": handle, "device": DEVICE, "offset": 0, "size": SIZE})

    def test_memory_and_events_are_of_one_card(self):
        y, args = self.operands()
        event = self.import_event(self.hip.event())
        for device in ("host", "emu:gfx90a"):
            error = self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, device=device, args=args))
            self.assertIn(DEVICE, error["message"])
        made = self.ok("buffer.alloc", {"size": 2 * SIZE, "device": "emu:gfx90a"})["buffer"]
        there = {"X": {"buffer": made}, "Y": {"buffer": made, "offset": SIZE}}
        error = self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, device="emu:gfx90a", args=there, wait=[event]))
        self.assertEqual(error["data"]["diagnostics"][0]["pointer"], "/params/wait/0")
        self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, device="emu:gfx90a", args=there, event=event))

    def test_limits(self):
        limits = self.ok("hello")["limits"]
        self.assertEqual((limits["streams_max"], limits["events_max"]), (16, 1024))
        with Service(config={"limits": {"streams_max": 2, "events_max": 1, "buffer_bytes_max": 3 * SIZE}}) as small:
            connection = small.connect()
            for _ in range(2):
                stream = self.ok("stream.create", connection=connection)["stream"]
            self.refused("resource_limit", "stream.create", connection=connection)
            self.ok("stream.release", {"stream": stream}, connection)
            self.ok("stream.create", connection=connection)
            event = self.import_event(self.hip.event(), connection)
            self.refused("resource_limit", "event.export", {"device": DEVICE}, connection)
            self.ok("event.release", {"event": event}, connection)
            self.ok("event.export", {"device": DEVICE}, connection)
            made = self.ok("buffer.alloc", {"size": 2 * SIZE, "device": DEVICE}, connection)["buffer"]
            handle = self.hip.memory_handle(self.hip.floats(VALUES + VALUES))
            params = {"ipc": handle, "device": DEVICE, "offset": 0, "size": 2 * SIZE}
            self.refused("resource_limit", "buffer.register", params, connection)
            self.ok("buffer.unregister", {"buffer": made}, connection)
            self.ok("buffer.register", params, connection)
            connection.close()

    # ---- what goes wrong on the way -------------------------------------------------------------------------------
    def test_the_owner_of_the_memory_is_killed_while_a_launch_waits(self):
        owner = Owner()
        y = self.hip.floats([-1.0] * COUNT)
        args = {"X": {"buffer": self.register(owner.memory)}, "Y": {"buffer": self.register(y)}}
        stream, flag = self.hip.busy()
        ready, done = self.hip.event(), self.hip.event()
        self.hip.record(ready, stream)
        self.ok("kernel.launch", dict(SOFTMAX, args=args, wait=[self.import_event(ready)], event=self.import_event(done)))
        owner.kill()
        flag.value = 1
        self.hip.call("hipEventSynchronize", done)
        self.ok("stream.synchronize")
        self.assert_softmax(y)  # the memory lives as long as the card has it open
        self.ok("buffer.unregister", {"buffer": args["X"]["buffer"]})
        self.refused("not_found", "buffer.register", {"ipc": owner.memory, "device": DEVICE, "offset": 0, "size": SIZE})

    def test_a_connection_that_goes_takes_its_waiting_launches_along(self):
        used = self.memory_used()
        owner = Owner()
        self.addCleanup(owner.kill)
        other = self.connect()
        y, args = self.operands(other)
        for early in (False, True):
            event = self.import_event(owner.event, other)
            params = dict(SOFTMAX, args=args, wait=[event])
            if early:
                params["stream"] = self.ok("stream.create", connection=other)["stream"]
                self.ok("kernel.launch", dict(params, event=self.import_event(self.hip.event(), other)), other)
            else:
                other.send({"jsonrpc": "2.0", "id": 80, "method": "kernel.launch", "params": params})
        other.close()
        until(lambda: self.memory_used() == used, what="the memory of the connection that went")

    def test_the_cards_process_is_killed(self):
        y, args = self.operands()
        event = self.import_event(self.hip.event())
        own = self.ok("event.export", {"device": DEVICE})["event"]
        made = self.ok("buffer.alloc", {"size": 2 * SIZE, "device": DEVICE})["buffer"]
        there = {"X": {"buffer": made}, "Y": {"buffer": made, "offset": SIZE}}
        self.ok("kernel.launch", dict(SOFTMAX, args=there))
        for pid in self.device_processes():
            os.kill(pid, 9)
        until(lambda: not self.device_processes(), what="the device process's end")

        def launch(**more):
            return self.connection.call("kernel.launch", dict(SOFTMAX, **more))

        # What is others' is opened again; what was the process's own is lost, for good.
        until(lambda: "result" in launch(args=args, wait=[event]), what="a launch on the new process")
        self.assert_softmax(y)
        for _ in range(2):
            error = launch(args=there)["error"]
            self.assertEqual((error["data"]["code"], error["data"]["retryable"]), ("device_lost", False))
            self.assertIn("allocate it again", error["message"])
            error = launch(args=args, wait=[own])["error"]
            self.assertEqual(error["data"]["code"], "device_lost")
        self.ok("buffer.unregister", {"buffer": made})
        self.ok("event.release", {"event": own})
        # Memory that was freed meanwhile cannot be opened again: the launch that uses it says so.
        x2 = self.hip.floats(VALUES)
        args2 = dict(args, X={"buffer": self.register(x2)})
        self.hip.call("hipFree", x2)
        for pid in self.device_processes():
            os.kill(pid, 9)
        until(lambda: not self.device_processes(), what="the device process's end")
        until(lambda: "result" in launch(args=args), what="a launch on the new process")
        error = launch(args=args2)["error"]
        self.assertIn("not restored", "\n".join(error["data"]["context"]))

    # ---- memory that takes long -----------------------------------------------------------------------------------
    def shared_bytes(self):
        """What the card's process has of shared memory in its page tables."""
        total = 0
        for pid in self.device_processes():
            with open("/proc/%d/status" % pid) as file:
                total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("RssShmem:"))
        return total

    def test_allocating_touches_no_memory(self):
        size = 1 << 30
        self.ok("buffer.alloc", {"size": SIZE, "device": DEVICE})
        before = self.shared_bytes()
        made = self.ok("buffer.alloc", {"size": size, "device": DEVICE})
        self.assertLess(self.shared_bytes() - before, size // 64)
        ours = self.hip.open_memory(made["ipc"])
        self.assertEqual(self.hip.read_floats(ours, COUNT), [0.0] * COUNT)

    def test_what_waits_for_the_cards_process_is_stopped(self):
        x = self.hip.floats(VALUES)
        self.ok("buffer.alloc", {"size": SIZE, "device": DEVICE})
        used = self.memory_used()
        requests = [("buffer.alloc", {"size": 1 << 20}), ("event.export", {}), ("event.import", {"ipc": self.hip.event_handle(self.hip.event())}),
                    ("buffer.register", {"ipc": self.hip.memory_handle(x), "offset": 0, "size": SIZE})]
        before = self.device_processes()
        for method, params in requests:
            for pid in before:
                os.kill(pid, signal.SIGSTOP)
            self.refused("deadline_exceeded", method, dict(params, device=DEVICE, deadline_ms=50))
            self.connection.send({"jsonrpc": "2.0", "id": 50, "method": method, "params": dict(params, device=DEVICE)})
            self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 50}})
            self.assertEqual(self.connection.answer()["error"]["data"]["code"], "cancelled", method)
            for pid in before:
                os.kill(pid, signal.SIGCONT)
        # What was made all the same is given back.
        until(lambda: self.memory_used() == used, what="the memory of requests that were stopped")
        self.ok("buffer.alloc", {"size": SIZE, "device": DEVICE})
        self.assertEqual(self.device_processes(), before)

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.service.process.pid))

    def test_requests_that_were_stopped_leave_nothing_behind(self):
        """However many a client asks for and gives up while the card's process does not answer."""
        self.ok("buffer.alloc", {"size": SIZE, "device": DEVICE})
        used, count = self.memory_used(), 300
        fd = os.memfd_create("given")
        os.truncate(fd, SIZE)
        before, open_before = self.device_processes(), self.descriptors()
        for pid in before:
            os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(count):
                params = {"fd": {"fd": 0}, "device": DEVICE, "size": SIZE, "deadline_ms": 0}
                answer = self.connection.call("buffer.register", params, [fd])
                self.assertEqual(answer["error"]["data"]["code"], "deadline_exceeded", answer)
            self.assertLess(self.descriptors(), open_before + count // 4)
        finally:
            for pid in before:
                os.kill(pid, signal.SIGCONT)
            os.close(fd)
        until(lambda: self.descriptors() <= open_before, what="the descriptors of what was begun")
        until(lambda: self.memory_used() == used, what="the memory of what was begun")
        self.assertEqual(self.device_processes(), before)

    def test_memory_that_cannot_be_written_is_no_cards(self):
        for seals in (fcntl.F_SEAL_WRITE, 0x10):  # F_SEAL_FUTURE_WRITE
            fd = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
            os.truncate(fd, 2 * SIZE)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | seals)
            answer = self.connection.call("buffer.register", {"fd": {"fd": 0}, "device": DEVICE, "size": SIZE}, [fd])
            self.assertEqual(answer["error"]["data"]["code"], "invalid_argument", answer)
            self.assertIn("sealed against writing", answer["error"]["message"])
            self.assertFalse(self.ok("buffer.register", {"fd": {"fd": 0}}, fds=[fd])["writable"])  # without a device: input
            os.close(fd)


if __name__ == "__main__":
    unittest.main()
