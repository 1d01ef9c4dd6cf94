"""Submission rings: plans that are run by shared memory alone; and clients that write anything into it."""

import mmap
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from deaths_test import ENDLESS, LONG
from plans_test import BYTES, COUNTED, DEVICES, DYNAMIC, PRINTING, PlanCase
from service import ROOT, Service, until
from witness import COUNT, TRIPLED, device_processes, shared_file

import kiln  # noqa: E402

SEED = int(os.environ.get("KILN_SEED", "20261130"))
REPEAT = "KILN_SEED=%d python3 %s" % (SEED, os.path.relpath(os.path.abspath(__file__), ROOT))
SUBMITTED, READ, CLIENT_SLEEPS, TAKEN, COMPLETED, CONSUMER_SLEEPS = 64, 68, 72, 128, 132, 136
HEADER, ENTRY = 4096, 32
DONE, NOT_FOUND, CANCELLED = 0, 1, 2


class RawRing:
    """The page's rules, step by step."""

    def __init__(self, case, device="host", slots=8, connection=None):
        connection = connection or case.connection
        before = len(connection.fds)
        self.answer = case.ok("ring.create", {"device": device, "slots": slots}, connection=connection)
        memory, bell = connection.fds[before:]
        del connection.fds[before:]
        self.slots, self.number = slots, self.answer["ring"]
        self.memory = mmap.mmap(memory, self.answer["bytes"])
        case.assertEqual(os.fstat(memory).st_size, self.answer["bytes"])
        os.close(memory)
        self.words = memoryview(self.memory).cast("I")
        self.bell = socket.socket(fileno=bell)
        self.submitted = self.read = 0

    def word(self, offset):
        return self.words[offset // 4]

    def write(self, offset, value):
        self.words[offset // 4] = value   # whole: struct.pack_into writes byte after byte

    def ring(self):
        self.bell.send(b"\0", socket.MSG_NOSIGNAL)

    def submit(self, *plans):
        """Serials are numbers from 0, as the entries'."""
        for plan in plans:
            place = HEADER + ENTRY * (self.submitted % self.slots)
            struct.pack_into("<QQQ", self.memory, place, self.submitted, plan, 0)
            self.submitted += 1
        self.write(SUBMITTED, self.submitted)
        self.ring()   # asleep or not: a byte too many does no harm

    def completions(self, count):
        """The next ones: [(serial, nanoseconds, status)]."""
        got = []
        while len(got) < count:
            until(lambda: self.word(COMPLETED) != self.read, what="a completion")
            got.append(struct.unpack_from("<QQQ", self.memory, HEADER + ENTRY * (self.slots + self.read % self.slots)))
            self.read += 1
            self.write(READ, self.read)
            self.ring()
        return got

    def closed(self):
        """Waits for the end of the bell."""
        self.bell.settimeout(30)
        try:
            while self.bell.recv(256):
                pass
        except ConnectionResetError:   # something that was rung is not read any more
            pass

    def close(self):
        self.words.release()
        self.memory.close()
        self.bell.close()


class Runs(PlanCase):
    def ring(self, **how):
        ring = RawRing(self, **how)
        self.addCleanup(ring.close)
        return ring

    def attach(self, ring, plan):
        self.ok("ring.attach", {"ring": ring.number, "plan": plan})
        return plan

    def counted(self, device="host", launches=3):
        y, fd = self.memory()
        return self.plan([{"program": COUNTED, "args": [y]}] * launches, device), fd

    def test_the_header(self):
        ring = self.ring(slots=16)
        self.assertEqual([ring.word(at) for at in (0, 4, 8, 12, 16)], [0x474e524b, 1, 16, 4096, 4096 + 32 * 16])
        self.assertEqual(ring.answer["bytes"], 4096 + 64 * 16)

    def test_results_in_order(self):
        for device in DEVICES:
            with self.subTest(device=device):
                (x, x_fd), (y, y_fd) = self.memory([5] * COUNT), self.memory()
                tripled = self.plan([{"program": TRIPLED, "args": {"X": x, "Y": y}}], device)
                counted = self.plan([{"program": COUNTED, "args": [y]}] * 2, device)
                ring = self.ring(device=device)
                for plan in (tripled, counted):
                    self.attach(ring, plan)
                ring.submit(tripled, counted, counted, tripled, counted)
                got = ring.completions(5)
                self.assertEqual([(serial, status) for serial, _, status in got], [(n, DONE) for n in range(5)])
                self.assertTrue(all(ns > 0 for _, ns, _ in got))
                self.assertEqual(self.numbers(y_fd), [18] * COUNT)

    def test_small_plans(self):
        """Those of single blocks, which the ring's own thread runs."""
        y, y_fd = self.memory()
        key = self.ok("kernel.compile", {"program": DYNAMIC})["key"]
        plan = self.plan([{"key": key, "args": [y, 7], "symbols": {"S": 1}},
                          {"key": key, "args": [y, 7], "symbols": {"S": 0}},
                          {"program": TRIPLED, "args": {"X": y, "Y": self.memory()[0]}}])
        ring = self.ring(slots=2)
        self.attach(ring, plan)
        for at in range(300):
            os.pwrite(y_fd, bytes(4), 0)
            ring.submit(plan)
            self.assertEqual(ring.completions(1)[0][::2], (at, DONE))
            self.assertEqual(self.numbers(y_fd)[0], 7)

    def test_unread_completions_hold_up_this_ring_alone(self):
        (plan, fd), (other_plan, other_fd) = self.counted(), self.counted()
        ring, other = self.ring(slots=4), self.ring(slots=4)
        self.attach(ring, plan)
        self.attach(other, other_plan)
        ring.submit(*[plan] * 4)
        until(lambda: ring.word(COMPLETED) == 4, what="a full ring")
        ring.submit(*[plan] * 4)
        for _ in range(10):
            other.submit(other_plan)
            other.completions(1)
        self.ok("plan.run", {"plan": plan})
        self.assertEqual((ring.word(TAKEN), ring.word(COMPLETED)), (4, 4))
        self.assertEqual(self.numbers(fd)[0], 3 * 5)
        self.assertEqual(len(ring.completions(8)), 8)
        self.assertEqual((self.numbers(fd)[0], self.numbers(other_fd)[0]), (3 * 9, 30))

    def test_only_attached_plans(self):
        (plan, fd), (other, _) = self.counted(), self.counted()
        ring = self.ring()
        self.attach(ring, plan)
        self.attach(ring, plan)
        ring.submit(other, plan, 0, 1 << 63)
        self.assertEqual([status for _, _, status in ring.completions(4)], [NOT_FOUND, DONE, NOT_FOUND, NOT_FOUND])
        self.assertEqual(self.numbers(fd)[0], 3)
        self.refused("busy", "ring %d" % ring.number, "plan.release", {"plan": plan})
        self.ok("plan.release", {"plan": other})
        self.ok("ring.release", {"ring": ring.number})
        ring.closed()
        self.ok("plan.release", {"plan": plan})
        self.refused("not_found", "no ring", "ring.release", {"ring": ring.number})

    def test_what_a_ring_does_not_take(self):
        ring = self.ring()
        copied, _ = self.memory(fd=shared_file(BYTES))
        x, _ = self.memory()
        for launch, words in (({"program": COUNTED, "args": [copied]}, "copied"),
                              ({"program": PRINTING, "args": [x]}, "prints")):
            self.refused("unsupported", words, "ring.attach", {"ring": ring.number, "plan": self.plan([launch])})
        if len(DEVICES) > 1:
            plan = self.plan([{"program": COUNTED, "args": [x]}], DEVICES[1])
            self.refused("invalid_argument", "", "ring.attach", {"ring": ring.number, "plan": plan})
        for params in ({"ring": 99, "plan": plan}, {"ring": ring.number, "plan": 99}):
            self.refused("not_found", "", "ring.attach", params)
        for slots in (0, 1, 3, 8192, -4, "8"):
            self.refused("invalid_argument", "/params/slots", "ring.create", {"slots": slots})
        other = self.connect()
        for method in ("ring.attach", "ring.release"):
            params = {"ring": ring.number, **({"plan": plan} if method == "ring.attach" else {})}
            self.refused("not_found", "no ring", method, params, connection=other)

    def test_the_bell_wakes_who_sleeps(self):
        plan, _ = self.counted()
        ring = self.ring()
        self.attach(ring, plan)
        for _ in range(20):
            until(lambda: ring.word(CONSUMER_SLEEPS) == 1, what="the consumer to sleep")
            ring.write(CLIENT_SLEEPS, 1)
            ring.submit(plan)
            self.assertTrue(select.select([ring.bell], [], [], 30)[0])
            ring.bell.recv(256)
            ring.write(CLIENT_SLEEPS, 0)
            ring.completions(1)

    def test_an_idle_ring_is_not_woken(self):
        plan, _ = self.counted()
        ring = self.ring()
        self.attach(ring, plan)
        ring.submit(plan)
        ring.completions(1)
        names = device_processes(self.service.process.pid)
        pid = next(pid for pid in names if names[pid].startswith("kiln-device-ho"))
        until(lambda: ring.word(CONSUMER_SLEEPS) == 1, what="the consumer to sleep")

        def switches():
            total = {}
            for task in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/status" % (pid, task)) as status:
                    total[task] = sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
            return total

        def quiet():
            before = switches()
            select.select([], [], [], 0.3)   # the time that is looked at, not a wait for something
            return switches() == before

        until(quiet, what="a while without a switch of any thread of the device process")

    # ---- ends ----

    def endless(self, device):
        z, z_fd = self.memory()
        x, y = (self.memory()[0] for _ in "xy")
        launches = [{"program": COUNTED, "args": [z]}, {"program": ENDLESS, "set": {"N": LONG}, "args": [x, y]}]
        return self.plan(launches, device), z_fd

    def test_a_release_stops_the_run(self):
        for device in DEVICES:
            with self.subTest(device=device):
                plan, fd = self.endless(device)
                ring = self.ring(device=device)
                self.attach(ring, plan)
                ring.submit(plan, plan)
                until(lambda: self.numbers(fd)[0] == 1, what="its first launch")
                self.ok("ring.release", {"ring": ring.number})
                ring.closed()
                self.ok("plan.release", {"plan": plan})
                self.assertEqual((self.numbers(fd)[0], ring.word(TAKEN)), (1, 1))

    def test_a_client_that_goes_leaves_nothing(self):
        for device in DEVICES:
            for endless in (False, True):
                with self.subTest(device=device, endless=endless):
                    plan, fd = self.endless(device) if endless else self.counted(device)
                    ring = self.ring(device=device)
                    self.attach(ring, plan)
                    ring.submit(plan)
                    until(lambda: self.numbers(fd)[0] > 0, what="it to run")
                    self.connection.close()
                    self.connection = self.connect()
                    ring.closed()
                    until(lambda: self.held()["rings"] == self.held()["plans"] == 0, what="the ring to go")

    def test_a_bell_that_is_closed_ends_the_ring(self):
        plan, _ = self.counted()
        ring = self.ring()
        self.attach(ring, plan)
        ring.bell.shutdown(socket.SHUT_WR)
        ring.closed()
        self.ok("plan.run", {"plan": plan})
        self.ok("ring.release", {"ring": ring.number})

    # ---- scribblers ----

    def test_counts_that_cannot_be_end_the_ring(self):
        plan, fd = self.counted()
        for word, value in ((SUBMITTED, 9), (SUBMITTED, 0xFFFFFFFF), (SUBMITTED, 0x80000000), (READ, 1),
                            (READ, 0x7FFFFFFF)):
            with self.subTest(word=word, value=value):
                ring = self.ring()
                self.attach(ring, plan)
                ring.write(word, value)
                if word == READ:
                    ring.write(SUBMITTED, 1)
                ring.ring()
                ring.closed()
                self.assertEqual(self.numbers(fd)[0], 0)
                self.ok("ring.release", {"ring": ring.number})

    def test_anything_may_be_written_at_any_time(self):
        """The device process lives, and others' runs are right, as after each test."""
        chance = random.Random(SEED)
        plan, _ = self.counted()
        other = self.connect()
        y, fd = self.memory(connection=other)
        good_plan = self.plan([{"program": COUNTED, "args": [y]}], connection=other)
        good = RawRing(self, connection=other)
        self.addCleanup(good.close)
        self.ok("ring.attach", {"ring": good.number, "plan": good_plan}, connection=other)
        for round_ in range(30):
            ring = self.ring(slots=chance.choice((2, 8, 64)))
            self.attach(ring, plan)
            for _ in range(200):
                way = chance.randrange(6)
                if way == 0:
                    at = chance.randrange(0, ring.answer["bytes"] - 8) & ~7
                    value = chance.choice((0, 1, plan, 1 << 63, chance.getrandbits(64)))
                    struct.pack_into("<Q", ring.memory, at, value)
                elif way == 1:
                    word = chance.choice((0, 4, 8, 12, 16, READ, TAKEN, COMPLETED, CONSUMER_SLEEPS, CLIENT_SLEEPS))
                    ring.write(word, chance.choice((0, 1, 0xFFFFFFFF, chance.getrandbits(32))))
                elif way == 2:
                    ring.write(SUBMITTED, (ring.word(TAKEN) + chance.randrange(ring.slots + 1)) & 0xFFFFFFFF)
                elif way == 3:
                    ring.write(READ, ring.word(COMPLETED))
                else:
                    try:
                        ring.bell.send(b"x" * chance.randrange(1, 600), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                    except OSError:
                        pass
            good.submit(good_plan)
            self.assertEqual(good.completions(1)[0][::2], (round_, DONE), REPEAT)
            self.assertEqual(self.numbers(fd), [round_ + 1] * COUNT, REPEAT)
            self.ok("ring.release", {"ring": ring.number})


class Lost(unittest.TestCase):
    """Clients whose device process or daemon dies."""

    def setUp(self):
        self.service = Service()
        self.addCleanup(self.service.__exit__)
        self.client = self.service.client()
        self.addCleanup(self.client.close)
        self.y = self.client.empty((COUNT,), "i32")
        self.plan = self.client.plan([self.client.compile(COUNTED).step(Y=self.y)] * 2)

    def kill_device(self):
        for pid in device_processes(self.service.process.pid):
            os.kill(pid, signal.SIGKILL)
            until(lambda: pid not in device_processes(self.service.process.pid), what="the daemon to bury it")

    def test_runs_go_on_over_the_socket(self):
        ring = self.client.ring()
        for _ in range(3):
            self.assertGreater(ring(self.plan), 0)
        self.assertFalse(ring.ended)
        self.kill_device()
        ring(self.plan)   # was not taken: it runs, once
        self.assertTrue(ring.ended)
        ring(self.plan)
        self.assertEqual(self.y.tolist(), [10] * COUNT)
        again = self.client.ring()
        again(self.plan)
        self.assertFalse(again.ended)
        self.assertEqual(self.y.tolist(), [12] * COUNT)
        again.free()
        again(self.plan)
        self.assertEqual(self.y.tolist(), [14] * COUNT)
        self.assertEqual(self.client.stats()["service"]["rings"], 0)

    def test_a_run_in_flight_is_lost(self):
        x, z = self.client.empty((COUNT,), "f32"), self.client.empty((COUNT,), "f32")
        endless = self.client.plan([self.client.compile(COUNTED).step(Y=self.y),
                                    self.client.compile(ENDLESS, N=LONG).step(X=x, Y=z)])
        ring = self.client.ring()
        errors = []

        def run():
            try:
                ring(endless)
            except kiln.errors.DeviceLost as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: self.y.tolist()[0] == 1, what="its first launch")
        for pid in device_processes(self.service.process.pid):
            os.kill(pid, signal.SIGKILL)
        thread.join(60)
        self.assertTrue(errors and errors[0].retryable, errors)
        ring(self.plan)
        self.assertEqual(self.y.tolist(), [3] * COUNT)

    def test_a_daemon_that_dies(self):
        ring = self.client.ring()
        ring(self.plan)
        self.service.process.kill()
        self.service.process.wait()
        self.service.start()
        self.client.programs()
        ring(self.plan)
        self.assertTrue(ring.ended)
        self.assertEqual(self.y.tolist(), [4] * COUNT)

    def test_what_a_ring_does_not_take_goes_over_the_socket(self):
        x = self.client.empty((COUNT,), "i32").fill_from(range(COUNT))
        printing = self.client.plan([self.client.compile(PRINTING).step(X=x)])
        ring = self.client.ring()
        self.assertEqual([p["values"] for p in ring(printing).printed], [[0]])
        ring(self.plan)
        self.assertFalse(ring.ended)


if __name__ == "__main__":
    unittest.main()
