"""Memory and events of a card that client and daemon share: HIP IPC handles between processes, on the emulated card."""

import os
import random
import signal
import subprocess
import sys
import unittest

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
sys.path.insert(0, SUPPORT)
from hip import LIBRARY, Hip, HipError
from service import Service, until

DEVICE = "emu:gfx942"
ROWS, COLUMNS = 4, 64
COUNT = ROWS * COLUMNS
SIZE = COUNT * 4
SOFTMAX = {"program": "softmax", "set": {"M": ROWS, "N": COLUMNS}, "device": DEVICE}
VALUES = [float(i % 9 - 4) for i in range(COUNT)]


def stat_fields(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(")")[2].split()


def children(pid):
    """Processes of a daemon by name: {pid: command line}."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if int(stat_fields(int(name))[1]) == pid:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    found[int(name)] = file.read().decode(errors="replace")
        except (OSError, IndexError):
            pass
    return found


class Owner:
    """A second process with memory, and an event that is recorded behind a kernel that does not end."""

    def __init__(self, count=COUNT):
        self.process = subprocess.Popen([sys.executable, os.path.join(SUPPORT, "hip.py"), str(count)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.memory, self.event = self.process.stdout.readline().split()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class Ipc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hip = Hip()
        cls.service = Service()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def setUp(self):
        self.connection = self.connect()
        until(lambda: self.memory_used() == 0, what="the memory of earlier connections")

    def connect(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        return connection

    def ok(self, method, params=None, connection=None, fds=()):
        answer = (connection or self.connection).call(method, params, fds)
        self.assertIn("result", answer, answer)
        return answer["result"]

    def refused(self, code, method, params=None, connection=None):
        answer = (connection or self.connection).call(method, params)
        self.assertIn("error", answer, answer)
        self.assertEqual(answer["error"]["data"]["code"], code, answer["error"])
        return answer["error"]

    def register(self, memory, size=SIZE, offset=0, connection=None, device=DEVICE):
        handle = memory if isinstance(memory, str) else self.hip.memory_handle(memory)
        return self.ok("buffer.register", {"ipc": handle, "device": device, "offset": offset, "size": size}, connection)["buffer"]

    def import_event(self, event, connection=None):
        handle = event if isinstance(event, str) else self.hip.event_handle(event)
        return self.ok("event.import", {"ipc": handle, "device": DEVICE}, connection)["event"]

    def operands(self, connection=None):
        """X and Y of a softmax in this process's memory of the card: (pointer of Y, arguments)."""
        x, y = self.hip.floats(VALUES), self.hip.floats([-1.0] * COUNT)
        return y, {"X": {"buffer": self.register(x, connection=connection)}, "Y": {"buffer": self.register(y, connection=connection)}}

    def assert_softmax(self, y):
        got = self.hip.read_floats(y, COUNT)
        for row in range(ROWS):
            self.assertAlmostEqual(sum(got[row * COLUMNS:(row + 1) * COLUMNS]), 1.0, places=4)
        self.assertLess(max(got), 0.2)

    def device_processes(self):
        return {pid for pid, line in children(self.service.process.pid).items() if "kiln-device-hip" in line and "gfx942" in environment(pid)}

    def memory_used(self):
        return self.ok("engine.stats")["service"]["buffer_bytes"]

    # ---- what is asked for ----------------------------------------------------------------------------------------
    def test_a_gemm_in_the_clients_own_memory_ordered_by_events(self):
        m, n, k = 48, 32, 64
        a = [float(i % 7 - 3) for i in range(m * k)]
        b = [float(i % 5 - 2) for i in range(k * n)]
        memory = {"A": self.hip.floats(a), "B": self.hip.floats(b), "C": self.hip.floats([-1.0] * (m * n))}
        sizes = {"A": m * k * 4, "B": k * n * 4, "C": m * n * 4}
        args = {name: {"buffer": self.register(memory[name], sizes[name])} for name in memory}
        stream, flag = self.hip.busy()
        ready, done = self.hip.event(), self.hip.event()
        self.hip.record(ready, stream)
        launch = {"program": "gemm", "set": {"M": m, "N": n, "K": k, "dtype": "f32"}, "device": DEVICE, "args": args,
                  "wait": [self.import_event(ready)], "event": self.import_event(done)}
        answer = self.ok("kernel.launch", launch)
        self.assertTrue(answer["enqueued"])
        # The launch waits for our stream; its event is recorded, so that our other stream waits for it.
        other = self.hip.stream()
        self.hip.call("hipStreamWaitEvent", other, done, 0)
        self.assertEqual(self.hip.library.hipStreamQuery(other), 600)  # hipErrorNotReady
        self.assertEqual(self.hip.read_floats(memory["C"], m * n), [-1.0] * (m * n))
        flag.value = 1
        self.hip.call("hipStreamSynchronize", other)
        want = [sum(a[i * k + j] * b[j * n + c] for j in range(k)) for i in range(m) for c in range(n)]
        self.assertEqual(self.hip.read_floats(memory["C"], m * n), want)
        self.ok("stream.synchronize")

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

    def test_events_of_the_card_order_this_process(self):
        y, args = self.operands()
        made = self.ok("event.export", {"device": DEVICE})
        event = self.event_from(made["ipc"])
        ready = self.hip.event()
        stream, flag = self.hip.busy()
        self.hip.record(ready, stream)
        self.ok("kernel.launch", dict(SOFTMAX, args=args, wait=[self.import_event(ready)], event=made["event"]))
        self.assertEqual(self.hip.library.hipEventQuery(event), 600)
        flag.value = 1
        self.hip.call("hipEventSynchronize", event)
        self.assert_softmax(y)

    def event_from(self, text):
        import ctypes

        from hip import Handle
        event = ctypes.c_void_p()
        self.hip.call("hipIpcOpenEventHandle", ctypes.byref(event), Handle.of(text))
        return event

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
        import ctypes
        inner = self.hip.memory_handle(ctypes.c_void_p(x.value + 256))
        self.register(inner, SIZE)
        self.refused("invalid_argument", "buffer.register", {"ipc": inner, "device": DEVICE, "offset": SIZE - 256, "size": 512})
        # A tensor that does not fit into the buffer's range.
        y, args = self.operands()
        args["Y"] = {"buffer": self.register(x, SIZE - 4)}
        self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, args=args))

    def test_what_is_written_overlaps_nothing(self):
        import ctypes
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

    def test_events_and_streams_belong_to_their_connection(self):
        other = self.connect()
        event = self.import_event(self.hip.event(), other)
        stream = self.ok("stream.create", connection=other)["stream"]
        y, args = self.operands()
        for params in ({"wait": [event]}, {"event": event}, {"wait": ["1"]}, {"wait": [-1]}, {"wait": [0]}, {"event": 1.5}):
            self.refused("invalid_argument", "kernel.launch", dict(SOFTMAX, args=args, **params))
        self.refused("not_found", "event.release", {"event": event})
        for method in ("stream.release", "stream.cancel", "stream.synchronize"):
            self.refused("not_found", method, {"stream": stream})
        self.refused("not_found", "kernel.launch", dict(SOFTMAX, args=args, stream=stream))
        self.assertEqual(self.ok("engine.stats")["service"]["events"], 1)
        other.close()
        until(lambda: self.ok("engine.stats")["service"]["events"] == 0, what="the other connection's event to go")

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
    def test_an_event_that_was_never_recorded_holds_nobody_up(self):
        y, args = self.operands()
        self.ok("kernel.launch", dict(SOFTMAX, args=args, wait=[self.import_event(self.hip.event())]))
        self.assert_softmax(y)

    def test_a_launch_that_waits_for_ever_is_cancelled(self):
        owner = Owner()
        self.addCleanup(owner.kill)
        y, args = self.operands()
        event = self.import_event(owner.event)
        before = self.device_processes()
        second = self.connect()

        def launches():
            return self.ok("engine.stats", connection=second)["service"]["launches"]

        so_far = launches()
        self.connection.send({"jsonrpc": "2.0", "id": 50, "method": "kernel.launch", "params": dict(SOFTMAX, args=args, wait=[event])})
        until(lambda: launches() > so_far, what="the launch")
        # Others go on meanwhile, on this card.
        y2, args2 = self.operands(second)
        self.ok("kernel.launch", dict(SOFTMAX, args=args2), second)
        self.assert_softmax(y2)
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 50}})
        self.assertEqual(self.connection.answer()["error"]["data"]["code"], "cancelled")
        self.refused("deadline_exceeded", "kernel.launch", dict(SOFTMAX, args=args, wait=[event], deadline_ms=50))
        # One that was answered is cancelled with its stream, and is no error of its.
        done = self.import_event(self.hip.event())
        self.ok("kernel.launch", dict(SOFTMAX, args=args, wait=[event], event=done))
        self.assertEqual(self.ok("stream.cancel"), {"cancelled": 1})
        self.ok("stream.synchronize")
        self.ok("kernel.launch", dict(SOFTMAX, args=args))
        self.assert_softmax(y)
        self.assertEqual(self.device_processes(), before)  # all of it without ending the card's process

    def test_an_event_whose_owner_dies(self):
        y, args = self.operands()
        for early in (False, True):
            owner = Owner()
            event = self.import_event(owner.event)
            params = dict(SOFTMAX, args=args, wait=[event])
            if not early:
                self.connection.send({"jsonrpc": "2.0", "id": 60, "method": "kernel.launch", "params": params})
                self.ok("ping", connection=self.connect())
                owner.kill()
                error = self.connection.answer()["error"]
            else:
                self.ok("kernel.launch", dict(params, event=self.import_event(self.hip.event())))
                owner.kill()
                error = self.refused("launch_failed", "kernel.launch", dict(SOFTMAX, args=args))  # the next one tells, and does not run
            self.assertEqual(error["data"]["code"], "launch_failed")
            self.assertIn("has ended", "\n".join(error["data"]["context"]))
            self.ok("kernel.launch", dict(SOFTMAX, args=args))  # once
            self.assert_softmax(y)

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

    def test_streams_run_side_by_side_and_in_order(self):
        stream, flag = self.hip.busy()
        ready = self.hip.event()
        self.hip.record(ready, stream)
        event = self.import_event(ready)
        slow, fast = (self.ok("stream.create")["stream"] for _ in range(2))
        ys, yf = self.operands(), self.operands()
        self.connection.send({"jsonrpc": "2.0", "id": 70, "method": "kernel.launch", "params": dict(SOFTMAX, args=ys[1], stream=slow, wait=[event])})
        self.connection.send({"jsonrpc": "2.0", "id": 71, "method": "stream.synchronize", "params": {"stream": slow}})
        self.connection.send({"jsonrpc": "2.0", "id": 72, "method": "buffer.unregister", "params": {"buffer": ys[1]["X"]["buffer"]}})
        # The buffer's end takes its turn behind the slow launch, and this launch behind that.
        self.connection.send({"jsonrpc": "2.0", "id": 73, "method": "kernel.launch", "params": dict(SOFTMAX, args=yf[1], stream=fast)})
        self.connection.send({"jsonrpc": "2.0", "id": 74, "method": "ping"})
        self.assertEqual(self.connection.answer()["id"], 74)
        other = self.connect()
        y, args = self.operands(other)
        self.ok("kernel.launch", dict(SOFTMAX, args=args), other)
        flag.value = 1
        answers = [self.connection.answer() for _ in range(4)]
        self.assertTrue(all("result" in a for a in answers), answers)
        order = [a["id"] for a in answers]
        self.assertEqual(order[0], 70)
        self.assertLess(order.index(72), order.index(73))
        for memory in (ys[0], yf[0], y):
            self.assert_softmax(memory)

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

    def test_a_daemon_that_ends_lets_enqueued_launches_finish(self):
        with Service() as service:
            connection = service.connect()
            y, args = self.operands(connection)
            stream, flag = self.hip.busy()
            ready, done = self.hip.event(), self.hip.event()
            self.hip.record(ready, stream)
            self.ok("kernel.launch", dict(SOFTMAX, args=args, wait=[self.import_event(ready, connection)], event=self.import_event(done, connection)), connection)
            service.process.send_signal(signal.SIGTERM)
            until(lambda: connection.call("ping").get("error", {}).get("data", {}).get("code") == "busy", what="the daemon to end")
            self.assertEqual(self.hip.library.hipEventQuery(done), 600)  # it waits
            flag.value = 1
            self.assertEqual(service.process.wait(timeout=60), 0)
            self.assert_softmax(y)
            connection.close()

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


def environment(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
