"""Kernels as one file: out of one cache and into another, where nothing can be compiled; and files that nobody vouches
for, or that hold what no compiler of ours makes."""

import contextlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Service
from witness import COUNT, TRIPLED

NO_COMPILERS = {"worker_host": ["/bin/false"], "worker_hip": ["/bin/false"]}
SOFTMAX = {"program": "softmax", "set": {"M": 4, "N": 100}}
MAKER = os.path.join(os.environ.get("KILN_BUILD", os.path.dirname(BIN)), "tests", "bundle_maker")
STRANGER = 23456
KEY = b"the key that two machines share."
SEED = int(os.environ.get("KILN_SEED", "1"))


class BundleCase(unittest.TestCase):
    """`bundle` holds TRIPLED and softmax, as they were compiled for the host."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="kiln-bundles-")
        os.chmod(cls.folder, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.bundle = cls.path("kernels.kiln")
        with Service() as maker:
            connection = maker.connect()
            cls.addClassCleanup(connection.close)
            answer = connection.call("kernel.compile", {"program": TRIPLED, "want": "fd"})["result"]
            cls.key = answer["key"]
            cls.object = os.pread(connection.fds[0], answer["object"]["bytes"], 0)
            os.close(connection.fds.pop())
            connection.call("kernel.compile", SOFTMAX)
            maker.kiln("cache", "export", cls.bundle, check=0)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def service(self, **settings):
        service = Service(config={**NO_COMPILERS, **settings})
        self.addCleanup(service.__exit__)
        return service

    def key_file(self, name="key", content=KEY):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        return self.path(name)

    def connect(self, service):
        connection = service.connect()
        self.addCleanup(connection.close)
        return connection

    def copy(self, mode=0o644):
        path = self.path(self.id().rpartition(".")[2])
        shutil.copy(self.bundle, path)
        os.chmod(path, mode)
        return path

    def changed(self, name, object):
        """The bundle of TRIPLED alone with this object, every checksum right."""
        one = self.path("one.kiln")
        if not os.path.exists(one):
            with Service(config=NO_COMPILERS) as service:
                service.kiln("cache", "import", self.bundle, check=0)
                service.kiln("cache", "export", one, self.key, check=0)
        with open(self.path(name + ".o"), "wb") as file:
            file.write(object)
        subprocess.run([MAKER, one, self.path(name + ".kiln"), self.path(name + ".o")], check=True, timeout=60)
        return self.path(name + ".kiln")

    def triple(self, service):
        """A launch of TRIPLED: the error's text, or nothing when it computed what it has to."""
        with contextlib.closing(service.connect()) as connection:
            buffers = []
            for content in (struct.pack("<%di" % COUNT, *range(COUNT)), bytes(4 * COUNT)):
                fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.write(fd, content)
                answer = connection.call("buffer.register", {"fd": {"fd": 0}}, [fd])
                buffers.append((fd, answer["result"]["buffer"]))
            args = {name: {"buffer": id} for name, (_, id) in zip("XY", buffers)}
            answer = connection.call("kernel.launch", {"program": TRIPLED, "args": args})
            written = struct.unpack("<%di" % COUNT, os.pread(buffers[1][0], 4 * COUNT, 0))
            for fd, _ in buffers:
                os.close(fd)
            if "error" in answer:
                return answer["error"]["message"]
            self.assertEqual(written, tuple(3 * i + 1 for i in range(COUNT)))
            return ""


