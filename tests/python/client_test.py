"""The Python package: arrays in shared memory, kernels, errors, threads."""

import math
import os
import re
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import ROOT, Service

import kiln


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.client = cls.service.client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.service.__exit__()

    def test_gemm_on_own_memory(self):
        import numpy
        generator = numpy.random.default_rng(3)
        x, y = (generator.standard_normal(s).astype(numpy.float32) for s in ((33, 45), (45, 17)))
        a, b, c = self.client.from_numpy(x), self.client.from_numpy(y), self.client.empty((33, 17), "f32")
        kernel = self.client.compile("gemm", M=33, N=17, K=45, dtype="f32")
        self.assertGreaterEqual(kernel(A=a, B=b, C=c), 0)
        numpy.testing.assert_allclose(c.numpy(), x @ y, rtol=1e-4, atol=1e-4)
        a.numpy()[...] = 0  # the daemon reads the same bytes
        kernel(A=a, B=b, C=c)
        self.assertFalse(c.numpy().any())
        for array in (a, b, c):
            array.free()

    def test_without_numpy(self):
        x = self.client.empty((2, 8), "f32").fill_from(float(i % 8) for i in range(16))
        y = self.client.empty((2, 8), "f32")
        self.client.run("softmax", arguments={"X": x, "Y": y}, M=2, N=8)
        total = sum(math.exp(i) for i in range(8))
        for i, got in enumerate(y.tolist()):
            self.assertAlmostEqual(got, math.exp(i % 8) / total, places=6)

    def test_half_types(self):
        for dtype in ("f16", "bf16"):
            x = self.client.empty((1, 4), dtype).fill_from([0, 1, 2, 3])
            self.assertEqual(x.tolist(), [0, 1, 2, 3])
            y = self.client.empty((1, 4), dtype)
            self.client.run("softmax", arguments={"X": x, "Y": y}, M=1, N=4, dtype=dtype)
            self.assertAlmostEqual(sum(y.tolist()), 1, places=2)

    def test_second_compile_is_a_hit(self):
        first = self.client.compile("rmsnorm", M=3, N=50)
        second = self.client.compile("rmsnorm", M=3, N=50, must_hit=True)
        self.assertEqual((first.key, second.cached), (second.key, True))
        with self.assertRaises(kiln.errors.MustHit):
            self.client.compile("rmsnorm", M=3, N=51, must_hit=True)

    def test_verify_and_explain(self):
        kernel = self.client.compile("softmax", M=5, N=77)
        x, y = self.client.empty((5, 77)), self.client.empty((5, 77))
        x.fill_from(math.sin(i) * 3 for i in range(5 * 77))
        result = kernel.verify(X=x, Y=y)
        self.assertTrue(result["passed"], result)
        self.assertIn("kernel softmax", kernel.explain()["kernel_program"])

    def buffers(self):
        return len(self.client.connection.call("buffer.list")[0]["buffers"])

    def test_forgotten_arrays_are_given_back(self):
        before, files = self.buffers(), len(os.listdir("/proc/self/fd"))
        for _ in range(200):  # the daemon holds 64
            self.client.empty((4, 4)).fill_from(range(16))
        kept = self.client.empty((4,)).numpy()  # the view keeps the memory
        self.assertEqual(self.buffers(), before + 1)
        kept[...] = 3
        del kept
        self.assertEqual((self.buffers(), len(os.listdir("/proc/self/fd"))), (before, files))

    def test_from_numpy_of_own_memory(self):
        import numpy
        before = self.buffers()
        a = self.client.empty((4, 8))
        same = self.client.from_numpy(a.numpy())
        rows = self.client.from_numpy(a.numpy()[2:])
        self.assertEqual((same.buffer, rows.buffer, rows.offset, rows.shape), (a.buffer, a.buffer, 64, (2, 8)))
        rows.numpy()[...] = 7
        self.assertEqual(a.tolist(), [0] * 16 + [7] * 16)
        result = self.client.empty((2, 8))
        self.client.run("softmax", arguments={"X": rows, "Y": result}, M=2, N=8)
        self.assertEqual(result.tolist(), [0.125] * 16)
        for view in (a.numpy()[:, 1], a.numpy()[0, 1:], a.numpy().T, a.numpy().astype(numpy.float64), a.numpy() + 1):
            copy = self.client.from_numpy(view)
            self.assertNotEqual(copy.buffer, a.buffer)
            numpy.testing.assert_array_equal(copy.numpy(), view)
        half = self.client.from_numpy(a.numpy(), dtype="f16")
        self.assertEqual(half.tolist(), a.tolist())
        a.free()
        rows.numpy()[...] = 1
        self.client.run("softmax", arguments={"X": rows, "Y": result}, M=2, N=8)
        same.free()
        rows.free()
        self.assertEqual((a.buffer, rows.buffer), (0, 0))
        self.assertNotEqual(self.client.from_numpy(a.numpy()).buffer, 0)  # given back: copied
        del a, same, rows, result, copy, half, view
        self.assertEqual(self.buffers(), before)
        with self.service.client() as other:
            theirs = other.empty((2, 8))
            with self.assertRaises(ValueError):
                self.client.compile("softmax", M=2, N=8)(X=theirs, Y=theirs)

    def test_errors(self):
        with self.assertRaises(kiln.errors.ProgramInvalid) as raised:
            self.client.compile("gemm", M=-3, N=1, K=1)
        self.assertTrue(any(d["pointer"].endswith("/M") for d in raised.exception.diagnostics), str(raised.exception))
        with self.assertRaises(kiln.errors.UnknownTarget):
            self.client.compile("gemm", "gfx9000", M=1, N=1, K=1)
        with self.assertRaises(ValueError):
            self.client.empty((2,), "f17")
        with self.assertRaises(kiln.errors.NotRunning):
            kiln.connect("/tmp/kiln-no-such-folder/kiln.sock", auto_start=False)

    def test_a_request_that_is_too_long_is_not_sent(self):
        most = self.client.connection.hello["limits"]["line_bytes_max"]
        with self.assertRaisesRegex(kiln.errors.InvalidArgument, str(most)) as raised:
            self.client.connection.call("program.check", {"program": "x" * most})
        self.assertFalse(raised.exception.retryable)
        self.client.connection.call("ping", {})

    def test_exceptions_cover_the_error_table(self):
        with open(os.path.join(ROOT, "engine/base/result.hpp"), encoding="utf-8") as file:
            codes = re.search(r"enum class ErrorCode \{(.*?)\};", file.read(), re.S).group(1)
        names = re.findall(r"^\s*([a-z_]+),", codes, re.M)
        self.assertGreater(len(names), 20)
        self.assertEqual(set(names), set(kiln.errors.BY_CODE))

    def test_threads_share_a_client(self):
        failures = []

        def work(n):
            try:
                x, y = self.client.empty((2, n)), self.client.empty((2, n))
                x.fill_from([1.0] * (2 * n))
                self.client.compile("softmax", M=2, N=n)(X=x, Y=y)
                assert abs(y.tolist()[0] - 1 / n) < 1e-6
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 5, 9, 17)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
