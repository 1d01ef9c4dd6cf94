"""What orders launches of a card: events that client and daemon share, and streams; on the emulated card."""

import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from card import COUNT, DEVICE, SIZE, SOFTMAX, CardCase, Owner
from service import Service, until


class Order(CardCase):
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

    # ---- what is refused ------------------------------------------------------------------------------------------
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
        self.ok("stream.synchronize")  # it was answered at its deadline, and may just be ending
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

    # ---- enqueued behind each other -------------------------------------------------------------------------------
    def enqueue(self, args, wait=(), **more):
        """A launch with an event: (its event here, the answer)."""
        done = self.hip.event()
        params = dict(SOFTMAX, args=args, wait=list(wait), event=self.import_event(done), **more)
        answer = self.ok("kernel.launch", params)
        self.assertTrue(answer["enqueued"])
        return done

    def held_up(self):
        """An event that the returned flag lets happen."""
        stream, flag = self.hip.busy()
        ready = self.hip.event()
        self.hip.record(ready, stream)
        return self.import_event(ready), flag

    def untouched(self, y):
        return self.hip.read_floats(y, COUNT) == [-1.0] * COUNT

    def test_enqueues_of_one_stream_are_answered_while_earlier_ones_wait(self):
        ready, flag = self.held_up()
        results = [self.operands() for _ in range(5)]
        events = [self.enqueue(results[0][1], [ready])] + [self.enqueue(args) for _, args in results[1:4]]
        # What is answered at its end takes its turn behind them all.
        self.connection.send({"jsonrpc": "2.0", "id": 50, "method": "kernel.launch", "params": dict(SOFTMAX, args=results[4][1])})
        self.connection.send({"jsonrpc": "2.0", "id": 51, "method": "stream.synchronize"})
        self.assertEqual(self.connection.call("ping")["result"], {})
        self.assertEqual([self.hip.library.hipEventQuery(event) for event in events], [600] * 4)
        self.assertTrue(all(self.untouched(y) for y, _ in results))
        flag.value = 1
        self.assertEqual([self.connection.answer()["id"] for _ in range(2)], [50, 51])
        for event in events:
            self.hip.call("hipEventSynchronize", event)
        for y, _ in results:
            self.assert_softmax(y)

    def test_an_event_that_is_released_behind_a_launch_stays_for_it(self):
        for kind in ("event", "wait") * 15:
            y, args = self.operands()
            event = self.ok("event.export", {"device": DEVICE})["event"]
            launch = {"jsonrpc": "2.0", "id": 50, "method": "kernel.launch", "params": dict(SOFTMAX, args=args, **{kind: event if kind == "event" else [event]})}
            release = {"jsonrpc": "2.0", "id": 51, "method": "event.release", "params": {"event": event}}
            self.connection.send(json.dumps(launch) + "\n" + json.dumps(release))
            for answer in (self.connection.answer(), self.connection.answer()):
                self.assertIn("result", answer, answer)
            self.ok("stream.synchronize")
            self.assert_softmax(y)

    def test_what_waits_for_a_stream_and_is_cancelled_lets_the_next_one_go(self):
        ready, flag = self.held_up()
        results = [self.operands() for _ in range(2)]
        self.enqueue(results[0][1], [ready])
        self.connection.send({"jsonrpc": "2.0", "id": 50, "method": "stream.synchronize"})
        done = self.hip.event()
        params = dict(SOFTMAX, args=results[1][1], event=self.import_event(done))
        self.connection.send({"jsonrpc": "2.0", "id": 51, "method": "kernel.launch", "params": params})
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 50}})
        answers = {answer["id"]: answer for answer in (self.connection.answer(), self.connection.answer())}
        self.assertEqual(answers[50]["error"]["data"]["code"], "cancelled")
        self.assertTrue(answers[51]["result"]["enqueued"])
        self.assertEqual(self.hip.library.hipEventQuery(done), 600)
        flag.value = 1
        self.ok("stream.synchronize")
        for y, _ in results:
            self.assert_softmax(y)

    def test_an_enqueued_launch_is_stopped_at_its_deadline(self):
        owner = Owner()
        self.addCleanup(owner.kill)
        (y, args), (y2, args2) = self.operands(), self.operands()
        self.ok("kernel.launch", dict(SOFTMAX, args=self.operands()[1]))  # compiled and loaded
        before = self.device_processes()
        late = self.enqueue(args, [self.import_event(owner.event)], deadline_ms=5000)
        behind = self.enqueue(args2)
        for event in (late, behind):  # nobody who waits for them hangs
            self.hip.call("hipEventSynchronize", event)
        error = self.refused("deadline_exceeded", "stream.synchronize")
        self.assertIn("earlier launch", "\n".join(error["data"]["context"]))
        self.ok("stream.synchronize")  # told once, and the launch behind it is not told of at all
        self.assertTrue(self.untouched(y) and self.untouched(y2))
        self.ok("kernel.launch", dict(SOFTMAX, args=args2))
        self.assert_softmax(y2)
        self.assertEqual(self.device_processes(), before)

    def test_a_deadline_leaves_the_launches_before_it(self):
        ready, flag = self.held_up()
        (y, args), (y2, args2) = self.operands(), self.operands()
        first = self.enqueue(args, [ready])
        self.enqueue(args2, deadline_ms=2000)
        # A deadline that comes after that one, of a launch that waits on another stream: both have reached the card now.
        other = self.ok("stream.create")["stream"]
        self.refused("deadline_exceeded", "kernel.launch", dict(SOFTMAX, args=self.operands()[1], wait=[ready], stream=other, deadline_ms=2001))
        self.assertEqual(self.hip.library.hipEventQuery(first), 600)
        flag.value = 1
        self.refused("deadline_exceeded", "stream.synchronize")
        self.assert_softmax(y)
        self.assertTrue(self.untouched(y2))

    def test_a_deadline_that_is_kept_is_forgotten(self):
        y, args = self.operands()
        self.enqueue(args, deadline_ms=3600000)
        self.ok("stream.synchronize")
        self.assert_softmax(y)
        self.assertEqual(self.ok("engine.stats")["service"]["deadlines"], 0)

    def test_a_release_that_is_answered_with_an_error_leaves_the_stream(self):
        owner = Owner()
        y, args = self.operands()
        stream = self.ok("stream.create")["stream"]
        self.enqueue(args, [self.import_event(owner.event)], stream=stream)
        self.connection.send({"jsonrpc": "2.0", "id": 50, "method": "stream.release", "params": {"stream": stream}})
        self.connection.send({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 50}})
        self.assertEqual(self.connection.answer()["error"]["data"]["code"], "cancelled")
        owner.kill()
        self.refused("launch_failed", "stream.release", {"stream": stream})
        self.ok("kernel.launch", dict(SOFTMAX, args=args, stream=stream))
        self.assert_softmax(y)
        self.ok("stream.release", {"stream": stream})
        self.refused("not_found", "stream.release", {"stream": stream})

    # ---- memory that is given back while a launch waits -----------------------------------------------------------
    def test_memory_counts_until_the_card_has_freed_it(self):
        ready, flag = self.held_up()
        y, args = self.operands()
        self.enqueue(args, [ready])
        other = self.connect()
        before = self.memory_used()
        made = self.ok("buffer.alloc", {"size": 3 * SIZE, "device": DEVICE}, other)["buffer"]
        self.ok("buffer.unregister", {"buffer": made}, other)
        self.assertEqual(self.memory_used(), before + 3 * SIZE)
        self.assertEqual(self.ok("engine.stats")["service"]["buffers"], 2)
        flag.value = 1
        self.ok("stream.synchronize")
        until(lambda: self.memory_used() == before, what="the memory to be free")


if __name__ == "__main__":
    unittest.main()