class AnotherMachine(BundleCase):
    def test_without_a_compiler_the_first_request_is_a_hit(self):
        service = self.service()
        connection = self.connect(service)
        before = connection.call("kernel.compile", SOFTMAX)
        self.assertIn("error", before, "nothing compiles here")
        told = json.loads(service.kiln("--json", "cache", "import", self.bundle, check=0).stdout)
        self.assertEqual((told["taken"], told["present"], told["refused"]), (2, 0, 0), told)
        answer = connection.call("kernel.compile", SOFTMAX)
        self.assertEqual((answer["result"]["cached"], answer["result"]["origin"]), (True, "disk"))
        self.assertEqual(self.triple(service), "")
        service.kiln("run", "softmax", "--set", "M=4", "N=100", "--check", check=0)
        stats = connection.call("cache.stats")["result"]
        self.assertEqual((stats["compiles"], stats["stores"]), (0, 2))
        again = json.loads(service.kiln("--json", "cache", "import", self.bundle, check=0).stdout)
        self.assertEqual((again["taken"], again["present"]), (0, 2))

    def test_without_a_daemon(self):
        service = self.service()
        service.stop()
        for arguments in (("cache", "import", self.bundle),
                          ("compile", "softmax", "--set", "M=4", "N=100", "--must-hit")):
            service.kiln("--no-daemon", *arguments, check=0)
        told = service.kiln("--no-daemon", "--json", "cache", "export", self.path("again.kiln"), check=0).stdout
        self.assertEqual((json.loads(told)["entries"], json.loads(told)["bytes"]),
                         (2, os.path.getsize(self.path("again.kiln"))))

    def test_where_a_compiler_works_its_identity_stays(self):
        with Service() as service:
            connection = self.connect(service)
            compiled = connection.call("kernel.compile", SOFTMAX)["result"]
            self.assertFalse(compiled["cached"])
            told = json.loads(service.kiln("--json", "cache", "import", self.bundle, check=0).stdout)
            self.assertEqual((told["taken"], told["present"]), (1, 1))
            self.assertEqual(self.triple(service), "")
            self.assertEqual(connection.call("cache.stats")["result"]["compiles"], 1)

    def test_a_choice(self):
        service = self.service()
        service.kiln("cache", "import", self.bundle, check=0)
        for flags, entries in ((["--program", "softmax"], 1), (["--target", "host"], 2), ([self.key], 1),
                               (["--program", "softmax", "tripled"], 2)):
            told = json.loads(service.kiln("--json", "cache", "export", self.path("choice"), *flags, check=0).stdout)
            self.assertEqual(told["entries"], entries, flags)
        for flags in (["--program", "gemm"], ["--target", "gfx942"], ["0" * 64], ["--target", "gfx1"], ["xyz"]):
            done = service.kiln("cache", "export", self.path("nothing"), *flags)
            self.assertEqual(done.returncode, 1, flags)
            self.assertFalse(os.path.exists(self.path("nothing")))


