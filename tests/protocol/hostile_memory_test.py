"""Clients whose memory is not what it seems, or changes while a kernel works on it: they spoil no more than their own
results."""

import ctypes
import mmap
import os
import random
import select
import signal
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from card import stat_fields
from hip import LIBRARY
from service import until
from witness import COUNT, TRIPLED, WitnessedCase, device_processes, memfd, shared_file

CARD = "emu:gfx942"
needs_card = unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
SEED = int(os.environ.get("KILN_SEED", "1"))
PAGE = mmap.PAGESIZE


def tensor(name, shape, access="read", dtype="i32", **more):
    return dict({"name": name, "dtype": dtype, "shape": shape, "access": access}, **more)


def program(name, params, body, grid=1):
    return {"kiln": "tile/1", "name": name, "params": params,
            "launches": [{"grid": [grid], "threads": "1 if target.is_host else 64", "body": body}]}


def each(extent, *items):
    return {"op": "map", "index": ["i"], "extent": [extent], "body": list(items)}


# The last element of a tensor that is larger than any memory.
ENORMOUS = 1 << 37
LAST = program("last", [tensor("X", [128, ENORMOUS // 128]), tensor("Y", [COUNT], "write")],
               [each(COUNT, {"set": "Y[i]", "value": "X[127, %d + i]" % (ENORMOUS // 128 - COUNT)})])


class Sparse(WitnessedCase):
    """Files of 16 TiB without a single page."""

    config = {"limits": {"buffer_bytes_max": 1 << 40}}
    SIZE = 16 << 40

    def test_more_than_all_clients_may_have(self):
        for fd in (memfd(self.SIZE), shared_file(self.SIZE)):
            self.refused("resource_limit", "all clients' buffers together may have 1099511627776 bytes",
                         "buffer.register", {"fd": {"fd": 0}}, [fd])
            os.close(fd)
        self.assertEqual(self.ok("engine.stats")["service"]["buffer_bytes"], 2 * 4 * COUNT, "the witness's")

    def test_more_than_can_be_mapped(self):
        fd = memfd(1 << 47)
        self.refused("resource_limit", "larger than any that can be mapped", "buffer.register", {"fd": {"fd": 0}}, [fd])
        os.close(fd)

    def test_a_part_of_one_is_as_good_as_any(self):
        fd = memfd(self.SIZE)
        for name, at in (("X", self.SIZE // 2), ("Y", self.SIZE - PAGE)):
            os.pwrite(fd, b"\x07\0\0\0" * COUNT, at)
        x = self.ok("buffer.register", {"fd": {"fd": 0}, "offset": self.SIZE // 2, "size": PAGE}, [fd])["buffer"]
        y = self.ok("buffer.register", {"fd": {"fd": 0}, "offset": self.SIZE - PAGE}, [fd])["buffer"]
        self.ok("kernel.launch", {"program": TRIPLED, "args": {"X": {"buffer": x}, "Y": {"buffer": y}}})
        self.assertEqual(os.pread(fd, 4 * COUNT, self.SIZE - PAGE), struct.pack("<i", 22) * COUNT)
        os.close(fd)

    def test_a_tensor_larger_than_memory(self):
        """A launch that reads its end is right. What would copy all of it is refused before anything is copied."""
        fd = memfd(4 * ENORMOUS)
        os.pwrite(fd, b"\x07\0\0\0" * COUNT, 4 * (ENORMOUS - COUNT))
        pages = os.fstat(fd).st_blocks
        y = memfd(4 * COUNT)
        result = os.dup(y)
        request = {"program": LAST, "args": {"X": self.register(os.dup(fd)), "Y": self.register(y)}}
        self.ok("kernel.launch", request)
        self.assertEqual(os.pread(result, 4 * COUNT, 0), b"\x07\0\0\0" * COUNT)
        for method, more in (("kernel.verify", {}), ("kernel.launch", {"capture": "always"})):
            with self.subTest(method=method):
                answer = self.connection.call(method, dict(request, **more))
                if "result" in answer:  # the launch's own answer; the capture could not be made
                    self.assertIn("error", answer["result"]["capture"])
                else:
                    self.assertEqual(answer["error"]["data"]["code"], "resource_limit", answer)
        self.assertEqual(os.fstat(fd).st_blocks, pages)
        os.close(fd)
        os.close(result)


# Works for as long as `n` says, then reads X.
SLOW = program("slow", [tensor("X", [COUNT]), tensor("W", [COUNT]), tensor("Y", [COUNT], "write"),
                        {"name": "n", "scalar": True, "dtype": "i32"}], [
    {"op": "alloc", "name": "w", "space": "fragment", "dtype": "i32", "shape": [COUNT]},
    {"op": "copy", "from": "W[0:]", "to": "w"},
    {"op": "for", "var": "k", "to": "cast(n, index)", "body": [
        each(COUNT, {"set": "w[i]", "value": "(w[i] ^ w[i] << 7) | 1"})]},
    each(COUNT, {"set": "Y[i]", "value": "X[i] + (w[i] & 1)"})])
MANY = 100000000
SEVENS = struct.pack("<i", 7) * COUNT
PUNCH = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE


def punch(fd, offset, size):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, PUNCH, ctypes.c_long(offset), ctypes.c_long(size)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


class DuringALaunch(WitnessedCase):
    def started(self, x, w, y):
        """Sends a launch of SLOW, and stops the device process with it. False where it was answered before that."""
        launches = self.ok("engine.stats", connection=self.other)["service"]["launches"]
        request = {"program": SLOW, "args": {"X": x, "W": w, "Y": y, "n": MANY}}
        self.connection.send({"jsonrpc": "2.0", "id": "slow", "method": "kernel.launch", "params": request})
        until(lambda: self.ok("engine.stats", connection=self.other)["service"]["launches"] > launches,
              what="the launch")
        os.kill(self.device, signal.SIGSTOP)
        until(lambda: stat_fields(self.device)[0] == "T", what="the device process to stop")
        self.ok("ping", connection=self.other)  # what it had said by then is passed on
        return not self.answered()

    def answered(self):
        return bool(select.select([self.connection.socket], [], [], 0)[0])

    def during(self, x, y, change, again=True):
        """Runs `change` while a launch of SLOW is on the device, once or until it is answered. Gives the answer."""
        w = self.register(memfd(4 * COUNT))
        self.other = self.connect()
        (self.device,) = device_processes(self.service.process.pid)
        try:
            until(lambda: self.started(x, w, y) or self.go_on(), what="a launch that is caught on the device")
            change()
        finally:
            os.kill(self.device, signal.SIGCONT)
        while again and not self.answered():
            change()
        return self.connection.answer()

    def go_on(self):
        os.kill(self.device, signal.SIGCONT)
        self.connection.answer()

    def guarded(self, make):
        """A file of three pages whose middle one is to be used."""
        fd = make(3 * PAGE)
        self.addCleanup(os.close, fd)
        os.pwrite(fd, b"\xa5" * 3 * PAGE, 0)
        os.pwrite(fd, SEVENS, PAGE)
        answer = self.ok("buffer.register", {"fd": {"fd": 0}, "offset": PAGE, "size": PAGE}, [fd])
        return fd, {"buffer": answer["buffer"]}

    def around(self, fd):
        self.assertEqual(os.pread(fd, PAGE, 0), b"\xa5" * PAGE)
        self.assertEqual(os.pread(fd, PAGE, 2 * PAGE), b"\xa5" * PAGE)

    def numbers(self, fd):
        return set(struct.unpack("<%di" % COUNT, os.pread(fd, 4 * COUNT, PAGE)))

    def test_what_is_mapped_cannot_be_truncated(self):
        (x_fd, x), (y_fd, y) = self.guarded(memfd), self.guarded(memfd)

        def change():
            for fd in (x_fd, y_fd):
                with self.assertRaises(PermissionError):
                    os.ftruncate(fd, 0)
                os.ftruncate(fd, 4 * PAGE)  # it may grow
                with self.assertRaises(PermissionError):
                    os.ftruncate(fd, 3 * PAGE)

        self.assertIn("result", self.during(x, y, change))
        self.assertEqual(self.numbers(y_fd), {8})
        self.around(x_fd)
        self.around(y_fd)

    def test_what_is_copied_may_be_truncated(self):
        """Its copy was made before: the result is right, and is there where it has a place."""
        (x_fd, x), (y_fd, y) = self.guarded(shared_file), self.guarded(shared_file)
        answer = self.during(x, y, lambda: (os.ftruncate(x_fd, 0), os.ftruncate(y_fd, 0)), again=False)
        self.assertIn("result", answer)
        self.assertEqual(os.fstat(x_fd).st_size, 0)
        self.assertEqual(os.pread(y_fd, 8 * PAGE, PAGE)[:4 * COUNT], struct.pack("<i", 8) * COUNT)
        self.assertIn("became shorter", self.connection.call("kernel.launch", {
            "program": SLOW, "args": {"X": x, "W": x, "Y": y, "n": 1}})["error"]["message"])

    def test_a_hole_reads_as_zeros(self):
        (x_fd, x), (y_fd, y) = self.guarded(memfd), self.guarded(memfd)
        answer = self.during(x, y, lambda: punch(x_fd, PAGE, PAGE))
        self.assertIn("result", answer)
        self.assertLessEqual(self.numbers(y_fd), {1, 8})
        self.ok("kernel.launch", {"program": SLOW, "args": {"X": x, "W": x, "Y": y, "n": 1}})
        self.assertEqual(self.numbers(y_fd), {1})
        self.around(x_fd)
        self.around(y_fd)

    def test_holes_everywhere_while_it_writes(self):
        (x_fd, x), (y_fd, y) = self.guarded(memfd), self.guarded(memfd)
        answer = self.during(x, y, lambda: (punch(y_fd, PAGE, PAGE), punch(x_fd, PAGE, PAGE)))
        self.assertIn("result", answer)
        self.assertLessEqual(self.numbers(y_fd), {0, 1, 8})
        self.around(x_fd)
        self.around(y_fd)

    def test_closed_and_given_back_meanwhile(self):
        """The buffers stay until the launch is done; the request to give one back is answered then."""
        (x_fd, x), (y_fd, y) = self.guarded(memfd), self.guarded(memfd)

        def change():
            for number, buffer in enumerate((x, y)):
                self.connection.send({"jsonrpc": "2.0", "id": number, "method": "buffer.unregister", "params": buffer})
            self.ok("ping", connection=self.other)

        answers = [self.during(x, y, change, again=False), self.connection.answer(), self.connection.answer()]
        self.assertEqual(answers[0]["id"], "slow")
        self.assertEqual(sorted(answer["id"] for answer in answers[1:]), [0, 1])
        self.assertTrue(all("result" in answer for answer in answers), answers)
        self.assertEqual(self.numbers(y_fd), {8})


ADDED = program("added", [tensor("X", [COUNT]), tensor("Y", [COUNT], "readwrite", may_alias=True)],
                [each(COUNT, {"set": "Y[i]", "value": "X[i] + 1"})])


class Twice(WitnessedCase):
    """The same memory under several names, as input and output of one launch."""

    def launch(self, x, y, what=TRIPLED, **more):
        return self.connection.call("kernel.launch", dict({"program": what, "args": {"X": x, "Y": y}}, **more))

    def overlaps(self, x, y, **more):
        error = self.launch(x, y, **more)["error"]
        self.assertEqual(error["data"]["code"], "invalid_argument")
        self.assertIn('"Y" is written and overlaps "X"', error["message"])

    def test_every_way_to_name_it(self):
        fd = memfd(4 * PAGE)
        self.addCleanup(os.close, fd)
        again, reading = (os.open("/proc/self/fd/%d" % fd, flags) for flags in (os.O_RDWR, os.O_RDONLY))
        whole, same = self.register(os.dup(fd)), self.register(os.dup(fd))
        other, input_only = self.register(again), self.register(reading)
        second_page = self.register(os.dup(fd), offset=PAGE)
        copied = self.register(os.dup(fd), offset=16)  # no multiple of the page: a copy, of the same memory
        self.assertEqual([b["copied"] for b in self.ok("buffer.list")["buffers"]], [False] * 5 + [True])
        for x in (whole, same, other, input_only, copied):
            self.overlaps(x, whole)
            self.overlaps(dict(x, offset=4 * COUNT - 32), whole)
        self.overlaps(second_page, dict(whole, offset=PAGE))
        self.overlaps(dict(whole, offset=PAGE + 32), second_page)
        self.overlaps(copied, same)
        for x, y in ((whole, dict(whole, offset=4 * COUNT)), (whole, second_page), (copied, second_page),
                     (dict(input_only, offset=4 * COUNT), same), (dict(copied, offset=4 * COUNT - 16), whole)):
            self.assertIn("result", self.launch(x, y))

    def test_a_program_may_allow_it(self):
        fd = memfd(PAGE)
        x, y = self.register(os.dup(fd)), self.register(os.dup(fd))
        for times in range(1, 4):
            self.assertIn("result", self.launch(x, y, ADDED))
            self.assertEqual(os.pread(fd, 4 * COUNT, 0), struct.pack("<i", times) * COUNT)
        os.close(fd)


@needs_card
class TwiceOnACard(WitnessedCase):
    devices = ("host", CARD)

    def test_imported_by_the_card_too(self):
        fd = memfd(PAGE)
        mapped, imported = self.register(os.dup(fd)), self.register(os.dup(fd), device=CARD, size=PAGE)
        for x, y in ((mapped, imported), (imported, mapped), (imported, imported)):
            request = {"program": TRIPLED, "device": CARD, "args": {"X": x, "Y": y}}
            self.refused("invalid_argument", '"Y" is written and overlaps "X"', "kernel.launch", request)
        os.close(fd)


# ---- an index table that changes while the kernel reads it --------------------------------------------------------

ROWS, BLOCKS = 1024, 8
ENTRY = "cast(Table[bid.x * 128 + i], index)"
HERE = "bid.x * 128 + i"
READS = [  # each writes its own row of Y, with elements of X or, where there is none, 0
    {"value": "X[%s]" % ENTRY},
    {"value": "X[min(max(%s, 0), 1023)]" % ENTRY},
    {"value": "X[%s]" % ENTRY, "where": "%s >= 0 && %s < 1024" % (ENTRY, ENTRY)},
    {"value": "X[%s] if %s >= 0 && %s < 1024 else 0" % (ENTRY, ENTRY, ENTRY)},
]
NAMED = [{"let": "entry", "value": ENTRY}, {"let": "inside", "value": "entry >= 0 && entry < 1024"}]
WRITES = [  # to elements that the table names
    {"set": "Y[8, %s]" % ENTRY, "value": "X[%s]" % HERE},
    {"set": "Y[9, min(max(%s, 0), 1023)]" % ENTRY, "value": "X[%s]" % HERE},
    {"set": "Y[10, entry]", "value": "X[%s]" % HERE, "where": "inside"},
    {"set": "Y[11, %s]" % ENTRY, "value": "X[%s]" % HERE, "where": "%s >= 0 && %s < 1024" % (ENTRY, ENTRY)},
    {"atomic": "or", "to": "Y[12, %s]" % ENTRY, "value": "65536"},
    {"atomic": "exchange", "to": "Y[13, entry]", "value": "X[%s]" % HERE, "where": "inside"},
]
UNIFORM = [  # starts and bounds that the whole block takes from the table
    {"op": "alloc", "name": "x", "space": "fragment", "dtype": "i32", "shape": [32]},
    {"op": "for", "var": "k", "to": 4, "body": [
        {"op": "let", "name": "row", "value": "min(max(cast(Table[bid.x * 128 + k * 32], index), 0), 1023)"},
        {"op": "copy", "from": "X[row:]", "to": "x"},
        {"op": "copy", "from": "x", "to": "Y[6, bid.x * 128 + k * 32:]"}]},
    {"op": "let", "name": "first", "value": "cast(Table[bid.x], index)"},
    {"op": "let", "name": "end", "value": "min(cast(Table[bid.x + 1], index), 1024)"},
    {"op": "for", "var": "m", "from": "max(first, 0)", "to": "end", "step": 32, "body": [
        {"op": "copy", "from": "X[m:]", "to": "x", "limit": ["end"]},
        {"op": "copy", "from": "x", "to": "Y[7, m:]", "limit": ["end"]}]},
]
OPERANDS = [tensor("Table", [ROWS], dtype="i64"), tensor("X", [ROWS]), tensor("Y", [16, ROWS], "readwrite")]
TABLES = program("tables", OPERANDS, [
    *UNIFORM,
    *(each(128, dict(item, set="Y[%d, %s]" % (row, HERE))) for row, item in enumerate(READS)),
    each(128, *NAMED, {"set": "Y[4, %s]" % HERE, "value": "X[entry]", "where": "inside"},
         {"set": "Y[5, %s]" % HERE, "value": "X[entry] if inside else 0"}),
    *(each(128, *NAMED, item) for item in WRITES)], BLOCKS)
GUARD = 16 * PAGE
PLACES = {"Table": (GUARD, 8 * ROWS), "X": (2 * GUARD + 8 * ROWS, 4 * ROWS),
          "Y": (3 * GUARD + 12 * ROWS, 64 * ROWS)}
TOTAL = 4 * GUARD + 76 * ROWS


class TablesCase(WitnessedCase):
    """One buffer holds all tensors, with guards between and around: what leaves a tensor by little or by much is
    seen."""

    device, launches = "host", 60

    def memory(self):
        fd = memfd(TOTAL)
        memory = mmap.mmap(fd, TOTAL)
        memory[:] = b"\xa5" * TOTAL
        at, size = PLACES["X"]
        memory[at:at + size] = struct.pack("<%di" % ROWS, *(65536 + i for i in range(ROWS)))
        at, size = PLACES["Y"]
        memory[at:at + size] = bytes(size)
        return memory, self.register(fd)

    def tables(self):
        """The valid one, which is also the third, and others."""
        generator = random.Random(SEED)
        wrong = (1 << 40, -(1 << 40), ROWS, -1, ROWS + 500, -500, (1 << 63) - 1, -(1 << 63), 1 << 32, 1 << 61)
        valid = [generator.randrange(ROWS) for _ in range(ROWS)]
        mixed = [generator.choice(wrong) if generator.random() < 0.5 else generator.randrange(ROWS) for _ in valid]
        return [valid, [wrong[0]] * ROWS, valid, mixed]

    def rewrite_during(self, memory, work):
        at, size = PLACES["Table"]
        tables = [struct.pack("<%dq" % ROWS, *table) for table in self.tables()]
        done = threading.Event()

        def rewrite():
            while not done.is_set():
                for table in tables:
                    memory[at:at + size] = table
            memory[at:at + size] = tables[0]

        thread = threading.Thread(target=rewrite)
        thread.start()
        try:
            work()
        finally:
            done.set()
            thread.join()

    def check(self, memory):
        end = 0
        for at, size in [*PLACES.values(), (TOTAL, 0)]:
            self.assertEqual(memory[end:at], b"\xa5" * (at - end), "written around the tensors; KILN_SEED=%d" % SEED)
            end = at + size
        at, size = PLACES["X"]
        self.assertEqual(memory[at:at + size], struct.pack("<%di" % ROWS, *(65536 + i for i in range(ROWS))))
        rows = self.rows(memory)
        for row in rows:
            wrong = [v for v in row if v != 0 and not 65536 <= v < 65536 + ROWS]
            self.assertEqual(wrong, [], "row %d: no element of X; KILN_SEED=%d" % (rows.index(row), SEED))
        self.assertEqual(rows[14:], [(0,) * ROWS] * 2)

    def rows(self, memory):
        at, size = PLACES["Y"]
        return [struct.unpack("<%di" % ROWS, memory[row:row + 4 * ROWS]) for row in range(at, at + size, 4 * ROWS)]

    def requested(self, buffer):
        return {"program": TABLES, "device": self.device,
                "args": {name: dict(buffer, offset=at) for name, (at, _) in PLACES.items()}}

    def check_launches(self):
        memory, buffer = self.memory()
        self.addCleanup(memory.close)

        def work():
            for _ in range(self.launches):
                self.ok("kernel.launch", self.requested(buffer))

        self.rewrite_during(memory, work)
        self.check(memory)
        self.check_a_quiet_launch(memory, buffer)

    def check_a_quiet_launch(self, memory, buffer):
        """Of the table as it stands in the end."""
        self.ok("kernel.launch", self.requested(buffer))
        self.check(memory)
        self.assertEqual(self.rows(memory)[:6], [tuple(65536 + entry for entry in self.tables()[0])] * 6)


class TablesOnTheHost(TablesCase):
    def test_launches(self):
        self.check_launches()

    def test_the_interpreter(self):
        """What it is compared with is no more certain: it passes or not, or two iterations meet; nobody is hurt."""
        memory, buffer = self.memory()
        self.addCleanup(memory.close)

        def work():
            for _ in range(4):
                answer = self.connection.call("kernel.verify", self.requested(buffer))
                self.assertTrue("result" in answer or answer["error"]["data"]["code"] == "program_invalid", answer)

        self.rewrite_during(memory, work)
        self.check(memory)


@needs_card
class TablesOnACard(TablesCase):
    devices = ("host", CARD)
    device, launches = CARD, 10

    def test_launches(self):
        self.check_launches()


del TablesCase

if __name__ == "__main__":
    unittest.main()
