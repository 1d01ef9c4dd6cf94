"""Plans: launches that are recorded once and run by one message each time."""

import json
import os
import signal
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from deaths_test import ENDLESS, LONG
from hip import LIBRARY
from service import Service, until
from witness import COUNT, TRIPLED, WitnessedCase, device_processes, footprint, memfd, shared_file

import kiln  # noqa: E402

CARD = "emu:gfx942"
DEVICES = ("host", CARD) if os.path.exists(LIBRARY) else ("host",)
BYTES = 4 * COUNT
# Y += 1 at every element, by four blocks.
COUNTED = {"kiln": "tile/1", "name": "counted",
           "params": [{"name": "Y", "dtype": "i32", "shape": [COUNT], "access": "readwrite"}],
           "launches": [{"grid": [4], "threads": "1 if target.is_host else 64", "body": [
               {"op": "map", "index": ["i"], "extent": [COUNT // 4],
                "body": [{"set": "Y[bid.x * 16 + i]", "value": "Y[bid.x * 16 + i] + 1"}]}]}]}
DYNAMIC = {"kiln": "tile/1", "name": "filled", "symbols": {"S": {"dynamic": True, "max": COUNT}},
           "params": [{"name": "Y", "dtype": "i32", "shape": ["S"], "access": "write"},
                      {"name": "v", "dtype": "i32", "scalar": True}],
           "launches": [{"grid": ["S"], "threads": "1 if target.is_host else 64", "body": [
               {"op": "map", "index": ["i"], "extent": [1], "body": [{"set": "Y[bid.x + i]", "value": "v"}]}]}]}
PRINTING = {"kiln": "tile/1", "name": "printing",
            "params": [{"name": "X", "dtype": "i32", "shape": [COUNT], "access": "read"}],
            "launches": [{"grid": [1], "threads": "1 if target.is_host else 64", "body": [
                {"op": "print", "text": "first", "values": ["X[0]"]},
                {"op": "assert", "condition": "X[1] == 1", "text": "second is one"}]}]}


class PlanCase(WitnessedCase):
    config = {"workers_max": 1}
    devices = DEVICES

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        connection = cls.service.connect()   # what a test may happen to start is there before
        x, y = ({"buffer": connection.call("buffer.alloc", {"size": BYTES})["result"]["buffer"]} for _ in "xy")
        for device in DEVICES:
            for launch in ({"program": PRINTING, "args": [x]}, {"program": ENDLESS, "set": {"N": 1}, "args": [x, y]}):
                connection.call("kernel.launch", dict(launch, device=device))
            for compiled in ({"program": COUNTED}, {"program": DYNAMIC}, {"program": ENDLESS, "set": {"N": LONG}}):
                connection.call("kernel.compile", dict(compiled, device=device))
        connection.close()
        for fd in connection.fds:
            os.close(fd)
        pids = [cls.service.process.pid, *device_processes(cls.service.process.pid)]
        until(lambda: not any("kiln-buffer" in name for pid in pids for name in footprint(pid)),
              what="its buffers to go")

    def memory(self, values=None, connection=None, fd=None):
        """A buffer, as an argument, and the descriptor of its memory."""
        fd = memfd(BYTES) if fd is None else fd
        os.pwrite(fd, struct.pack("<%di" % COUNT, *(values or [0] * COUNT)), 0)
        kept = os.dup(fd)
        self.addCleanup(os.close, kept)
        return self.register(fd, connection), kept

    def numbers(self, fd):
        return list(struct.unpack("<%di" % COUNT, os.pread(fd, BYTES, 0)))

    def plan(self, launches, device="host", connection=None):
        return self.ok("plan.create", {"device": device, "launches": launches}, connection=connection)["plan"]

    def run_plan(self, plan, **more):
        return self.ok("plan.run", {"plan": plan, **more})

    def held(self):
        return self.ok("engine.stats")["service"]


class Results(PlanCase):
    def test_they_are_those_of_single_launches(self):
        for device in DEVICES:
            with self.subTest(device=device):
                (x, x_fd), (y, y_fd), (z, z_fd) = (self.memory() for _ in "xyz")
                launches = [{"program": TRIPLED, "args": {"X": x, "Y": y}}, {"program": COUNTED, "args": [y]},
                            {"program": TRIPLED, "args": {"X": y, "Y": z}}, {"program": COUNTED, "args": [z]}]
                plan = self.plan(launches, device)
                for number in (5, 6):
                    os.pwrite(x_fd, struct.pack("<%di" % COUNT, *range(number, number + COUNT)), 0)
                    answer = self.run_plan(plan)
                    self.assertEqual((answer["plan"], answer["launches"], answer["device"]), (plan, 4, device))
                    self.assertGreater(answer["duration_ms"], 0)
                    got = (self.numbers(y_fd), self.numbers(z_fd))
                    for launch in launches:
                        self.ok("kernel.launch", dict(launch, device=device))
                    self.assertEqual(got, (self.numbers(y_fd), self.numbers(z_fd)))
                    self.assertEqual(got[1][3], ((number + 3) * 3 + 2) * 3 + 2)

    def test_by_key_with_symbols_and_scalars(self):
        for device in DEVICES:
            with self.subTest(device=device):
                key = self.ok("kernel.compile", {"program": DYNAMIC, "device": device})["key"]
                y, y_fd = self.memory()
                self.run_plan(self.plan([{"key": key, "args": [y, 7], "symbols": {"S": 9}},
                                         {"key": key, "args": [y, 3], "symbols": {"S": 2}},
                                         {"key": key, "args": [y, 5], "symbols": {"S": 0}}], device))
                self.assertEqual(self.numbers(y_fd)[:10], [3, 3, 7, 7, 7, 7, 7, 7, 7, 0])

    def test_many_launches(self):
        for device, count in zip(DEVICES, (4096, 40)):
            with self.subTest(device=device):
                y, y_fd = self.memory()
                key = self.ok("kernel.compile", {"program": COUNTED, "device": device})["key"]
                plan = self.plan([{"key": key, "args": [y]}] * count, device)
                self.run_plan(plan)
                self.run_plan(plan)
                self.assertEqual(self.numbers(y_fd), [2 * count] * COUNT)

    def test_memory_that_is_copied_is_copied_around_each_run(self):
        x, x_fd = self.memory(fd=shared_file(BYTES))
        y, y_fd = self.memory(fd=shared_file(BYTES))
        plan = self.plan([{"program": TRIPLED, "args": {"X": x, "Y": y}}, {"program": COUNTED, "args": [y]}])
        for number in (1, 2):
            os.pwrite(x_fd, struct.pack("<%di" % COUNT, *[number] * COUNT), 0)
            self.run_plan(plan)
            self.assertEqual(self.numbers(y_fd), [3 * number + 2] * COUNT)
        os.ftruncate(x_fd, 16)
        self.refused("invalid_argument", "shorter", "plan.run", {"plan": plan})
        os.ftruncate(x_fd, BYTES)
        self.run_plan(plan)

    def test_prints_and_asserts_are_told_with_their_launch(self):
        for device in DEVICES:
            with self.subTest(device=device):
                (x, x_fd), (y, _) = self.memory(list(range(COUNT))), self.memory()
                plan = self.plan([{"program": COUNTED, "args": [y]}, {"program": PRINTING, "args": [x]},
                                  {"program": PRINTING, "args": [x]}], device)
                answer = self.run_plan(plan)
                self.assertEqual([(p["launch"], p["text"], p["values"]) for p in answer["printed"]],
                                 [(1, "first", [0]), (2, "first", [0])])
                os.pwrite(x_fd, struct.pack("<ii", 8, 9), 0)
                error = self.refused("assertion_failed", "", "plan.run", {"plan": plan})
                self.assertEqual([f["launch"] for f in error["data"]["failed"]], [1, 2])
                self.assertEqual(len(error["data"]["diagnostics"]), 2)
                self.assertEqual([p["values"] for p in error["data"]["printed"]], [[8], [8]])
                self.assertIn("/params/launches/1", " ".join(error["data"]["context"]))

    def test_it_takes_its_turn_on_its_stream(self):
        y, y_fd = self.memory()
        x, _ = self.memory()
        plan = self.plan([{"program": COUNTED, "args": [y]}] * 3)
        stream = self.ok("stream.create")["stream"]
        launch = {"program": TRIPLED, "args": {"X": x, "Y": y}, "stream": stream}   # writes ones
        for at in range(10):
            requests = [("kernel.launch", launch), ("plan.run", {"plan": plan, "stream": stream}),
                        ("plan.run", {"plan": plan, "stream": stream}), ("kernel.launch", launch)]
            for number, (method, params) in enumerate(requests[at % 2:3 + at % 2]):
                self.connection.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            for _ in range(3):
                self.assertIn("result", self.connection.answer())
            self.assertEqual(self.numbers(y_fd), [1 if at % 2 else 7] * COUNT)
        self.refused("not_found", "no stream 99", "plan.run", {"plan": plan, "stream": 99})


class Mistakes(PlanCase):
    def test_a_wrong_launch_is_located_and_nothing_is_kept(self):
        x, _ = self.memory()
        y, _ = self.memory()
        good = {"program": TRIPLED, "args": {"X": x, "Y": y}}
        before = self.held()
        for launch, pointer, code in (
                ({"program": TRIPLED, "args": {"X": x}}, "/args/Y", "invalid_argument"),
                ({"program": TRIPLED, "args": [x]}, "/args", "invalid_argument"),
                ({"program": TRIPLED}, "/args", "invalid_argument"),
                ({"program": TRIPLED, "args": {"X": x, "Y": x}}, "/args", "invalid_argument"),
                ({"program": TRIPLED, "args": {"X": x, "Y": dict(y, offset=8)}}, "/args/Y", "invalid_argument"),
                ({"program": TRIPLED, "args": {"X": {"buffer": 99}, "Y": y}}, "/args/X/buffer", "invalid_argument"),
                ({"program": TRIPLED, "args": {"X": x, "Y": y, "Z": y}}, "/args/Z", "invalid_argument"),
                ({"program": DYNAMIC, "args": [y, 1], "symbols": {"S": 65}}, "/symbols/S", "invalid_argument"),
                ({"program": DYNAMIC, "args": [y, 0.5], "symbols": {"S": 1}}, "/args/1", "invalid_argument"),
                ({"program": TRIPLED, "set": 5, "args": {"X": x, "Y": y}}, "/set", "invalid_argument"),
                (dict(good, stream=0), "/stream", "invalid_argument"),
                (dict(good, event=1), "/event", "invalid_argument"),
                (dict(good, device="host"), "/device", "invalid_argument")):
            with self.subTest(launch=launch):
                error = self.refused(code, "", "plan.create", {"launches": [good, good, launch, good]})
                self.assertEqual(error["data"]["diagnostics"][0]["pointer"], "/params/launches/2" + pointer)
        for launch, code in (({"key": "0" * 64, "args": [x, y]}, "not_found"),
                             (dict(good, program="no such"), "not_found"),
                             (dict(good, program={"kiln": "tile/1", "name": "p"}), "program_invalid")):
            error = self.refused(code, "", "plan.create", {"launches": [good, launch]})
            self.assertIn("/params/launches/1", " ".join(error["data"]["context"]))
        self.refused("invalid_argument", "", "plan.create", {"launches": []})
        self.refused("invalid_argument", "", "plan.create", {"launches": [5]})
        self.refused("unknown_target", "", "plan.create", {"launches": [good], "device": "nowhere"})
        now = self.held()
        self.assertEqual({name: now[name] for name in ("plans", "buffer_bytes", "launches")},
                         {name: before[name] for name in ("plans", "buffer_bytes", "launches")})

    def test_who_has_no_such_plan(self):
        y, _ = self.memory()
        plan = self.plan([{"program": COUNTED, "args": [y]}])
        other = self.connect()
        for method in ("plan.run", "plan.release"):
            self.refused("not_found", "no plan %d" % plan, method, {"plan": plan}, connection=other)
        self.ok("plan.release", {"plan": plan})
        for method in ("plan.run", "plan.release"):
            self.refused("not_found", "no plan %d" % plan, method, {"plan": plan})

    def test_what_a_plan_uses_stays(self):
        (x, _), (y, y_fd) = self.memory(), self.memory()
        key = self.ok("kernel.compile", {"program": TRIPLED})["key"]
        plan = self.plan([{"key": key, "args": [x, y]}])
        self.refused("busy", "plan %d" % plan, "buffer.unregister", x)
        self.refused("busy", "plan %d" % plan, "kernel.unload", {"key": key})
        self.run_plan(plan)
        self.assertEqual(self.numbers(y_fd), [1] * COUNT)
        # One whose kernel somebody else makes the daemon forget runs on.
        self.ok("kernel.unload", {"key": key}, connection=self.connect())
        self.run_plan(plan)
        self.ok("plan.release", {"plan": plan})
        self.ok("buffer.unregister", x)

    def test_a_release_does_not_overtake_a_run(self):
        y, y_fd = self.memory()
        for count in range(1, 20):
            plan = self.plan([{"program": COUNTED, "args": [y]}])
            lines = [{"jsonrpc": "2.0", "id": number, "method": method, "params": {"plan": plan}}
                     for number, method in enumerate(("plan.run", "plan.release"))]
            self.connection.send("\n".join(map(json.dumps, lines)))
            for _ in range(2):
                self.assertIn("result", self.connection.answer())
            self.assertEqual(self.numbers(y_fd), [count] * COUNT)
        self.assertEqual(self.held()["plans"], 0)


class Ends(PlanCase):
    def endless(self, device="host"):
        """A plan that would run for hours, with launches before and behind that."""
        x, y = (self.memory()[0] for _ in "xy")
        z, z_fd = self.memory()
        launches = [{"program": COUNTED, "args": [z]},
                    {"program": ENDLESS, "set": {"N": LONG}, "args": {"X": x, "Y": y}},
                    {"program": COUNTED, "args": [z]}]
        return self.plan(launches, device), z_fd

    def start(self, plan, fd, **more):
        self.connection.send({"jsonrpc": "2.0", "id": "run", "method": "plan.run", "params": {"plan": plan, **more}})
        until(lambda: self.numbers(fd)[0] == 1, what="its first launch")

    def test_a_run_is_cancelled_within_a_launch(self):
        for device in DEVICES:
            with self.subTest(device=device):
                plan, fd = self.endless(device)
                self.start(plan, fd)
                self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": "run"}})
                self.assertEqual(self.connection.answer()["error"]["data"]["code"], "cancelled")
                self.assertEqual(self.numbers(fd)[0], 1)   # nothing behind it ran
                self.ok("plan.release", {"plan": plan})

    def test_a_run_ends_at_its_deadline(self):
        plan, _ = self.endless()
        self.refused("deadline_exceeded", "", "plan.run", {"plan": plan, "deadline_ms": 200})

    def test_a_connection_that_closes_ends_its_runs(self):
        for device in DEVICES:
            plan, fd = self.endless(device)
            self.start(plan, fd)
            self.connection.close()
            self.connection = self.connect()
        until(lambda: self.held()["plans"] == 0, what="the plans to go")

    def test_a_client_that_goes_while_a_plan_is_made(self):
        for at in range(8):
            gone = self.connect()
            y, _ = self.memory(connection=gone)
            gone.send({"jsonrpc": "2.0", "id": 1, "method": "plan.create",
                       "params": {"launches": [{"program": COUNTED, "set": {}, "args": [y]}] * (1 << at)}})
            gone.close()
        until(lambda: self.held()["plans"] == 0 and self.held()["running"] == 1, what="the requests to end")


class Lost(unittest.TestCase):
    """The device's process dies."""

    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.__exit__)
        self.client = self.service.client()
        self.addCleanup(self.client.close)

    def kill(self):
        for pid in device_processes(self.service.process.pid):
            os.kill(pid, signal.SIGKILL)
            until(lambda: pid not in device_processes(self.service.process.pid), what="the daemon to bury it")

    def test_between_two_runs(self):
        for device in DEVICES:
            with self.subTest(device=device):
                x, y = (self.client.empty((COUNT,), "i32") for _ in "xy")
                x.fill_from(range(COUNT))
                target = "host" if device == "host" else device.partition(":")[2]
                tripled, counted = self.client.compile(TRIPLED, target), self.client.compile(COUNTED, target)
                plan = self.client.plan([tripled.step(X=x, Y=y), counted.step(Y=y)], device)
                for _ in range(3):
                    y.fill_from([0] * COUNT)
                    plan()
                    self.assertEqual(y.tolist(), [3 * i + 2 for i in range(COUNT)])
                    self.kill()

    def test_in_a_run(self):
        x, y, z = (self.client.empty((COUNT,), kind) for kind in ("f32", "f32", "i32"))
        endless, counted = self.client.compile(ENDLESS, N=LONG), self.client.compile(COUNTED)
        plan = self.client.plan([counted.step(Y=z), endless.step(X=x, Y=y)])
        connection = self.service.connect()
        seen = []
        import threading
        thread = threading.Thread(target=lambda: seen.append(self.lost(plan)))
        thread.start()
        until(lambda: z.tolist()[0] == 1, what="its first launch")
        self.kill()
        thread.join(60)
        self.assertTrue(seen and seen[0].retryable, seen)
        self.assertEqual(connection.call("engine.stats")["result"]["service"]["plans"], 1)
        connection.close()

    def lost(self, plan):
        try:
            plan()
        except kiln.errors.DeviceLost as error:
            return error
        return None