class Trust(BundleCase):
    def refused(self, service, path, *reasons):
        done = service.kiln("cache", "import", path)
        self.assertEqual(done.returncode, 1)
        for reason in reasons:
            self.assertIn(reason, done.stderr)
        self.assertEqual(self.connect(service).call("cache.stats")["result"]["entries"], 0)

    def vouched(self, mode, name="key", content=KEY):
        """The bundle with an HMAC."""
        service = self.service(trust_key=self.key_file(name, content))
        service.kiln("cache", "import", self.bundle, check=0)
        path = self.path(self.id().rpartition(".")[2])
        told = json.loads(service.kiln("--json", "cache", "export", path, check=0).stdout)
        self.assertTrue(told["vouched"])
        os.chmod(path, mode)
        return path

    def test_what_others_may_write(self):
        self.refused(self.service(), self.copy(0o664), "others may write it (chmod go-w)", "it has no HMAC")
        path = self.vouched(0o666)
        self.refused(self.service(), path, "no trust_key is set")
        self.refused(self.service(trust_key=self.key_file("other", KEY[::-1])), path, "its HMAC is of another key")
        self.service(trust_key=self.key_file()).kiln("cache", "import", path, check=0)

    @unittest.skipUnless(os.geteuid() == 0, "files of other users can be made by root alone")
    def test_of_another_user(self):
        path = self.copy()
        os.chown(path, STRANGER, STRANGER)
        self.refused(self.service(), path, "belongs to user %d" % STRANGER)
        path = self.vouched(0o600)
        os.chown(path, STRANGER, STRANGER)
        self.service(trust_key=self.key_file()).kiln("cache", "import", path, check=0)

    def test_what_is_no_bundle(self):
        service = self.service()
        os.mkfifo(self.path("pipe"), 0o600)
        self.refused(service, self.path("pipe"), "no regular file")
        self.refused(service, "/dev/null", "no regular file")
        self.refused(service, __file__ if os.stat(__file__).st_mode & 0o22 == 0 else os.path.join(BIN, "kiln"),
                     "this is no bundle")
        self.assertIn("cannot open", service.kiln("cache", "import", self.path("absent")).stderr)

    def test_settings(self):
        service = self.service(trust_key=self.key_file())
        shown = json.loads(service.kiln("--json", "config", "show", check=0).stdout)["trust_key"]
        self.assertEqual(shown, {"value": self.key_file(), "source": "config.json"})
        self.assertNotIn(KEY.decode(), service.kiln("config", "show", check=0).stdout)
        self.assertEqual(json.loads(self.service().kiln("--json", "config", "show", check=0).stdout)["trust_key"],
                         {"value": "", "source": "default"})
        os.chmod(self.key_file("loose"), 0o640)
        for path, why in ((self.path("loose"), "may be read or written by others"),
                          (self.path("absent"), "cannot open"),
                          ("key", "no absolute path"), (5, "string")):
            with self.assertRaises(AssertionError) as failed:
                Service(config={"trust_key": path}).__exit__()
            self.assertIn(why, str(failed.exception))
            self.assertIn("/trust_key", str(failed.exception))
            self.assertIn("config.json", str(failed.exception))


def sections(object):
    """Of an ELF file: the offset of the section headers and how many there are."""
    at, = struct.unpack_from("<Q", object, 40)
    count, = struct.unpack_from("<H", object, 60)
    return at, count


def section_of_type(object, wanted):
    at, count = sections(object)
    return next(at + 64 * i for i in range(1, count) if struct.unpack_from("<I", object, at + 64 * i + 4)[0] == wanted)


def with_import(object, name):
    """The object, with an undefined symbol `name` in place of its first one."""
    object = bytearray(object)
    at, _ = sections(object)
    symbols = section_of_type(object, 2)
    strings = at + 64 * struct.unpack_from("<I", object, symbols + 40)[0]
    start, size = struct.unpack_from("<QQ", object, strings + 24)
    text = bytes(object[start:start + size]) + name.encode() + b"\0"
    struct.pack_into("<QQ", object, strings + 24, len(object), len(text))
    struct.pack_into("<I", object, symbols + 44, 1)  # no local symbols
    first, = struct.unpack_from("<Q", object, symbols + 24)
    struct.pack_into("<IBBHQQ", object, first + 24, size, 0x10, 0, 0, 0, 0)
    return bytes(object + text)


def with_initializers(object):
    """The object, with a section that has no content of interest said to be one of functions that run at load."""
    object = bytearray(object)
    at, count = sections(object)
    names = struct.unpack_from("<H", object, 62)[0]
    start, = struct.unpack_from("<Q", object, at + 64 * names + 24)
    for i in range(1, count):
        name, = struct.unpack_from("<I", object, at + 64 * i)
        if object[start + name:].startswith(b".note.GNU-stack\0"):
            struct.pack_into("<I", object, at + 64 * i + 4, 14)
            return bytes(object)
    raise AssertionError("no such section")


