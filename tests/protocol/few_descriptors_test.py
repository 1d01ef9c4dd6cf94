"""A daemon that may open 64 files, while a client holds all that are left: what fails for it names the cause, nothing
is lost, and all is well at once when that client has left."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from hip import LIBRARY
from service import Service, until
from witness import COUNT, TRIPLED, footprint, memfd

MOST = 64
PROGRAM = {"program": TRIPLED}
SOFTMAX = {"program": "softmax", "set": {"M": 4, "N": 64}}
CARD = "emu:gfx942"

# Requests by what they need descriptors for. {args}: two buffers; {key}: a kernel on disk.
COLD = {
    "to read a program": ("program.show", {"name": "gemm"}),
    "to make memory": ("buffer.alloc", {"size": 4096}),
    "to start a worker": ("kernel.compile", PROGRAM),
    "to answer with an object": ("kernel.compile", dict(PROGRAM, want="fd")),
    "for many kernels": ("kernel.prepare", {"kernels": [PROGRAM, SOFTMAX]}),
    "to start a device process": ("kernel.launch", dict(PROGRAM, args="{args}")),
    "for a capture": ("kernel.launch", dict(PROGRAM, args="{args}", capture="always")),
    "for the interpreter": ("kernel.verify", dict(PROGRAM, args="{args}")),
    "to explain": ("kernel.explain", PROGRAM),
    "to tune": ("kernel.tune", {"program": TRIPLED, "candidates": [{"name": "as it is"}], "rounds_max": 1}),
    "to evict": ("cache.evict", {"entries_max": 100}),
}
WARM = {  # the kernels are on disk, and the compiler is known
    "to find a kernel": ("kernel.compile", SOFTMAX),
    "to find a kernel or nothing": ("kernel.compile", dict(SOFTMAX, must_hit=True)),
    "to find a kernel by its key": ("kernel.explain", {"key": "{key}"}),
    "to load a kernel by its key": ("kernel.load", {"key": "{key}"}),
    "to launch a kernel by its key": ("kernel.launch", {"key": "{key}", "args": "{args}"}),
    "to list what is on disk": ("cache.list", {}),
    "to export what is on disk": ("cache.export", {}),
    "to list programs": ("program.list", {}),
}
EMULATED = {
    "to start a card's process": ("buffer.alloc", {"size": 4096, "device": CARD}),
    "for an event": ("event.export", {"device": CARD}),
    "to look at a card": ("device.list", {"device": CARD}),
}


def filled(value, places):
    """The parameters with what stands for "{name}"."""
    if isinstance(value, dict):
        return {name: filled(item, places) for name, item in value.items()}
    return places.get(value, value) if isinstance(value, str) else value


class Scarce:
    """A daemon, a client, and another one that holds descriptors until so many are free."""

    def __init__(self, cache=None):
        self.service = Service(config={"workers_max": 1}, cache=cache, descriptors_max=MOST)
        self.client, self.other = self.service.connect(), self.service.connect()
        self.client.call("ping")
        self.args = {name: {"buffer": self.register(self.client)} for name in "XY"}
        self.held = []

    def register(self, connection):
        fd = memfd(4096)
        try:
            return connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])["result"]["buffer"]
        finally:
            os.close(fd)

    def free(self):
        return MOST - len(os.listdir("/proc/%d/fd" % self.service.process.pid))

    def leave(self, count):
        """What the daemon closes just now may change the number: until it is right."""
        def done():
            while self.free() > count:
                self.held.append(self.register(self.other))
            while self.free() < count and self.held:
                self.other.call("buffer.unregister", {"buffer": self.held.pop()})
            return self.free() == count or not self.held
        until(done, what="%d descriptors to be free" % count)

    def close(self):
        self.client.close()
        self.other.close()
        self.service.__exit__()


def errors(answer):
    """Those of an answer, and of each kernel of a prepare's. A list of what there is that has nothing is wrong."""
    if "error" in answer:
        return [answer["error"]]
    if [] in (answer["result"].get("entries"), answer["result"].get("programs")):
        raise AssertionError("an empty list: %r" % answer)
    return [kernel["error"] for kernel in answer["result"].get("kernels", []) if "error" in kernel]


