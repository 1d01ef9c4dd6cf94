"""The command line when something is wrong: the words, the files that it quotes, the place it writes to, the memory it would take."""

import json
import os
import pty
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ServiceCase

KILN = os.path.join(BIN, "kiln")
KILND = os.path.join(BIN, "kilnd")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Usage(unittest.TestCase):
    """Wrong usage is found before a daemon is looked for: there is none here."""

    def kiln(self, *words, status=2):
        done = subprocess.run([KILN, "--no-start", "--socket", "/tmp/kiln-none/s", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, "%s\n%s%s" % (words, done.stdout, done.stderr))
        return done

    def mistake(self, *words):
        """The message, which must be the same as text and as JSON."""
        plain = self.kiln(*words)
        self.assertEqual(plain.stdout, "")
        as_json = self.kiln("--json", *words)
        self.assertEqual(as_json.stderr, "")
        error = json.loads(as_json.stdout)["error"]
        self.assertEqual(error["data"]["code"], "invalid_argument")
        self.assertIn("error: " + error["message"] + "\n", plain.stderr)
        return error["message"]

    def test_wrong_words_are_named_with_the_nearest(self):
        for words, wanted in ((["nonsense"], ['no command "nonsense"', "compile"]), (["lisst"], ['"lisst"', "'list'"]),
                              (["cache", "evct"], ['kiln cache has no command "evct"', "'evict'"]), (["--nope", "list"], ["no option --nope"]),
                              (["run", "--seeed", "1", "softmax"], ["kiln run has no option --seeed", "'--seed'"]),
                              (["run", "--sockett=/x", "softmax"], ["no option --sockett", "'--socket'"]),
                              (["list", "more"], ['kiln list takes no further argument: "more"']), ([], ["kiln takes a command", "compile"]),
                              (["cache"], ["kiln cache takes a command", "evict"]), (["run"], ["kiln run: program is required"])):
            message = self.mistake(*words)
            for part in wanted:
                self.assertIn(part, message)

    def test_values_of_a_wrong_form(self):
        for words, wanted in ((["--set", "M"], "--set M: expected NAME=VALUE"), (["--set", "=5"], "--set =5: expected NAME=VALUE"),
                              (["--layout", "As"], "--layout As: expected NAME=VALUE"), (["--align", "A=x"], "a number from 1 to 16"),
                              (["--set", "M=1", "M=2"], "M is given already, as 1"), (["--set", "M=1", "--set", "M=1"], "M is given already"),
                              (["--worker", "foo"], "expected FAMILY=COMMAND"), (["--worker", "foo=x"], 'no worker family "foo"'),
                              (["--worker-argument", "hip='x"], "a quote is not closed"), (["--cache", ""], "expected a path")):
            self.assertIn(wanted, self.mistake("compile", "softmax", *words))
        for words, wanted in ((["--input", "X"], "--input X: expected NAME=VALUE"), (["--input", "X="], "expected NAME=FILE"),
                              (["--scalar", "a=b"], "--scalar a=b: expected a number"), (["--repeat", "0"], "--repeat")):
            self.assertIn(wanted, self.mistake("run", "softmax", *words))
        self.assertIn("--bytes", self.mistake("cache", "evict"))

    def test_what_is_well_formed_is_no_usage_mistake(self):
        self.kiln("compile", "softmax", "--set", "M=1", "N=2", status=3)
        self.kiln("cache", "evict", "--entries", "5", status=3)
        self.kiln("--help", status=0)
        self.kiln("cache", "evict", "--help", status=0)

    def test_daemon_flags(self):
        for words, wanted in ((["--bogus"], "--bogus"), (["word"], "word"), (["--idle-exit-s", "-5"], "--idle-exit-s"), (["--log-level", "zzz"], "zzz"),
                              (["--socket", ""], "--socket"), (["--log-level", "zzz", "--socket", ""], "kilnd: "), (["--worker", "foo"], "FAMILY=COMMAND"),
                              (["--ready-fd", "x"], "Value x not in range")):
            done = subprocess.run([KILND, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(wanted, done.stderr)


class Quoting(ServiceCase):
    """What a terminal would obey is shown instead."""

    def written(self, text, name="wrong.json"):
        path = os.path.join(self.service.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def on_terminal(self, *words):
        """Everything that a terminal gets from `kiln words`."""
        master, slave = pty.openpty()
        process = subprocess.Popen([KILN, "--socket", self.service.socket, "--no-start", "--quiet", *words], stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=slave, env=self.service.environment)
        os.close(slave)
        got = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # EIO: the other end is closed
                piece = b""
            if not piece:
                break
            got += piece
        os.close(master)
        process.wait(60)
        return got.decode().replace("\r\n", "\n")

    def test_kernels_to_prepare(self):
        path = os.path.join(self.service.folder, "kernels.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"kernels": [\n {"program": "softmax", "set": {"M": 4, "N": 100}},\n'
                       ' {"program": "softmax", "set": {"M": 4, "Q": 100}, "target": "gfx942"},\n'
                       ' {"program": "softmax", "sett": {}},\n {"program": "softmax", "set": {"M": [1]}},\n'
                       ' {"program": {"kiln": "tile/1", "name": "p"}},\n {"program": "sofmax"}, 7]}\n')
        done = self.service.kiln("prepare", path, check=1)
        self.assertIn("7 kernels: ", done.stdout)
        self.assertIn(", 6 failed", done.stdout)
        self.assertIn("kernel 1, softmax for gfx942, M=4 Q=100\n", done.stderr)
        for place, said in ((r"3:46", "no symbol, option or tunable 'Q'"), (r"3:32", "the symbol 'N' has no value"),
                            (r"4:33", "unknown field"), (r"5:38", "wrong value"), (r"6:14", "needs the field 'params'"),
                            (r"7:14", 'no built-in program "sofmax"'), (r"7:25", "expected an object, found 7")):
            self.assertRegex(done.stderr, r"kernels\.json:%s: error: .*%s" % (place, said))
        self.assertIn("hint: did you mean set?", done.stderr)
        entries = json.loads(self.service.kiln("--json", "prepare", path, check=1).stdout)["kernels"]
        self.assertEqual([entries[1][name] for name in ("program", "target", "set")],
                         ["softmax", "gfx942", {"M": 4, "Q": 100}])
        self.assertRegex(entries[1]["mistakes"][0], r"kernels\.json:3:46: error: the program has no symbol")
        self.assertEqual(entries[4]["error"]["data"]["code"], "program_invalid")
        pointers = [d["pointer"] for d in entries[3]["error"]["data"]["diagnostics"]]
        self.assertEqual(pointers, ["/params/kernels/3/set/M"])

    def test_targets_as_devices_and_devices_as_targets(self):
        for device, meant in (("gfx942", "emu:gfx942 (emulated) or hip:0"), ("host:avx2", "did you mean host?"),
                              ("hip", "hip:0 (the first AMD card)")):
            for command in (["run"], ["profile"], ["tune"], ["compare", "softmax"]):
                done = self.service.kiln(*command, "softmax", "--set", "M=4", "N=64", "--device", device)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(meant, done.stderr, command)
        done = self.service.kiln("compile", "softmax", "--set", "M=4", "N=64", "--target", "emu:gfx942", check=1)
        self.assertIn("emu:gfx942 is a device: the target is gfx942", done.stderr)

    def test_controls_of_a_file_are_escaped(self):
        raw = self.written('{"kiln": "tile/1", "name": "\x1b]0;owned\x07\x7f\u009b31m"}', "raw\x1b.json")
        escaped = self.written('{"kiln": "tile/1", "name": "a\\u001b[31m\\u009b\\u007f", "\x7f\u009b": 1}')
        for path in (raw, escaped):
            done = self.service.kiln("check", path)
            self.assertIn(done.returncode, (1,))
            for text in (done.stdout + done.stderr, self.on_terminal("check", path)):
                self.assertIsNone(CONTROLS.search(text), text)
                self.assertIn("\\u009b", text)
            as_json = self.service.kiln("--json", "check", path).stdout
            self.assertIsNone(CONTROLS.search(as_json))
            json.loads(as_json)
        self.assertIn("\\u001b]0;owned", self.service.kiln("check", raw).stderr)

    def test_controls_of_the_command_line_are_escaped(self):
        for words in (["compile", "softmax", "--set", "M=\x1b[31m", "N=3"], ["compile", "softmax", "--set", "\x1b[31m"], ["\x1b[31m"], ["--\x1b[31m", "list"],
                      ["compile", "softmax", "--set", "M=\u009b31m", "N=3"], ["show", "\x1b[31m"]):
            done = self.service.kiln(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIsNone(CONTROLS.search(done.stdout + done.stderr), words)
            self.assertIn("31m", done.stderr, words)

    def test_carets_stand_below_what_they_mean(self):
        for before in ('"name": "plain"', '"name": "gr\u00fc\u00dfe"', '\t"name":\t"tabs"', '"name": "\u0085\x7f"'):
            path = self.written('{"kiln": "tile/1",\r\n' + before + ', "bogus": 1}\r\n')
            lines = self.service.kiln("check", path, check=1).stdout.split("\n")
            marks = [i for i, line in enumerate(lines) if line.strip(" |^~") == "" and "^" in line]
            shown = [(lines[i - 1], lines[i]) for i in marks if "bogus" in lines[i - 1]]
            self.assertTrue(shown, lines)
            quoted, caret = shown[-1]
            self.assertEqual(quoted[caret.index("^"):][:1], quoted[quoted.index('"bogus": ') + len('"bogus": '):][:1], quoted + "\n" + caret)


class Sentences(unittest.TestCase):
    """An error is told once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="kiln-test-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def once(self, done, sentence):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual((done.stdout + done.stderr).count(sentence), 1, done.stdout + done.stderr)

    def test_settings(self):
        os.makedirs(os.path.join(self.folder, "kiln"))
        for text, sentence in (("{", "syntax error"), ('{"bogus": 1}', "unknown field"), ('{"workers_max": "x"}', "an integer from"),
                               ('{"limits": {"bogus": 1}}', "a limit's name"), ("[]", "an object")):
            with open(os.path.join(self.folder, "kiln", "config.json"), "w") as file:
                file.write(text)
            self.once(subprocess.run([KILN, "config", "show"], env=dict(os.environ, XDG_CONFIG_HOME=self.folder), capture_output=True, text=True), sentence)

    def test_empty_program(self):
        self.once(subprocess.run([KILN, "--no-start", "--socket", "/tmp/kiln-none/s", "check", "/dev/null"], capture_output=True, text=True), "syntax error")

    def test_listener_that_speaks_something_else(self):
        path = os.path.join(self.folder, "garbage.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(1)

            def answer():
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    while connection.recv(4096):
                        pass
            thread = threading.Thread(target=answer)
            thread.start()
            done = subprocess.run([KILN, "--no-start", "--socket", path, "list"], capture_output=True, text=True, timeout=60)
            thread.join(30)
        self.once(done, "syntax error")


class LostOutput(ServiceCase):
    """Output that went nowhere is no success."""

    def shell(self, line):
        return subprocess.run(["sh", "-c", line], env=dict(self.service.environment, KILN=KILN + " --no-start --socket " + self.service.socket),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def test_full(self):
        for words in ("show gemm", "list", "--json list", "--version", "--help", "config show"):
            done = self.shell("exec $KILN %s >/dev/full" % words)
            self.assertEqual((done.returncode, done.stderr), (1, "error: standard output: No space left on device\n"), words)
        self.assertEqual(self.shell("exec $KILN compile >/dev/full 2>/dev/null").returncode, 2)  # a failure keeps its status

    def test_closed(self):
        for words in ("show gemm", "list"):
            done = self.shell("exec $KILN %s >&-" % words)
            self.assertEqual((done.returncode, done.stderr), (1, "error: standard output: Bad file descriptor\n"), words)
        self.assertEqual(self.shell("exec $KILN list <&- 2>&-").returncode, 0)

    def test_reader_that_is_gone(self):
        for before in ("", "trap '' PIPE; "):
            reading, writing = os.pipe()
            os.close(reading)
            done = subprocess.run(["sh", "-c", before + 'exec "$@"', "sh", KILN, "--no-start", "--socket", self.service.socket, "show", "gemm"],
                                  env=self.service.environment, stdout=writing, stderr=subprocess.PIPE, timeout=60)
            os.close(writing)
            self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))


class Operands(ServiceCase):
    def test_more_memory_than_there_is(self):
        for flags in ([], ["--no-daemon"]):
            done = self.service.kiln("--json", *flags, "run", "softmax", "--set", "M=1000000", "N=1000000", check=1)
            error = json.loads(done.stdout)["error"]
            self.assertEqual(error["data"]["code"], "resource_limit")
            self.assertIn("7.28 TiB", error["message"])
            self.assertIn("the machine has available", error["message"])

    def test_more_memory_than_the_address_space_limit_leaves(self):
        limit = 1 << 30
        done = subprocess.run([KILN, "--no-start", "--socket", self.service.socket, "run", "softmax", "--set", "M=4096", "N=32768"],
                              env=self.service.environment, capture_output=True, text=True, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("take 1 GiB (1073741824 bytes), ", done.stderr)

    def test_names_that_the_kernel_has_not(self):
        for words, wanted in ((["--input", "Q=/dev/null"], "--input Q: the kernel has no such tensor; there are X, Y"),
                              (["--output", "Q=/dev/null"], "--output Q: the kernel has no such tensor"), (["--scalar", "s=1"], "--scalar s: the kernel has no such scalar")):
            self.assertIn(wanted, self.service.kiln("run", "softmax", "--set", "M=2", "N=3", *words, check=1).stderr)


if __name__ == "__main__":
    unittest.main()
