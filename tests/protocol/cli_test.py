"""The command line: what people type, what it prints, how it ends."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Service, ServiceCase

WRONG = """{
  "kiln": "tile/1", "name": "wrong",
  "symbols": ["N"],
  "params": [{"name": "X", "dtype": "f32", "shape": ["N"], "access": "read"}],
  "launches": [{"grid": ["1"], "threads": "64", "body": [
    {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["64"]},
    {"op": "fill", "tile": "t", "value": "1 + * 2"},
    {"op": "copy", "from": "Z[0:]", "to": "t"}
  ]}]
}
"""

# A daemon of protocol 2, to which every request of protocol 1 is wrong. It ends on SIGTERM.
OTHER_VERSION = """if True:
    import json, os, signal, socket, sys, threading
    signal.signal(signal.SIGTERM, lambda *_: (os.unlink(sys.argv[1]), os._exit(3)))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(8)
    print("ready", flush=True)
    log = open(sys.argv[2], "w")
    message = "this daemon speaks protocol 2.0 (build 2), the client 1.0: run `kiln daemon restart`"
    def serve(connection):
        for line in connection.makefile():
            log.write(line)
            log.flush()
            answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "error": {"code": -32600, "message": message, "data": {"code": "protocol_error"}}}
            connection.sendall(json.dumps(answer).encode() + b"\\n")
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


