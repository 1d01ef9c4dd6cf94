"""The Python client with a card's memory, events and streams, on the emulated card."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from hip import LIBRARY, Hip
from service import Service, until

DEVICE = "emu:gfx942"
ROWS, COLUMNS = 4, 64
COUNT, SIZE = ROWS * COLUMNS, ROWS * COLUMNS * 4
VALUES = [float(i % 9 - 4) for i in range(COUNT)]


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class Cards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hip = Hip()
        cls.service = Service()
        cls.client = cls.service.client()
        cls.softmax = cls.client.compile("softmax", "gfx942", M=ROWS, N=COLUMNS)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.service.__exit__()

    def operands(self):
        x, y = self.hip.floats(VALUES), self.hip.floats([-1.0] * COUNT)
        return y, {name: self.client.open_memory(self.hip.memory_handle(memory), DEVICE, SIZE) for name, memory in (("X", x), ("Y", y))}

    def assert_softmax(self, y):
        got = self.hip.read_floats(y, COUNT)
        for row in range(ROWS):
            self.assertAlmostEqual(sum(got[row * COLUMNS:(row + 1) * COLUMNS]), 1.0, places=4)

    def test_memory_events_and_streams(self):
        import kiln
        y, args = self.operands()
        stream, flag = self.hip.busy()
        ready, done = self.hip.event(), self.hip.event()
        self.hip.record(ready, stream)
        wait = self.client.import_event(bytes.fromhex(self.hip.event_handle(ready)), DEVICE)
        event = self.client.import_event(self.hip.event_handle(done), DEVICE)
        ours = self.client.create_stream()
        self.assertIsNone(self.softmax(device=DEVICE, stream=ours, wait=[wait], event=event, **args))
        y2, args2 = self.operands()
        self.assertGreater(self.softmax(device=DEVICE, **args2), 0)  # beside it
        self.assert_softmax(y2)
        self.assertEqual(self.hip.read_floats(y, COUNT), [-1.0] * COUNT)
        flag.value = 1
        self.client.synchronize(ours)
        self.assert_softmax(y)
        for held in (*args.values(), wait, event, ours):
            held.free()
            held.free()
            self.assertEqual(held.number, 0)
        with self.assertRaises(kiln.errors.InvalidArgument):
            self.softmax(device=DEVICE, **args)

    def test_the_cards_own_memory(self):
        memory = self.client.alloc_memory(DEVICE, 2 * SIZE)
        ours = self.hip.open_memory(memory.ipc)
        self.hip.call("hipMemcpyDtoD", ours, self.hip.floats(VALUES), SIZE)
        event = self.client.export_event(DEVICE)
        self.assertEqual(len(event.ipc), 128)
        self.softmax(device=DEVICE, X=memory, Y=memory.at(SIZE), event=event)
        self.client.synchronize()
        self.assertAlmostEqual(sum(self.hip.read_floats(ours, 2 * COUNT)[COUNT:COUNT + COLUMNS]), 1.0, places=4)

    def test_what_is_no_longer_used_is_given_back(self):
        def counts():
            stats = self.client.stats()["service"]
            return stats["buffers"], stats["events"]

        before = counts()
        self.client.export_event(DEVICE), self.client.alloc_memory(DEVICE, 64)
        until(lambda: counts() == before, what="the buffer and the event to be given back")

    def test_another_daemon(self):
        import kiln
        with Service() as service:
            client = service.client()
            softmax = client.compile("softmax", "gfx942", M=ROWS, N=COLUMNS)
            x, y = self.hip.floats(VALUES), self.hip.floats([-1.0] * COUNT)
            args = {name: client.open_memory(self.hip.memory_handle(memory), DEVICE, SIZE) for name, memory in (("X", x), ("Y", y))}
            gone = self.hip.floats(VALUES)
            lost = client.open_memory(self.hip.memory_handle(gone), DEVICE, SIZE)
            own, event = client.alloc_memory(DEVICE, SIZE), client.export_event(DEVICE)
            stream = client.create_stream()
            imported = client.import_event(self.hip.event_handle(self.hip.event()), DEVICE)
            service.process.send_signal(signal.SIGKILL)
            service.process.wait()
            self.hip.call("hipFree", gone)
            service.start()
            client.stats()  # meets the new one
            self.assertEqual((own.number, event.number, lost.number), (0, 0, 0))
            softmax(device=DEVICE, stream=stream, wait=[imported], **args)
            self.assert_softmax(y)
            for wrong in (dict(args, X=own), dict(args, X=lost)):
                with self.assertRaises(kiln.errors.InvalidArgument):
                    softmax(device=DEVICE, **wrong)
            client.close()


if __name__ == "__main__":
    unittest.main()
