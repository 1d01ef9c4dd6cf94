"""A client outlives its daemon, and a fork: arrays live on, what is harmless is repeated, what is not is told."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Service, until

import kiln


def sent_since(connection, before):
    """Whether a request after number `before` is on its way as a whole."""
    return connection._id > before and connection._sent


class Thread(threading.Thread):
    """Runs a function; keeps what it gave or raised."""

    def __init__(self, work):
        super().__init__()
        self.work, self.value, self.error = work, None, None
        self.start()

    def run(self):
        try:
            self.value = self.work()
        except BaseException as error:
            self.error = error

    def result(self):
        self.join()
        if self.error:
            raise self.error
        return self.value


class Reconnect(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kiln-reconnect-")
        self.client = kiln.connect(os.path.join(self.folder, "run", "kiln.sock"),
                                   daemon_arguments=["--cache", os.path.join(self.folder, "cache")])

    def tearDown(self):
        self.client.shutdown()
        self.client.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pid(self):
        return self.client.connection.hello["pid"]

    def kill(self):
        os.kill(self.pid(), signal.SIGKILL)
        os.waitpid(self.pid(), 0)  # this process started it

    def softmax(self):
        x, y = self.client.empty((2, 4)).fill_from([0.0] * 8), self.client.empty((2, 4))
        return self.client.compile("softmax", M=2, N=4), x, y

    def during(self, work):
        """Kills the daemon when it has got the whole request of `work` and done nothing with it."""
        os.kill(self.pid(), signal.SIGSTOP)
        before = self.client.connection._id
        thread = Thread(work)
        until(lambda: sent_since(self.client.connection, before), what="the request")
        self.kill()
        return thread

    def test_between_requests(self):
        kernel, x, y = self.softmax()
        self.client.empty((100,)).free()  # so that ids change
        z = self.client.empty((2, 4))
        kernel(X=x, Y=z)
        old, old_id = self.pid(), z.buffer
        self.kill()
        x.fill_from([1, 1, 1, 1, 2, 2, 2, 2])
        self.assertGreaterEqual(kernel(X=x, Y=z), 0)  # by a key that the new daemon reads from disk
        kernel(X=x, Y=y)
        self.assertEqual((y.tolist(), z.tolist()), ([0.25] * 8, [0.25] * 8))
        self.assertNotEqual(self.pid(), old)
        ids = {b["buffer"] for b in self.client.connection.call("buffer.list")[0]["buffers"]}
        self.assertEqual(ids, {x.buffer, y.buffer, z.buffer}, old_id)
        self.kill()
        x.free()
        self.assertEqual(len(self.client.connection.call("buffer.list")[0]["buffers"]), 2)

    def test_harmless_requests_are_repeated(self):
        kernel = self.during(lambda: self.client.compile("rmsnorm", M=2, N=16)).result()
        self.assertEqual(len(kernel.key), 64)
        self.assertIn("gemm", self.during(self.client.programs).result())
        made = self.during(lambda: self.client.empty((2, 16))).result()
        self.assertEqual([b["buffer"] for b in self.client.connection.call("buffer.list")[0]["buffers"]], [made.buffer])

    def test_a_launch_is_not_repeated(self):
        kernel, x, y = self.softmax()
        with self.assertRaises(kiln.errors.NotRunning) as raised:
            self.during(lambda: kernel(X=x, Y=y)).result()
        self.assertTrue(raised.exception.retryable)
        self.assertIn("not repeated", str(raised.exception))
        self.assertFalse(any(y.tolist()))
        self.assertEqual(self.client.stats()["service"]["launches"], 0)
        kernel(X=x, Y=y)
        self.assertEqual(y.tolist(), [0.25] * 8)

    def test_a_kernel_without_a_cache_is_compiled_again(self):
        kernel, x, y = self.softmax()
        self.kill()
        shutil.rmtree(os.path.join(self.folder, "cache"))
        kernel(X=x, Y=y)
        self.assertEqual(y.tolist(), [0.25] * 8)

    def test_forked_child(self):
        kernel, x, y = self.softmax()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                kernel(X=x, Y=y)
                own = self.client.connection.call("buffer.list")[0]["buffers"]
                x.free()
                status = 0 if y.tolist() == [0.25] * 8 and len(own) == 2 else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(y.tolist(), [0.25] * 8)  # the same memory
        pid = self.pid()
        y.fill_from([0] * 8)
        kernel(X=x, Y=y)
        self.assertEqual((y.tolist(), self.pid()), ([0.25] * 8, pid))

    def test_fork_while_another_thread_waits(self):
        daemon = self.pid()
        os.kill(daemon, signal.SIGSTOP)
        before = self.client.connection._id
        thread = Thread(self.client.programs)
        until(lambda: sent_since(self.client.connection, before), what="the request")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.kill(daemon, signal.SIGCONT)
                status = 0 if "gemm" in self.client.programs() else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertIn("gemm", thread.result())
        self.assertEqual(self.pid(), daemon)

    def test_a_raising_progress_function_ends_the_request_only(self):
        def stop(_):
            raise KeyboardInterrupt

        kernels = [{"program": "softmax", "set": {"M": 3, "N": n}} for n in range(10, 40)]
        x = self.client.empty((4,))
        with self.assertRaises(KeyboardInterrupt):
            self.client.prepare(kernels, progress=stop)
        self.assertIn("gemm", self.client.programs())
        self.assertEqual([b["buffer"] for b in self.client.connection.call("buffer.list")[0]["buffers"]], [x.buffer])


class Ends(unittest.TestCase):
    def test_without_auto_start(self):
        with Service() as service:
            client = service.client()
            kernel = client.compile("softmax", M=1, N=4)
            x, y = client.empty((1, 4)), client.empty((1, 4))
            service.process.kill()
            service.process.wait()
            with self.assertRaises(kiln.errors.NotRunning) as raised:
                kernel(X=x, Y=y)
            self.assertTrue(raised.exception.retryable)
            service.start()
            kernel(X=x, Y=y)
            self.assertEqual(y.tolist(), [0.25] * 4)
            client.close()
            with self.assertRaises(kiln.errors.NotRunning):
                client.programs()
            y.free()

    def test_close_from_another_thread(self):
        with Service() as service:
            client = service.client()
            os.kill(service.process.pid, signal.SIGSTOP)
            try:
                before = client.connection._id
                thread = Thread(client.programs)
                until(lambda: sent_since(client.connection, before), what="the request")
                client.close()
                with self.assertRaises(kiln.errors.NotRunning):
                    thread.result()
            finally:
                os.kill(service.process.pid, signal.SIGCONT)


class RelativePaths(unittest.TestCase):
    def test_from_the_working_folder(self):
        script = """if True:
            import kiln, os, sys
            with kiln.connect("run/x.sock", daemon_arguments=sys.argv[1:]) as client:
                os.chdir("/")
                client.compile("softmax", M=1, N=5)
                print(client.connection.call("cache.stats")[0]["path"])
                os.kill(client.connection.hello["pid"], 9)
                client.programs()
                client.shutdown()"""
        for arguments, variable in ((["--cache", "store"], {}), (["--cache=store"], {}), ([], {"KILN_CACHE_DIR": "store"})):
            with tempfile.TemporaryDirectory(prefix="kiln-relative-", ignore_cleanup_errors=True) as folder:
                environment = dict(os.environ, KILN_DAEMON=os.path.join(BIN, "kilnd"), PYTHONPATH=os.pathsep.join(sys.path), **variable)
                done = subprocess.run([sys.executable, "-c", script, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.strip(), os.path.join(folder, "store"))
                self.assertTrue(os.path.exists(os.path.join(folder, "run", "x.sock.lock")))


if __name__ == "__main__":
    unittest.main()
