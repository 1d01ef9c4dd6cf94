"""Who is served: our own user and root, a configured group's members as no administrators, nobody else; and whom clients
trust. Other users are made by giving rights up in forked children, so these tests need root."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, Raw, Service, until

import kiln

USER, GROUP, OTHER = 23456, 23457, 23458  # of nobody
OVERFLOW = 65534


def as_user(uid, groups, work):
    """`work()` in a child process of that user: its value, by JSON."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups(groups)
            os.setgid(uid)
            os.setuid(uid)
            os.write(writing, json.dumps(work()).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    if os.waitpid(pid, 0)[1] != 0:
        raise AssertionError("the child failed")
    return json.loads(text)


def answer_to_ping(path):
    """None where the connection ends instead."""
    with contextlib.closing(Raw(path)) as connection:
        try:
            connection.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        except BrokenPipeError:
            return None
        return connection.line()


@unittest.skipUnless(os.geteuid() == 0, "other users' processes can be made by root alone")
class PeersCase(unittest.TestCase):
    def folder(self, parent):
        path = tempfile.mkdtemp(prefix="kiln-peers-", dir=parent)
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        os.chmod(path, 0o755)
        return path

    def serve(self, path, **config):
        service = Service(config=config, socket=path)
        self.addCleanup(service.__exit__)
        return service


class Group(PeersCase):
    def setUp(self):
        self.path = os.path.join(self.folder("/run"), "own", "kiln.sock")
        self.service = self.serve(self.path, group=str(GROUP))

    def calls(self, *methods):
        def work():
            with contextlib.closing(Raw(self.path)) as connection:
                answers = [connection.call(method, params) for method, params in methods]
            return [a["result"] if "result" in a else a["error"]["data"]["code"] for a in answers]
        return work

    def test_the_folder_and_the_socket_are_the_groups(self):
        folder, path = os.stat(os.path.dirname(self.path)), os.stat(self.path)
        self.assertEqual((folder.st_mode & 0o777, folder.st_gid), (0o750, GROUP))
        self.assertEqual((path.st_mode & 0o777, path.st_gid), (0o660, GROUP))

    def test_a_member_works_and_does_not_administer(self):
        ours = Raw(self.path)
        self.addCleanup(ours.close)
        self.assertEqual(ours.call("buffer.alloc", {"size": 4096})["result"]["buffer"], 1)
        compile = {"program": "softmax", "set": {"M": 4, "N": 100}}
        for uid, groups in ((USER, [1, 2, GROUP, 3]), (GROUP, [])):
            compiled, connections, buffers, *refused = as_user(uid, groups, self.calls(
                ("kernel.compile", compile), ("engine.connections", {}), ("buffer.list", {}), ("shutdown", {}),
                ("cache.evict", {"bytes_max": 0}), ("cache.export", {}), ("cache.import", {"fd": {"fd": 0}}),
                ("tuning.remove", {"record": "0" * 64}), ("tuning.import", {"records": {}})))
            self.assertEqual(len(compiled["key"]), 64)
            self.assertEqual([c["uid"] for c in connections["connections"]], [uid])
            self.assertEqual(buffers, {"buffers": []})
            self.assertEqual(refused, ["permission_denied"] * 6)
        self.assertEqual(ours.call("ping")["result"], {})

    def test_a_client_of_the_group(self):
        def work():
            with kiln.connect(self.path, auto_start=False) as client:
                return client.connection.call("ping")[0]
        self.assertEqual(as_user(USER, [GROUP], work), {})

    def test_strangers(self):
        with self.assertRaises(AssertionError), open(os.devnull, "w") as null:
            saved = os.dup(2)
            os.dup2(null.fileno(), 2)
            try:
                as_user(USER, [], self.calls(("ping", {})))  # the folder keeps them out
            finally:
                os.dup2(saved, 2)
                os.close(saved)
        os.chmod(os.path.dirname(self.path), 0o755)
        os.chmod(self.path, 0o666)

        for uid, groups in ((USER, []), (USER, [OTHER]), (OVERFLOW, [GROUP])):
            self.assertIsNone(as_user(uid, groups, lambda: answer_to_ping(self.path)))
            until(lambda: "connection refused: uid %d is not ours and not of group %d" % (uid, GROUP) in self.service.log())
        with contextlib.closing(Raw(self.path)) as connection:
            self.assertEqual(connection.call("ping")["result"], {})


class Settings(PeersCase):
    def refused(self, folder_mode, gid, config, path=None):
        folder = self.folder("/run")
        os.chown(folder, 0, gid)
        os.chmod(folder, folder_mode)
        with self.assertRaises(AssertionError) as said:
            self.serve(path or os.path.join(folder, "kiln.sock"), **config)
        return str(said.exception)

    def test_wrong_ones(self):
        self.assertIn("the name or number of a group", self.refused(0o750, GROUP, {"group": "no such group"}))
        for mode, gid in ((0o755, GROUP), (0o770, GROUP), (0o700, GROUP), (0o750, OTHER)):
            self.assertIn("it must have group %d and 0750" % GROUP, self.refused(mode, gid, {"group": str(GROUP)}))

    def test_without_a_group_nobody_else_is_served(self):
        path = os.path.join(self.folder("/run"), "kiln.sock")
        service = self.serve(path)
        os.chmod(path, 0o666)

        self.assertIsNone(as_user(USER, [0], lambda: answer_to_ping(path)))
        until(lambda: "connection refused: uid %d is not ours\n" % USER in service.log())


class Clients(PeersCase):
    """A server of another user: what its socket's folder says decides before anything is sent."""

    def fake_server(self, folder):
        """Answers every line, and writes what came: bytes and descriptors."""
        os.chown(folder, USER, USER)
        path = os.path.join(folder, "kiln.sock")
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(path)
            os.chmod(path, 0o666)
            listening.listen(8)
            os.write(writing, b"ready")
            os.close(writing)
            while True:
                peer, _ = listening.accept()
                data = peer.recv(1 << 16)
                with open(os.path.join(folder, "seen"), "ab") as file:
                    file.write(data)
                if data:
                    answer = {"jsonrpc": "2.0", "id": json.loads(data.split(b"\n")[0])["id"],
                              "error": {"code": -32000, "message": "it was reached", "data": {"code": "busy", "retryable": False}}}
                    peer.sendall(json.dumps(answer).encode() + b"\n")
                peer.close()
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, 9)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            self.assertEqual(pipe.read(), "ready")
        return path

    def seen(self, path):
        seen = os.path.join(os.path.dirname(path), "seen")
        return os.path.exists(seen) and os.path.getsize(seen) > 0

    def said(self, path):
        """By the command line, and by Python's client."""
        done = subprocess.run([os.path.join(BIN, "kiln"), "--socket", path, "--no-start", "stats"], capture_output=True, text=True)
        try:
            kiln.connect(path, auto_start=False).stats()
            python = ""
        except kiln.KilnError as error:
            python = str(error)
        return done.stderr, python

    def test_where_anybody_can_make_folders_a_stranger_is_no_daemon(self):
        path = self.fake_server(self.folder("/tmp"))
        for text in self.said(path):
            self.assertIn("belongs to another user (uid %d)" % USER, text)
        self.assertFalse(self.seen(path), "something was sent")

    def test_where_root_made_the_folder_it_is(self):
        path = self.fake_server(self.folder("/run"))
        for text in self.said(path):
            self.assertIn("it was reached", text)
        os.chmod(os.path.dirname(path), 0o777)
        for text in self.said(path):
            self.assertIn("belongs to another user", text)


if __name__ == "__main__":
    unittest.main()