class HostileFiles(BundleCase):
    def test_objects_that_no_compiler_of_ours_makes(self):
        """Their checksums are right and the file is trusted, so the entries are taken: the loader refuses them."""
        for name, object, why in (("system", with_import(self.object, "system"), "system"),
                                  ("init", with_initializers(self.object), "initializers"),
                                  ("garbage", self.object[:64] + bytes(len(self.object) - 64), "")):
            service = self.service()
            told = json.loads(service.kiln("--json", "cache", "import", self.changed(name, object), check=0).stdout)
            self.assertEqual(told["taken"], 1, name)
            error = self.triple(service)
            self.assertNotEqual(error, "", name)
            self.assertIn(why, error, name)
            service.kiln("cache", "evict", "--key", self.key, check=0)
            service.kiln("daemon", "status", check=0)
            self.assertTrue(service.alive(), name)

    def test_an_object_that_is_none_is_refused_at_once(self):
        service = self.service()
        for name, object in (("text", b"no object at all, but long enough to be one" * 3), ("empty", b""),
                             ("flags", self.object[:48] + b"\xff\xff\xff\xff" + self.object[52:])):
            done = service.kiln("--json", "cache", "import", self.changed(name, object))
            self.assertEqual(done.returncode, 1)
            told = json.loads(done.stdout)
            self.assertEqual((told["taken"], told["refused"]), (0, 1), told)
            self.assertIn(self.key, told["problems"][0])

    def test_flipped_bits(self):
        service = self.service()
        connection = self.connect(service)
        with open(self.bundle, "rb") as file:
            good = file.read()
        chance = random.Random(SEED)
        for number in range(40):
            bit = chance.randrange(8 * len(good))
            bad = bytearray(good)
            bad[bit // 8] ^= 1 << bit % 8
            fd = os.memfd_create("test", os.MFD_CLOEXEC)
            os.fchmod(fd, 0o600)
            os.write(fd, bad)
            answer = connection.call("cache.import", {"fd": {"fd": 0}}, [fd])
            os.close(fd)
            what = "KILN_SEED=%d, flip %d: bit %d: %r" % (SEED, number, bit, answer)
            if "result" in answer:
                self.assertEqual(len(answer["result"]["problems"]), 1, what)
                of_a_note = answer["result"]["problems"][0].startswith("note ")
                self.assertEqual((answer["result"]["taken"], answer["result"]["refused"]),
                                 (2, 0) if of_a_note else (1, 1), what)
            else:
                self.assertIn(answer["error"]["data"]["code"], ("corrupt", "unsupported"), what)
            connection.call("cache.evict", {"entries_max": 0})
        self.assertTrue(service.alive())
        service.kiln("cache", "import", self.bundle, check=0)
        self.assertEqual(self.triple(service), "")

    def test_a_memory_file_that_anybody_may_write(self):
        """As memfd_create makes them."""
        with open(self.bundle, "rb") as file:
            content = file.read()
        fd = os.memfd_create("test", os.MFD_CLOEXEC)
        self.addCleanup(os.close, fd)
        os.fchmod(fd, 0o777)
        os.write(fd, content)
        connection = self.connect(self.service())
        error = connection.call("cache.import", {"fd": {"fd": 0}}, [fd])["error"]
        self.assertEqual(error["data"]["code"], "permission_denied")
        os.fchmod(fd, 0o600)
        self.assertEqual(connection.call("cache.import", {"fd": {"fd": 0}}, [fd])["result"]["taken"], 2)

    def test_an_answered_bundle_cannot_be_changed(self):
        service = self.service()
        service.kiln("cache", "import", self.bundle, check=0)
        connection = self.connect(service)
        answer = connection.call("cache.export")["result"]
        fd = connection.fds.pop()
        self.addCleanup(os.close, fd)
        self.assertEqual(answer["bundle"]["bytes"], os.fstat(fd).st_size)
        for change in (lambda: os.pwrite(fd, b"x", 0), lambda: os.ftruncate(fd, 0)):
            with self.assertRaises(PermissionError):
                change()
        self.assertEqual(connection.call("cache.import", {"fd": {"fd": 0}}, [fd])["result"]["present"], 2)


if __name__ == "__main__":
    unittest.main()
