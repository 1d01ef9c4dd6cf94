"""Kernels that came with an image: folders and bundles that are looked into and never changed, on machines with
compilers and without; and such that somebody else may have planted."""

import contextlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Service

import kiln

NO_COMPILERS = {"worker_host": ["/bin/false"], "worker_hip": ["/bin/false"]}
SOFTMAX = ("softmax", "--set", "M=4", "N=100")
REQUEST = {"program": "softmax", "set": {"M": 4, "N": 100}}
STRANGER = 23456


def snapshot(folder):
    """All that is below, and when it was changed last."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            status = os.lstat(os.path.join(place, name))
            found[os.path.join(place, name)] = (status.st_ctime_ns, status.st_size)
    return found


class LayersCase(unittest.TestCase):
    """`layer` is a cache folder, and `bundle` a file, with softmax as it was compiled for the host."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="kiln-layers-")
        os.chmod(cls.folder, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.layer, cls.bundle = cls.path("layer"), cls.path("kernels.kiln")
        with Service(cache=cls.layer) as maker:
            with contextlib.closing(maker.connect()) as connection:
                cls.key = connection.call("kernel.compile", REQUEST)["result"]["key"]
            maker.kiln("cache", "export", cls.bundle, check=0)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    def service(self, *layers, **settings):
        service = Service(config=settings, environment={"KILN_CACHE_LAYERS": ":".join(layers)} if layers else None)
        self.addCleanup(service.__exit__)
        return service

    def connect(self, service):
        connection = service.connect()
        self.addCleanup(connection.close)
        return connection

    def copies(self, name):
        """Of the layer and of the bundle, to be spoiled."""
        shutil.copytree(self.layer, self.path(name), dirs_exist_ok=True)
        shutil.copy(self.bundle, self.path(name + ".kiln"))
        os.chmod(self.path(name + ".kiln"), 0o600)
        return self.path(name), self.path(name + ".kiln")

    def served(self, service):
        """The first request is a hit that is right, and nothing was compiled; the layers' stats."""
        with contextlib.closing(service.connect()) as connection:
            answer = connection.call("kernel.compile", REQUEST)
            self.assertIn("result", answer)
            self.assertEqual((answer["result"]["cached"], answer["result"]["origin"]), (True, "disk"))
            self.assertEqual(answer["result"]["key"], self.key)
            service.kiln("run", *SOFTMAX, "--check", check=0)
            stats = connection.call("cache.stats")["result"]
            self.assertEqual((stats["compiles"], stats["stores"], stats["entries"]), (0, 0, 0))
            return stats["layers"]


class Served(LayersCase):
    def test_with_a_compiler_that_works(self):
        for layer, kind in ((self.layer, "folder"), (self.bundle, "bundle")):
            before = snapshot(self.layer)
            service = self.service(layer)
            self.assertEqual(self.served(service), [{"path": layer, "kind": kind, "entries": 1, "hits": 1}])
            # What is compiled goes into the own cache, and the layer stays as it was.
            connection = self.connect(service)
            other = connection.call("kernel.compile", dict(REQUEST, set={"M": 4, "N": 101}))["result"]
            self.assertFalse(other["cached"])
            connection.call("cache.evict", {"entries_max": 0})
            connection.call("cache.verify")
            self.assertEqual(connection.call("cache.stats")["result"]["entries"], 0)
            service.stop()
            self.assertEqual(snapshot(self.layer), before)

    def test_without_a_compiler(self):
        for layer, kind in ((self.layer, "folder"), (self.bundle, "bundle")):
            self.assertEqual(self.served(self.service(layer, **NO_COMPILERS)),
                             [{"path": layer, "kind": kind, "entries": 1, "hits": 1}])

    @unittest.skipUnless(os.geteuid() == 0, "mounts are root's to make")
    def test_on_a_file_system_that_cannot_be_written(self):
        mount = self.path("mount")
        os.makedirs(mount, exist_ok=True)
        subprocess.run(["mount", "--bind", self.layer, mount], check=True, timeout=60)
        self.addCleanup(subprocess.run, ["umount", "--lazy", mount], check=True, timeout=60)
        subprocess.run(["mount", "-o", "remount,bind,ro", mount], check=True, timeout=60)
        with self.assertRaises(OSError):
            open(os.path.join(mount, "x"), "w").close()
        self.assertEqual(self.served(self.service(mount))[0]["hits"], 1)
        self.assertEqual(self.served(self.service(mount, **NO_COMPILERS))[0]["hits"], 1)

    def test_where_another_compiler_works_a_layer_is_missed(self):
        """Its kernels are another compiler's: other keys."""
        with open(os.path.join(BIN, "kiln-compile-host"), "rb") as file:
            worker = bytearray(file.read())
        build_id = worker.index(struct.pack("<III4s", 4, 20, 3, b"GNU\0")) + 16
        worker[build_id] ^= 1
        with open(os.open(self.path("worker"), os.O_WRONLY | os.O_CREAT, 0o755), "wb") as file:
            file.write(worker)
        service = self.service(self.layer, worker_host=[self.path("worker")])
        connection = self.connect(service)
        answer = connection.call("kernel.compile", dict(REQUEST, must_hit=True))
        self.assertEqual(answer["error"]["data"]["code"], "must_hit")
        answer = connection.call("kernel.compile", REQUEST)["result"]
        self.assertEqual((answer["cached"], answer["key"] == self.key), (False, False))
        self.assertEqual(connection.call("cache.stats")["result"]["layers"][0]["hits"], 0)

    def test_settings(self):
        shown = json.loads(self.service().kiln("--json", "config", "show", check=0).stdout)
        self.assertEqual(shown["cache_layers"], {"value": [], "source": "default"})
        self.assertEqual(shown["cache_trust_other_owner"], {"value": False, "source": "default"})
        service = self.service(cache_layers=[self.layer, self.bundle])
        layers = self.served(service)
        self.assertEqual([layer["hits"] for layer in layers], [1, 0], "in their order")
        shown = json.loads(service.kiln("--json", "config", "show", check=0).stdout)
        self.assertEqual(shown["cache_layers"], {"value": [self.layer, self.bundle], "source": "config.json"})
        service = self.service(self.bundle, cache_layers=[self.path("absent")])
        self.assertEqual([layer["path"] for layer in self.served(service)], [self.bundle])
        shown = json.loads(service.kiln("--json", "config", "show", check=0).stdout)
        self.assertEqual(shown["cache_layers"]["source"], "environment KILN_CACHE_LAYERS")

    @unittest.skipUnless(os.geteuid() == 0, "folders of other users can be made by root alone")
    def test_a_cache_folder_of_another_user(self):
        """As the cache itself: refused, unless a setting says that it is to be read."""
        folder, _ = self.copies("stranger-cache")
        for place, folders, files in os.walk(folder):
            for name in [place] + [os.path.join(place, name) for name in folders + files]:
                os.chown(name, STRANGER, STRANGER)
        with Service(cache=folder, config=NO_COMPILERS) as service:
            self.assertIn("belongs to user %d" % STRANGER, service.log())
        with Service(cache=folder, config={"cache_trust_other_owner": True, **NO_COMPILERS}) as service:
            stats = self.connect(service).call("cache.stats")["result"]
            self.assertEqual((stats["path"], stats["writable"]), (folder, False))
            self.assertTrue(self.connect(service).call("kernel.compile", REQUEST)["result"]["cached"])


class Planted(LayersCase):
    def unused(self, path, why):
        """The daemon starts and serves, and says once why the layer is not used."""
        service = self.service(path, **NO_COMPILERS)
        connection = self.connect(service)
        self.assertIn("error", connection.call("kernel.compile", REQUEST))
        layer, = connection.call("cache.stats")["result"]["layers"]
        self.assertEqual((layer["kind"], layer["entries"], layer["hits"]), ("none", 0, 0), path)
        self.assertIn(why, layer["problem"])
        self.assertIn(why, service.kiln("cache", "stats", check=0).stdout)
        self.assertEqual(service.log().count(layer["problem"]), 1, service.log())
        self.assertTrue(service.alive())
        service.stop()

    def test_what_others_may_write(self):
        folder, bundle = self.copies("loose")
        os.chmod(folder, 0o770)
        os.chmod(bundle, 0o660)
        self.unused(folder, "others may write")
        self.unused(bundle, "others may write")
        self.assertIn("others may write", self.service(bundle, **NO_COMPILERS).kiln("doctor").stdout)

    @unittest.skipUnless(os.geteuid() == 0, "files of other users can be made by root alone")
    def test_of_another_user(self):
        for path in self.copies("stranger"):
            os.chown(path, STRANGER, STRANGER)
            self.unused(path, "belongs to user %d" % STRANGER)

    @unittest.skipUnless(os.geteuid() == 0, "files of other users can be made by root alone")
    def test_an_entry_of_another_user_in_a_folder_of_ours(self):
        folder, _ = self.copies("mixed")
        os.chown(os.path.join(folder, "entries", self.key[:2], self.key), STRANGER, STRANGER)
        service = self.service(folder, **NO_COMPILERS)
        self.assertIn("error", self.connect(service).call("kernel.compile", REQUEST))

    def test_links_where_everybody_may_make_them(self):
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o1777)
        for path in self.copies("meant"):
            link = self.path("open", os.path.basename(path))
            os.symlink(path, link)
            self.unused(link, "symbolic link in a folder that everybody may write")

    def test_what_is_none(self):
        self.unused(self.path("absent"), "No such file")
        self.unused("relative/path", "no absolute path")
        os.mkfifo(self.path("pipe"), 0o600)
        self.unused(self.path("pipe"), "neither folder nor file")
        os.mkdir(self.path("empty"), 0o700)
        self.unused(self.path("empty"), "no cache folder")
        self.assertEqual(os.listdir(self.path("empty")), [])

    def test_a_damaged_bundle(self):
        """Bits of its index: not used. Bits of an entry: that entry is a miss."""
        _, bundle = self.copies("damaged")
        with open(bundle, "rb") as file:
            good = file.read()
        last = len(good) - 1
        for place, why in ((0, "no bundle"), (20, "bundle"), (last, "checksum"), (last - 100, "checksum")):
            bad = bytearray(good)
            bad[place] ^= 4
            with open(bundle, "wb") as file:
                file.write(bad)
            self.unused(bundle, why)
        bad = bytearray(good)
        bad[500] ^= 4
        with open(bundle, "wb") as file:
            file.write(bad)
        service = self.service(bundle, **NO_COMPILERS)
        connection = self.connect(service)
        self.assertIn("error", connection.call("kernel.compile", REQUEST))
        layer, = connection.call("cache.stats")["result"]["layers"]
        self.assertEqual((layer["kind"], layer["entries"], layer["hits"]), ("bundle", 1, 0))


