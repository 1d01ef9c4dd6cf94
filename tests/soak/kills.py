#!/usr/bin/env python3
"""kill -9 of the daemon, workers, device processes and clients under load, at places where it hurts and at random.

    tests/soak/kills.py [--kills 200] [--seed N] [--clients 6]

Clients compile, launch, evict and check every result. A round holds one process where its failpoint says (SIGSTOP, see
engine/base/os.hpp) and kills it there, or kills any process at a random time. Afterwards no result was wrong, no error
is one that a death does not explain, every entry verifies, what was stored is a hit for the next daemon, and neither
processes nor temporary files nor descriptors are left. Prints the seed and how often what was killed where; status 1
when a promise was broken, with what is left in the folder that it names.
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, until


import kiln
import numpy

OF_DAEMON = ("entry_write", "before_rename", "after_rename", "eviction")
PLACES = ("compile", *OF_DAEMON, "launch")
LENGTH = 64
# What a death on the way may make of a request; anything else is a fault.
EXPLAINED = {"not_running", "worker_died", "device_lost", "busy", "cancelled"}


def program(factor, shift):
    """Y = X * factor + shift."""
    return {"kiln": "tile/1", "name": "line", "params": [
        {"name": "X", "dtype": "f32", "shape": [LENGTH], "access": "read"},
        {"name": "Y", "dtype": "f32", "shape": [LENGTH], "access": "write"}],
        "launches": [{"grid": ["1"], "threads": "64", "body": [
            {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": [LENGTH]},
            {"op": "copy", "from": "X[0:]", "to": "t"},
            {"op": "map", "index": ["i"], "extent": [LENGTH], "body": [{"set": "t[i]", "value": "t[i] * %d.0 + %d.0" % (factor, shift)}]},
            {"op": "copy", "from": "t", "to": "Y[0:]"}]}]}


class Load:
    """One client's life: it ends when the file `stop` is there."""

    def __init__(self, soak, seed):
        self.soak, self.random = soak, random.Random(seed)
        self.report = os.open(soak.path("report"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.client = None

    def say(self, kind, text=""):
        os.write(self.report, (json.dumps([kind, text]) + "\n").encode())

    def run(self):
        while not os.path.exists(self.soak.path("stop")):
            try:
                if self.client is None:
                    self.client = kiln.connect(self.soak.socket, auto_start=False)
                self.once()
            except kiln.KilnError as error:
                explained = error.retryable or error.code in EXPLAINED
                self.say(error.code if explained else "ERROR", "%s: %s" % (error.code, error))
                time.sleep(0.01)  # as a client would, before it tries again
        self.say("left")

    def once(self):
        draw = self.random.random()
        if draw < 0.1:
            self.client.connection.call("cache.evict", {"entries_max": self.random.randrange(4)})
            return self.say("evicted")
        factor, shift = (self.random.randrange(10), 1) if draw < 0.6 else (self.random.randrange(1 << 19), self.random.randrange(9))
        kernel = self.client.compile(program(factor, shift))
        values = numpy.array([self.random.randrange(16) for _ in range(LENGTH)], "float32")
        x, y = self.client.from_numpy(values), self.client.empty((LENGTH,), "f32")
        kernel(X=x, Y=y)
        got, want = y.numpy(), values * factor + shift  # below 2^24: exact
        right = numpy.array_equal(got, want)
        self.say("right" if right else "WRONG", "" if right else "%d, %d: %s for %s" % (factor, shift, got[:4], values[:4]))


def processes(folder):
    """{pid: (parent, state, words)} of all that have the folder in their command line or environment."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open("/proc/%s/stat" % entry) as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
            with open("/proc/%s/cmdline" % entry, "rb") as file:
                words = file.read()
            with open("/proc/%s/environ" % entry, "rb") as file:
                environment = file.read()
        except OSError:
            continue
        if state != "Z" and folder.encode() in words + environment:
            found[int(entry)] = (int(parent), state, words.decode(errors="replace").replace("\0", " "))
    return found


class Soak:
    def __init__(self, arguments):
        self.seed, self.kills, self.clients_wanted = arguments.seed, arguments.kills, arguments.clients
        self.random = random.Random(self.seed)
        self.folder = tempfile.mkdtemp(prefix="kiln-kills-")
        self.socket = self.path("run/kiln.sock")
        self.histogram = collections.Counter()
        self.daemon = None
        self.clients = {}
        self.clients_made = 0
        for name in ("config/kiln", "temporary", "run"):
            os.makedirs(self.path(name), mode=0o700)
        for program_name, place in (("kiln-compile-host", "compile"), ("kiln-device-host", "launch")):
            with open(self.path(program_name), "w") as file:
                file.write("#!/bin/sh\nexport KILN_SOAK=%s  # known by it\n[ -e %s ] && export KILN_FAILPOINTS=$(cat %s)\nexec %s \"$@\"\n" % (
                    self.folder, self.path("hold-" + place), self.path("hold-" + place), os.path.join(BIN, program_name)))
            os.chmod(self.path(program_name), 0o700)
        with open(self.path("config/kiln/config.json"), "w") as file:
            json.dump({"worker_host": [self.path("kiln-compile-host")], "device_host": [self.path("kiln-device-host")]}, file)

    def path(self, name):
        return os.path.join(self.folder, name)

    # ---- processes ----

    def start_daemon(self, failpoints=""):
        environment = dict(os.environ, XDG_CONFIG_HOME=self.path("config"), XDG_STATE_HOME=self.folder, TMPDIR=self.path("temporary"),
                           KILN_FAILPOINTS=failpoints)
        reading, writing = os.pipe()
        with open(self.path("kilnd.log"), "ab") as log:
            self.daemon = subprocess.Popen(
                [os.path.join(BIN, "kilnd"), "--socket", self.socket, "--cache", self.path("cache"), "--ready-fd", str(writing)],
                pass_fds=[writing], env=environment, stdout=log, stderr=log)
        os.close(writing)
        with os.fdopen(reading) as ready:
            said = ready.readline().strip()
        if said != "ready":
            raise AssertionError("kilnd did not start: " + said)

    def start_client(self):
        self.clients_made += 1
        pid = os.fork()
        if pid == 0:
            try:
                Load(self, "%d.%d" % (self.seed, self.clients_made)).run()
                os._exit(0)
            except BaseException as error:
                Load(self, 0).say("ERROR", "client: %r" % error)
                os._exit(1)
        self.clients[pid] = True

    def kill(self, pid, what):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.histogram[what] += 1
        if pid in self.clients:
            os.waitpid(pid, 0)
            del self.clients[pid]
            self.start_client()
        elif pid == self.daemon.pid:
            self.daemon.wait()
            until(lambda: not self.children(pid), what="the end of a killed daemon's children")

    def children(self, parent):
        names = ("kiln-compile-host", "kiln-device-host")
        return {pid: words for pid, (of, _, words) in processes(self.folder).items()
                if (of == parent or of == 1) and any(name in words for name in names)}

    # ---- rounds ----

    def held_round(self, place):
        """One process stops at the place and is killed there."""
        nth = self.random.randrange(1, 4)
        hold = self.path("hold-" + place)
        if place in OF_DAEMON:
            self.start_daemon("%s:%d:STOP" % (place, nth))
        else:
            with open(hold, "w") as file:
                file.write("%s:%d:STOP" % (place, nth))
            self.start_daemon()
        held = until(self.stopped, 120, "a process that stops at " + place)
        if os.path.exists(hold):
            os.unlink(hold)
        for pid in held:
            self.kill(pid, place)
        if place not in OF_DAEMON:
            for pid in self.children(self.daemon.pid):  # others that were started to be held
                self.kill(pid, "behind " + place)
            self.serves()
            self.end_daemon()

    def stopped(self):
        for client in self.clients:
            if os.waitpid(client, os.WNOHANG)[0]:
                raise AssertionError("a client ended by itself")
        return [pid for pid, (_, state, words) in processes(self.folder).items() if state == "T"]

    def random_round(self):
        """Any process, at any time."""
        self.start_daemon()
        time.sleep(self.random.random() * 0.5)  # the time of the kill is what is random
        kind = self.random.choice(("daemon", "worker", "device", "client"))
        children = self.children(self.daemon.pid)
        name = {"worker": "kiln-compile-host", "device": "kiln-device-host"}.get(kind)
        victims = ([self.daemon.pid] if kind == "daemon" else list(self.clients) if kind == "client" else
                   [pid for pid, words in children.items() if name in words])
        if victims:
            self.kill(self.random.choice(sorted(victims)), "random " + kind)
        if kind != "daemon" or not victims:
            self.serves()
            self.end_daemon()

    def serves(self):
        """A daemon whose child or client died answers the next one."""
        with kiln.connect(self.socket, auto_start=False) as client:
            for _ in range(3):  # it may share a flight with the death
                try:
                    return client.compile(program(3, 4))
                except kiln.KilnError as error:
                    if error.code not in EXPLAINED:
                        raise
            return client.compile(program(3, 5))

    def end_daemon(self):
        self.daemon.terminate()
        if self.daemon.wait(timeout=60) != 0:
            raise AssertionError("kilnd ended with status %d" % self.daemon.returncode)

    # ---- afterwards ----

    def end_clients(self):
        with open(self.path("stop"), "w"):
            pass
        for pid in list(self.clients):
            if os.waitpid(pid, 0)[1] != 0:
                raise AssertionError("a client failed")
        self.clients.clear()

    def check_entries(self):
        """Every entry is sound; what is told to be stored survives a kill."""
        with kiln.connect(self.socket, auto_start=False) as client:
            verified, _ = client.connection.call("cache.verify")
            if verified["bad"] != 0:
                raise AssertionError("damaged entries: %r" % verified)
            for shift in range(10):
                client.compile(program(7, shift))
        self.kill(self.daemon.pid, "between")
        self.start_daemon()
        with kiln.connect(self.socket, auto_start=False) as client:
            for shift in range(10):
                client.connection.call("kernel.compile", {"program": program(7, shift), "must_hit": True})
        return verified["checked"]

    def check_left_overs(self):
        with kiln.connect(self.socket, auto_start=False) as client:
            until(lambda: client.stats()["server"]["connections"] == 1, what="the end of connections")
            if client.stats()["service"]["buffers"] != 0:
                raise AssertionError("buffers are left")
        self.end_daemon()
        left = processes(self.folder)
        files = [os.path.join(at, name) for at in ("temporary", "cache/tmp") if os.path.isdir(self.path(at)) for name in os.listdir(self.path(at))]
        if left or files or os.path.exists(self.socket):
            raise AssertionError("left over: processes %r, files %r, socket %s" % (left, files, os.path.exists(self.socket)))

    def results(self):
        counts, faults = collections.Counter(), []
        with open(self.path("report")) as file:
            for line in file:
                kind, text = json.loads(line)
                counts[kind] += 1
                if kind.isupper():
                    faults.append("%s %s" % (kind, text))
        return counts, faults

    def run(self):
        with open(self.path("report"), "w"):
            pass
        for _ in range(self.clients_wanted):
            self.start_client()
        at_places = [place for place in PLACES for _ in range(self.kills // 8)]
        rounds = at_places + ["random"] * (self.kills - len(at_places))
        self.random.shuffle(rounds)
        for number, place in enumerate(rounds):
            self.random_round() if place == "random" else self.held_round(place)
            if sys.stdout.isatty():
                print("\r%d of %d" % (number + 1, len(rounds)), end="", flush=True)
        self.start_daemon()
        self.end_clients()
        entries = self.check_entries()
        self.check_left_overs()
        counts, faults = self.results()
        print("\nseed %d: %d kills" % (self.seed, sum(self.histogram.values())))
        for what, count in sorted(self.histogram.items()):
            print("  %4d  %s" % (count, what))
        print("requests: " + ", ".join("%d %s" % (count, kind) for kind, count in sorted(counts.items())))
        print("%d entries verified" % entries)
        if faults:
            raise AssertionError("%d faults, the first: %s" % (len(faults), faults[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="an eighth at each of %s, the rest at random" % ", ".join(PLACES))
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    soak = Soak(parser.parse_args())
    print("seed %d, folder %s" % (soak.seed, soak.folder), flush=True)
    try:
        soak.run()
    except BaseException as error:
        print("FAILED, seed %d: %s" % (soak.seed, error))
        for pid in [*soak.clients, *processes(soak.folder)]:
            os.kill(pid, signal.SIGKILL)
        return 1
    shutil.rmtree(soak.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