class CommandLine(ServiceCase):
    def test_run_and_check(self):
        done = self.service.kiln("run", "gemm", "--set", "M=70", "N=50", "K=33", "dtype=f32", "--check", "--seed", "5", check=0)
        self.assertIn("equal to the definition", done.stdout)
        value = json.loads(self.service.kiln("--json", "run", "softmax", "--set", "M=3", "N=9", "--repeat", "3", check=0).stdout)
        self.assertEqual(value["launches_timed"], 3)

    def test_emulated_times_are_said_to_be_that(self):
        for device, emulated in (("host", False), ("emu:gfx942", True)):
            words = ["run", "softmax", "--set", "M=3", "N=9", "--device", device]
            self.assertEqual(json.loads(self.service.kiln("--json", *words, check=0).stdout)["emulated"], emulated)
            self.assertEqual("not the card's time" in self.service.kiln(*words, check=0).stdout, emulated)

    def test_reports_for_the_host_have_no_zeros_of_cards(self):
        words = ["softmax", "--set", "M=3", "N=9"]
        report = json.loads(self.service.kiln("--json", "explain", *words, check=0).stdout)
        self.assertEqual(set(report["resources"]), {"tile_bytes", "code_bytes"})
        self.assertGreater(report["resources"]["tile_bytes"], 0)
        for name in ("lds_conflict_cycles", "lds_instructions"):
            self.assertNotIn(name, report)
        text = self.service.kiln("explain", *words, check=0).stdout
        self.assertIn("tile_bytes", text)
        for name in ("vgprs", "lds", "LDS", "waves_per_simd"):
            self.assertNotIn(name, text)
        tiles = self.service.kiln("explain", "gemm", "--set", "M=64", "N=64", "K=64", "dtype=f32", check=0).stdout
        self.assertIn("shared tiles\n", tiles)
        self.assertIn("stages\n", tiles)  # the last column: no conflicts
        for line in tiles[tiles.index("decisions"):].splitlines()[1:]:
            self.assertRegex(line, "rows of [0-9]+ bytes, .* to align vectors|host.fma in blocks .*: the least time")

    def test_raw_files(self):
        path = os.path.join(self.service.folder, "x"), os.path.join(self.service.folder, "y")
        with open(path[0], "wb") as file:
            file.write(bytes(4 * 8))
        self.service.kiln("run", "softmax", "--set", "M=1", "N=8", "--input", "X=" + path[0], "--output", "Y=" + path[1], check=0)
        with open(path[1], "rb") as file:
            self.assertEqual(file.read(), b"\x00\x00\x00\x3e" * 8)
        done = self.service.kiln("run", "softmax", "--set", "M=2", "N=8", "--input", "X=" + path[0], check=1)
        self.assertIn("has 32 bytes, X takes 64", done.stderr)

    def test_mistakes_are_quoted(self):
        file = os.path.join(self.service.folder, "wrong.json")
        with open(file, "w") as out:
            out.write(WRONG)
        done = self.service.kiln("check", file, check=1)
        self.assertIn("wrong.json:7:", done.stdout)
        self.assertIn('"value": "1 + * 2"', done.stdout)
        self.assertIn("^", done.stdout)
        self.assertIn("wrong.json:8:", done.stdout)  # all mistakes at once
        self.assertFalse(json.loads(self.service.kiln("--json", "check", file, check=1).stdout)["ok"])

    def test_exit_statuses(self):
        self.assertEqual(self.service.kiln("nonsense").returncode, 2)
        self.assertEqual(self.service.kiln("compile").returncode, 2)
        self.assertEqual(self.service.kiln("compile", "softmax", "--set", "M=1", "N=3", "--must-hit").returncode, 4)
        self.assertEqual(self.service.kiln("compile", "softmax", "--set", "M=-1", "N=3").returncode, 1)
        away = subprocess.run([os.path.join(BIN, "kiln"), "--no-start", "--socket", "/tmp/kiln-none/s", "list"], capture_output=True)
        self.assertEqual(away.returncode, 3)

    def test_every_command_has_json(self):
        for words in (["list"], ["show", "gemm"], ["devices"], ["stats"], ["cache", "stats"], ["cache", "list"], ["cache", "verify"],
                      ["cache", "path"], ["config", "show"], ["daemon", "status"], ["check", "gemm"],
                      ["compile", "softmax", "--set", "M=2", "N=3"], ["explain", "softmax", "--set", "M=2", "N=3"],
                      ["cache", "evict", "--entries", "1000"], ["version"], ["ps"], ["top", "--count", "1"]):
            done = self.service.kiln("--json", *words, check=0)
            self.assertIsInstance(json.loads(done.stdout), dict, words)
            self.assertTrue(self.service.kiln(*words, check=0).stdout.strip(), words)

    def test_error_as_json(self):
        done = self.service.kiln("--json", "compile", "gemm", "--set", "M=1", check=1)
        self.assertEqual(json.loads(done.stdout)["error"]["data"]["code"], "program_invalid")

    def test_without_a_daemon(self):
        words = ["--json", "--no-daemon", "compile", "rmsnorm", "--set", "M=2", "N=30"]
        first = json.loads(self.service.kiln(*words, check=0).stdout)
        second = json.loads(self.service.kiln(*words, check=0).stdout)
        self.assertEqual((first["cached"], second["cached"], second["key"]), (False, True, first["key"]))
        third = json.loads(self.service.kiln("--json", "compile", "rmsnorm", "--set", "M=2", "N=30", check=0).stdout)
        self.assertEqual((third["cached"], third["key"]), (True, first["key"]))  # the same cache

    def test_auto_start(self):
        socket = os.path.join(self.service.folder, "auto", "kiln.sock")
        base = [os.path.join(BIN, "kiln"), "--socket", socket, "--cache", self.service.cache]
        started = subprocess.run(base + ["--json", "daemon", "start"], env=self.service.environment, capture_output=True, text=True)
        self.assertEqual(started.returncode, 0, started.stderr)
        pid = json.loads(started.stdout)["pid"]
        again = subprocess.run(base + ["--json", "daemon", "status"], env=self.service.environment, capture_output=True, text=True)
        self.assertEqual(json.loads(again.stdout)["pid"], pid)
        stopped = subprocess.run(base + ["daemon", "stop"], env=self.service.environment, capture_output=True, text=True)
        self.assertEqual((stopped.returncode, stopped.stdout), (0, "stopped\n"))
        self.assertFalse(os.path.exists("/proc/%d" % pid))

    def test_auto_start_in_a_folder_that_others_may_enter(self):
        folder = os.path.join(self.service.folder, "open")
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        environment = dict(self.service.environment, KILN_SOCKET=os.path.join(folder, "kiln.sock"))
        kiln = [os.path.join(BIN, "kiln"), "--cache", self.service.cache]
        done = subprocess.run(kiln + ["--json", "devices"], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        stopped = subprocess.run(kiln + ["daemon", "stop"], env=environment, capture_output=True, text=True)
        self.assertEqual((stopped.returncode, stopped.stdout), (0, "stopped\n"))

    def test_relative_paths(self):
        folder = os.path.join(self.service.folder, "here")
        os.mkdir(folder)
        environment = {k: v for k, v in self.service.environment.items() if not k.startswith("KILN_")}
        for flags, variables in ((["--socket", "rel.sock", "--cache", "store"], {}), ([], {"KILN_SOCKET": "env.sock", "KILN_CACHE_DIR": "store"})):
            def kiln(*words, status=0):
                done = subprocess.run([os.path.join(BIN, "kiln"), *flags, "--json", *words], cwd=folder, env=dict(environment, **variables),
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                return json.loads(done.stdout)
            kiln("list")
            self.assertEqual(kiln("cache", "stats")["path"], os.path.join(folder, "store"))
            self.assertEqual(os.path.dirname(kiln("daemon", "status")["socket"]), folder)
            self.assertTrue(kiln("daemon", "stop")["stopped_pid"])
            wrong = kiln("--worker", "host=./worker", "devices", status=1)
            self.assertIn("expected an absolute path", wrong["error"]["message"])
        for name in ("rel.sock", "env.sock"):
            self.assertFalse(os.path.lexists("/" + name))

    def test_daemon_of_another_version(self):
        path = os.path.join(self.service.folder, "other.sock")
        lines = os.path.join(self.service.folder, "other.log")
        with subprocess.Popen([sys.executable, "-c", OTHER_VERSION, path, lines], stdout=subprocess.PIPE) as other:
            try:
                self.assertEqual(other.stdout.readline(), b"ready\n")
                base = [os.path.join(BIN, "kiln"), "--socket", path, "--cache", self.service.cache]
                reaper = threading.Thread(target=other.wait)
                reaper.start()

                def kiln(*words, status=0):
                    done = subprocess.run(base + list(words), env=self.service.environment, capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                    return done.stdout + done.stderr
                self.assertIn("kiln daemon restart", kiln("list", status=1))
                status = json.loads(kiln("--json", "daemon", "status"))
                self.assertEqual((status["running"], status["pid"]), (True, other.pid))
                restarted = json.loads(kiln("--json", "daemon", "restart"))
                reaper.join(30)
                self.assertEqual(other.returncode, 3)  # by the signal, after it had refused
                with open(lines) as file:
                    self.assertIn('"shutdown"', file.read())
                self.assertNotEqual(restarted["pid"], other.pid)
                self.assertEqual(json.loads(kiln("--json", "daemon", "stop"))["stopped_pid"], restarted["pid"])
            finally:
                other.kill()

    def test_clearing_the_cache(self):
        self.service.kiln("compile", "softmax", "--set", "M=3", "N=9", check=0)
        self.assertGreater(json.loads(self.service.kiln("--json", "cache", "stats", check=0).stdout)["entries"], 0)
        self.assertRegex(self.service.kiln("cache", "clear", check=0).stdout, r"^evicted: [1-9]\d*\n$")
        self.assertEqual(json.loads(self.service.kiln("--json", "cache", "stats", check=0).stdout)["entries"], 0)

    def test_settings_and_where_they_come_from(self):
        with Service(config={"limits": {"batch_max": 7}, "idle_exit_s": 9}) as service:
            shown = json.loads(service.kiln("--json", "config", "show", check=0).stdout)
            self.assertEqual(shown["limits.batch_max"], {"value": 7, "source": "config.json"})
            self.assertEqual(shown["idle_exit_s"], {"value": 9, "source": "config.json"})
            self.assertEqual(shown["limits.depth_max"], {"value": 64, "source": "default"})
            with contextlib.closing(service.connect()) as connection:
                limits = connection.call("hello")["result"]["limits"]
        fixed = {"log_bytes_max", "text_bytes_max"}
        self.assertEqual({name[7:] for name in shown if name.startswith("limits.")}, set(limits) - fixed)

    def test_versions(self):
        both = json.loads(self.service.kiln("--json", "version", check=0).stdout)
        self.assertEqual(both["kiln"], both["daemon"])
        self.assertEqual(both["kiln"], self.service.kiln("--version", check=0).stdout.strip())

    def test_socat(self):
        hello = '{"jsonrpc":"2.0","id":1,"method":"hello"}\n'
        done = subprocess.run(["socat", "-t", "10", "-", "UNIX-CONNECT:" + self.service.socket], input=hello, capture_output=True, text=True)
        self.assertEqual(json.loads(done.stdout)["result"]["protocol"], "1.0")


if __name__ == "__main__":
    unittest.main()
