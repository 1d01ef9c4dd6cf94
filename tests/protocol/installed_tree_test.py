"""The installed tree works wherever it lies: moved, without the build folder, and beside nothing but the C library."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, Service

BUILD = os.environ.get("KILN_BUILD", os.path.dirname(BIN))
SIZES = ["--set", "M=96", "--set", "N=80", "--set", "K=64", "--set", "dtype=f32"]
# What the C library brings; everything else has to come with the tree.
C_LIBRARY = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libresolv.so.2",
             "libutil.so.1", "libmvec.so.1")


def may_mount():
    return subprocess.run(["unshare", "-m", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="kiln-installed-")
        first = os.path.join(cls.folder, "first")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", first], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.tree = os.path.join(cls.folder, "elsewhere", "kiln")
        os.makedirs(os.path.dirname(cls.tree))
        os.rename(first, cls.tree)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def in_namespace(self, script, **environment):
        """Runs a shell script in a mount namespace of its own; its output."""
        folder = tempfile.mkdtemp(prefix="run-", dir=self.folder)
        environment = dict({"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder}, **environment)
        done = subprocess.run(["unshare", "-m", "sh", "-euc", script], capture_output=True, text=True, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def main_job(self, kiln, devices=("host",)):
        """Commands for a shell: a GEMM compiled, run and checked on each device; again from the cache; and without a daemon."""
        run = "%s %%s run gemm --device %%s --check %s\n" % (kiln, " ".join(map(shlex.quote, SIZES)))
        jobs = "".join(run % ("", device) for device in devices)
        return jobs + jobs + kiln + " daemon stop\n" + run % ("--no-daemon", devices[0])

    def check_main_job(self, said, devices=1):
        self.assertEqual(said.count("equal to the definition within its tolerance"), 2 * devices + 1, said)
        self.assertEqual(said.count("kernel compiled"), devices, said)

    @unittest.skipUnless(may_mount(), "hiding the build folder needs the right to mount")
    def test_moved_without_the_build_folder(self):
        kiln = os.path.join(self.tree, "bin", "kiln")
        home = os.environ.get("XDG_DATA_HOME", os.path.join(os.environ["HOME"], ".local", "share"))  # hipRTC's place
        said = self.in_namespace("mount -t tmpfs none %s\n" % shlex.quote(BUILD) + self.main_job(kiln, ("host", "emu:gfx942")),
                                 XDG_DATA_HOME=home)
        self.check_main_job(said, devices=2)

    @unittest.skipUnless(may_mount() and os.geteuid() == 0, "a chroot needs root")
    def test_beside_the_c_library_alone(self):
        root = os.path.join(self.folder, "root")
        libraries = "lib/x86_64-linux-gnu"
        for name in ("opt/kiln", "lib64", libraries, "tmp", "dev", "proc", "root"):
            os.makedirs(os.path.join(root, name))
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env={"PATH": "/sbin:/usr/sbin:/usr/bin:/bin"}).stdout
        for name in C_LIBRARY:
            path = re.search(r"^\s*%s \(.*x86-64.*\) => (\S+)$" % re.escape(name), listed, re.M).group(1)
            shutil.copy(path, os.path.join(root, "lib64" if name.startswith("ld-") else libraries, name))
        script = "mount --bind {tree} {root}/opt/kiln\nmount -o remount,ro,bind {root}/opt/kiln\n" \
                 "mount -t proc none {root}/proc\nmount -t tmpfs none {root}/dev\nmknod -m 666 {root}/dev/null c 1 3\n"
        script = script.format(tree=shlex.quote(self.tree), root=shlex.quote(root))
        kiln = "env -i HOME=/root TMPDIR=/tmp $(command -v chroot) %s /opt/kiln/bin/kiln" % shlex.quote(root)
        self.check_main_job(self.in_namespace(script + self.main_job(kiln), PATH=os.environ["PATH"] + ":/usr/sbin:/sbin"))

    def test_nothing_of_the_build_machine_is_in_it(self):
        places = [os.fsencode(BUILD), os.fsencode(ROOT)]
        files = [f for f in glob.glob(os.path.join(self.tree, "**"), recursive=True) if os.path.isfile(f)]
        self.assertGreater(len(files), 40)
        for path in files:
            with open(path, "rb") as file:
                content = file.read()
            for place in places:
                self.assertFalse(place + b"/" in content, path)

    def test_the_package_of_the_tree_finds_its_daemon(self):
        code = "import kiln; c = kiln.connect(); print(c.compile('gemm', 'host', M=96, N=80, K=64, dtype='f32').key)"
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder,
                           "PYTHONPATH": os.path.join(self.tree, "share", "kiln", "python")}
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd="/")
            self.assertRegex(done.stdout, r"^[0-9a-f]{64}\n$", done.stderr)
            stopped = subprocess.run([os.path.join(self.tree, "bin", "kiln"), "daemon", "stop"], capture_output=True, text=True, env=environment)
            self.assertEqual(stopped.returncode, 0, stopped.stderr)

    def test_a_program_of_the_client_library(self):
        build = os.path.join(self.folder, "build-cpp")
        for command in (["cmake", "-S", os.path.join(ROOT, "examples", "cpp"), "-B", build, "-DCMAKE_PREFIX_PATH=" + self.tree],
                        ["cmake", "--build", build]):
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with Service() as service:
            done = subprocess.run([os.path.join(build, "gemm")], capture_output=True, text=True, env=dict(os.environ, KILN_SOCKET=service.socket))
            self.assertEqual((done.returncode, done.stdout), (0, "gemm 96x80x64 on the host: every element is right\n"), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
