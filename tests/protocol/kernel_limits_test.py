"""What a user meets at the engine's limits: a queue that is full, grids that are too large, functions that are not built, and
kernels that somebody else unloads."""

import json
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service, ServiceCase


def memfd(size):
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    return fd


def elementwise(value, dtype):
    return {"kiln": "tile/1", "name": "apply",
            "params": [{"name": "X", "dtype": dtype, "shape": ["64"], "access": "read"},
                       {"name": "Y", "dtype": dtype, "shape": ["64"], "access": "write"}],
            "launches": [{"grid": ["1"], "threads": "64", "body": [
                {"op": "map", "index": ["i"], "extent": ["64"], "body": [{"set": "Y[i]", "value": value}]}]}]}


class Settings(unittest.TestCase):
    def test_the_queue_of_compiles_is_as_long_as_it_is_set(self):
        with Service(config={"workers_max": 1, "limits": {"compiles_queued_max": 1}}) as service:
            connection = service.connect()
            self.addCleanup(connection.close)
            self.assertEqual(connection.call("hello")["result"]["limits"]["compiles_queued_max"], 1)
            program = {"program": "softmax", "target": "host"}
            self.assertIn("result", connection.call("kernel.compile", dict(program, set={"M": 2, "N": 100})))
            batch = [{"jsonrpc": "2.0", "id": n, "method": "kernel.compile", "params": dict(program, set={"M": 2, "N": 200 + n})}
                     for n in range(16)]
            connection.send(batch)
            answers = connection.answer()
            errors = [answer["error"]["data"] for answer in answers if "error" in answer]
            self.assertTrue(errors, "16 compiles found room in a queue of one")
            self.assertEqual({error["code"] for error in errors}, {"busy"}, errors)
            self.assertTrue(all(error["retryable"] for error in errors))
            self.assertTrue(any("result" in answer for answer in answers))

    def test_limits_that_are_fixed_say_so(self):
        with Service() as service:
            folder = os.path.join(service.folder, "config", "kiln")
            os.makedirs(folder)
            for name in ("log_bytes_max", "text_bytes_max"):
                with open(os.path.join(folder, "config.json"), "w") as file:
                    json.dump({"limits": {name: 1000}}, file)
                shown = service.kiln("config", "show")
                self.assertNotEqual(shown.returncode, 0)
                self.assertIn(name, shown.stderr)
                self.assertIn("this limit is fixed", shown.stderr)


class Kernels(ServiceCase):
    def connect(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        return connection

    def buffers(self, connection):
        buffers = {}
        for name in "XY":
            fd = memfd(4096)
            buffers[name] = {"buffer": connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])["result"]["buffer"]}
            os.close(fd)
        return buffers

    def test_another_ones_unload_fails_no_launch(self):
        connection, other = self.connect(), self.connect()
        request = {"program": "softmax", "set": {"M": 1, "N": 100}, "args": self.buffers(connection)}
        key = connection.call("kernel.launch", request)["result"]["key"]
        done = threading.Event()

        def unload():
            while not done.is_set():
                other.call("kernel.unload", {"key": key})

        unloader = threading.Thread(target=unload)
        unloader.start()
        try:
            failures = [answer for answer in (connection.call("kernel.launch", request) for _ in range(500)) if "error" in answer]
        finally:
            done.set()
            unloader.join()
        self.assertEqual(failures, [])

    def test_grids_with_too_many_blocks_are_refused(self):
        program = elementwise("X[i]", "f32")
        program["launches"][0]["grid"] = ["2147483647", "2147483647", "4"]
        for target in ("host", "gfx942"):
            error = self.connect().call("kernel.compile", {"program": program, "target": target})["error"]["data"]
            self.assertEqual(error["code"], "program_invalid")
            self.assertEqual(error["diagnostics"][0]["pointer"], "/launches/0/grid")

    def test_sine_and_cosine_on_the_host_equal_the_interpreters(self):
        connection = self.connect()
        arguments = self.buffers(connection)
        for dtype in ("f16", "bf16", "f32", "f64"):
            for value in ("sin(X[i] + cast(i * 1000, %s))", "cos(X[i] - cast(i, %s))"):
                request = {"program": elementwise(value % dtype, dtype), "args": arguments}
                self.assertTrue(connection.call("kernel.verify", request).get("result", {}).get("passed"), (dtype, value))

    def test_what_the_host_does_not_have_is_located(self):
        for value in ("pow(X[i], X[i])", "erf(X[i])"):
            answer = self.connect().call("kernel.compile", {"program": elementwise(value, "f64"), "target": "host"})
            error = answer["error"]["data"]
            self.assertEqual(error["code"], "unsupported")
            self.assertEqual(error["diagnostics"][0]["pointer"], "/launches/0/body/0")
            self.assertIn("not yet", error["diagnostics"][0]["message"])


if __name__ == "__main__":
    unittest.main()