class WithoutTheService(LayersCase):
    def environment(self, name, layer):
        """A user's, with nothing in the cache and no compilers."""
        home = self.path(name)
        os.makedirs(os.path.join(home, "config", "kiln"))
        with open(os.path.join(home, "config", "kiln", "config.json"), "w") as file:
            json.dump(NO_COMPILERS, file)
        kept = {k: v for k, v in os.environ.items() if k not in ("KILN_SOCKET", "KILN_CACHE_DIR")}
        return dict(kept, KILN_CACHE_LAYERS=layer, KILN_CACHE_DIR=os.path.join(home, "cache"),
                    KILN_SOCKET=os.path.join(home, "run", "kiln.sock"), XDG_CONFIG_HOME=os.path.join(home, "config"),
                    XDG_STATE_HOME=os.path.join(home, "state"))

    def run_kiln(self, environment, *arguments):
        done = subprocess.run([os.path.join(BIN, "kiln"), *arguments], env=environment, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_no_daemon(self):
        for name, layer in (("own-folder", self.layer), ("own-bundle", self.bundle)):
            environment = self.environment(name, layer)
            told = json.loads(self.run_kiln(environment, "--no-daemon", "--json", "compile", *SOFTMAX, "--must-hit"))
            self.assertEqual((told["cached"], told["key"]), (True, self.key))
            self.run_kiln(environment, "--no-daemon", "run", *SOFTMAX, "--check")

    def test_a_daemon_that_a_command_starts(self):
        environment = self.environment("started", self.layer)
        self.addCleanup(self.run_kiln, environment, "daemon", "stop")
        told = json.loads(self.run_kiln(environment, "--json", "compile", *SOFTMAX, "--must-hit"))
        self.assertEqual((told["cached"], told["key"]), (True, self.key))
        stats = json.loads(self.run_kiln(environment, "--json", "cache", "stats"))
        self.assertEqual(stats["layers"], [{"path": self.layer, "kind": "folder", "entries": 1, "hits": 1}])

    def test_a_daemon_that_the_python_client_starts(self):
        environment = self.environment("python", self.bundle)
        self.addCleanup(self.run_kiln, environment, "daemon", "stop")
        work = ("import kiln\nwith kiln.connect() as k:\n"
                "    print(k.compile('softmax', M=4, N=100, must_hit=True).key)\n")
        environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(kiln.__file__))
        done = subprocess.run([sys.executable, "-c", work], env=environment, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.stdout.strip(), self.key, done.stderr)


if __name__ == "__main__":
    unittest.main()
