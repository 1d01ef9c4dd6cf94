"""Sixteen clients that launch, verify and vanish at once: every answer is right, the daemon lives and ends when asked."""

import os
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service, until

CLIENTS, CALLS, ROUNDS = 16, 24, 4


class Stress(unittest.TestCase):
    def client(self, service, number, failures):
        try:
            connection = service.connect()
            columns = 100 + number % 5
            buffers = {}
            for name in "XY":
                fd = os.memfd_create("stress", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.ftruncate(fd, 4096)
                if name == "Y":
                    result = fd
                buffers[name] = {"buffer": connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])["result"]["buffer"]}
            request = {"program": "softmax", "set": {"M": 1, "N": columns}, "args": buffers}
            for call in range(CALLS):
                answer = connection.call("kernel.verify" if call % 2 else "kernel.launch", request)
                if "result" not in answer or not answer["result"].get("passed", True):
                    failures.append(answer)
                    return
                if abs(struct.unpack("<f", os.pread(result, 4, 0))[0] - 1 / columns) > 1e-6:
                    failures.append("wrong result")
                if number % 4 == 3 and call == CALLS // 2:  # goes away in the middle of one
                    connection.send({"jsonrpc": "2.0", "id": 7, "method": "kernel.verify", "params": request})
                    break
            connection.close()
        except BaseException as error:
            failures.append(repr(error))

    def test_clients_that_come_and_go(self):
        with Service() as service:
            for _ in range(ROUNDS):
                failures = []
                threads = [threading.Thread(target=self.client, args=(service, n, failures)) for n in range(CLIENTS)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(failures, [], service.log())
                self.assertTrue(service.alive(), service.log())
            until(lambda: service.client().stats()["service"]["buffers"] == 0, what="buffers to be released")
            self.assertEqual(service.stop(), 0)

    def test_dead_work_does_not_hold_up_the_next(self):
        with Service() as service:
            connection = service.connect()
            kernels = [{"program": "softmax", "set": {"M": 2, "N": n}} for n in range(1, 301)]
            connection.call("kernel.prepare", {"kernels": kernels, "deadline_ms": 300})
            started = service.client().stats()["workers"]["started"]
            self.assertIn("result", connection.call("kernel.compile", {"program": "rmsnorm", "set": {"M": 2, "N": 9}}))
            self.assertLessEqual(service.client().stats()["workers"]["started"], started + 4, "a worker was started for each dead request")


if __name__ == "__main__":
    unittest.main()