class Clients(unittest.TestCase):
    def test_plans_outlive_the_daemon(self):
        with Service() as service:
            client = service.client()
            y = client.empty((COUNT,), "i32")
            counted = client.compile(COUNTED)
            plan = client.plan([counted.step(Y=y)] * 3)
            self.assertEqual((len(plan), plan.device), (3, "host"))
            self.assertGreater(plan(), 0)
            service.process.kill()
            service.process.wait()
            service.start()
            client.programs()
            plan()
            self.assertEqual(y.tolist(), [6] * COUNT)
            plan.free()
            with self.assertRaises(kiln.errors.KilnError):
                plan()
            y.free()
            client.close()

    def test_what_the_daemon_shows(self):
        with Service(config={"limits": {"plans_max": 2, "plan_launches_max": 3}}) as service:
            client = service.client()
            y = client.empty((COUNT,), "i32")
            plan = client.plan([client.compile(COUNTED).step(Y=y)])
            shown = client.connection.call("engine.connections")[0]["connections"]
            self.assertEqual([c["plans"] for c in shown], [1])
            with self.assertRaisesRegex(kiln.errors.InvalidArgument, "/params/launches"):
                client.plan([client.compile(COUNTED).step(Y=y)] * 4)
            del plan
            until(lambda: client.stats()["service"]["plans"] == 0, what="the plan to go")
            client.close()


if __name__ == "__main__":
    unittest.main()