class FewDescriptors(unittest.TestCase):
    def scarce(self, cache=None):
        scarce = Scarce(cache)
        self.addCleanup(scarce.close)
        return scarce

    def names_the_cause(self, error, free):
        text = "\n".join([error["message"], *error["data"]["context"]])
        self.assertRegex(text, "descriptor|Too many open files", "with %d free" % free)
        self.assertTrue(error["data"]["retryable"], "with %d free: %s" % (free, text))

    def check(self, method, params, cache=None, key=None):
        """With none free, with one, and so on until it goes; then at once when the other has left."""
        scarce = self.scarce(cache)
        params = filled(params, {"{args}": scarce.args, "{key}": key})
        for free in range(MOST):
            scarce.leave(free)
            failed = errors(scarce.client.call(method, params))
            for error in failed:
                self.names_the_cause(error, free)
            if not failed or not scarce.held:
                break
        scarce.other.close()
        until(lambda: scarce.client.call("engine.stats")["result"]["service"]["buffers"] <= 3, what="its buffers to go")
        self.assertEqual(errors(scarce.client.call(method, params)), [])
        stats = scarce.client.call("cache.stats")["result"]
        self.assertEqual((stats["quarantined"], stats["writable"], stats.get("why_no_locks")), (0, True, None))

    def test_from_nothing(self):
        for what, request in {**COLD, **(EMULATED if os.path.exists(LIBRARY) else {})}.items():
            with self.subTest(what):
                self.check(*request)

    def test_with_a_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "made")
            with Service(cache=made) as service:
                connection = service.connect()
                key = connection.call("kernel.compile", SOFTMAX)["result"]["key"]
                connection.close()
            for what, request in WARM.items():
                with self.subTest(what):
                    cache = os.path.join(folder, what)
                    shutil.copytree(made, cache)
                    self.check(*request, cache=cache, key=key)
                    self.assertEqual(self.entries(cache), self.entries(made), "entries were lost")

    def entries(self, cache):
        return sorted(name for _, _, files in os.walk(os.path.join(cache, "entries")) for name in files)

    def test_what_needs_none_goes_on(self):
        """Also a launch of what is loaded, on memory that is mapped."""
        scarce = self.scarce()
        launch = dict(PROGRAM, args=scarce.args)
        self.assertIn("result", scarce.client.call("kernel.launch", launch))
        scarce.leave(0)
        for method, params in (("ping", {}), ("hello", {}), ("engine.stats", {}), ("kernel.compile", PROGRAM),
                               ("kernel.launch", launch), ("buffer.list", {}), ("stream.create", {})):
            self.assertIn("result", scarce.client.call(method, params), method)

    def test_descriptors_that_find_no_place(self):
        """The system cuts them off: the connection ends, and the log says why."""
        scarce = self.scarce()
        before = footprint(scarce.service.process.pid)
        late = scarce.service.connect()
        number = late.call("hello")["result"]["connection"]
        scarce.leave(0)
        fd = memfd(4 * COUNT)
        try:
            self.assertIsNone(late.call("buffer.register", {"fd": {"fd": 0}}, [fd]))
        except BrokenPipeError:  # it has ended while the request was sent
            pass
        os.close(fd)
        lines = [line for line in scarce.service.log().splitlines() if "c%d (pid" % number in line]
        self.assertEqual(len(lines), 1, scarce.service.log())
        self.assertIn("out of file descriptors", lines[0])
        late.close()
        for buffer in scarce.held:
            scarce.other.call("buffer.unregister", {"buffer": buffer})
        until(lambda: footprint(scarce.service.process.pid) == before, what="what was held to be given back")

    def test_a_connection_that_finds_no_place(self):
        scarce = self.scarce()
        scarce.leave(0)
        late = scarce.service.connect()
        self.assertIsNone(late.line())
        until(lambda: "connection refused: out of file descriptors" in scarce.service.log(), what="the reason in the log")
        late.close()
        scarce.other.close()
        self.assertEqual(scarce.client.call("ping")["result"], {})
        late = scarce.service.connect()
        self.assertEqual(late.call("ping")["result"], {})
        late.close()


if __name__ == "__main__":
    unittest.main()
