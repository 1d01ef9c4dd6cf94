"""A daemon of a benchmark's own: its cache, its settings and its socket lie in a folder that goes away with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "api", "python"))
import kiln  # noqa: E402


def programs_folder(given: Optional[str]) -> str:
    """Where kiln and kilnd lie: what was given, ``$KILN_BIN``, or this checkout's ``build/bin``."""
    folder = os.path.abspath(given or os.environ.get("KILN_BIN") or os.path.join(ROOT, "build", "bin"))
    if not os.access(os.path.join(folder, "kilnd"), os.X_OK):
        sys.exit("no kilnd in %s: build it, or say --bin FOLDER" % folder)
    return folder


def private_environment(folder: str, settings: Dict[str, Any]) -> Dict[str, str]:
    """This process's environment with settings, log and run time folder below ``folder``; toolchains are the user's."""
    os.makedirs(folder, mode=0o700, exist_ok=True)  # a socket's folder must be nobody else's
    os.makedirs(os.path.join(folder, "config", "kiln"), exist_ok=True)
    for name in ("state", "run"):
        os.makedirs(os.path.join(folder, name), mode=0o700, exist_ok=True)
    with open(os.path.join(folder, "config", "kiln", "config.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
    for name, place in (("CONFIG_HOME", "config"), ("STATE_HOME", "state"), ("RUNTIME_DIR", "run")):
        environment["XDG_" + name] = os.path.join(folder, place)
    return environment


def kiln_json(bin_folder: str, folder: str, *words: str) -> Dict[str, Any]:
    """What ``kiln --json WORDS`` says with settings of ``folder``'s own."""
    command = [os.path.join(bin_folder, "kiln"), "--json", *words]
    done = subprocess.run(command, env=private_environment(folder, {}), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError("kiln %s ended with status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return json.loads(done.stdout)


def missing_hiprtc(bin_folder: str) -> str:
    """Why hipRTC does not work here, or ""."""
    with tempfile.TemporaryDirectory(prefix="kiln-bench-") as folder:
        found = kiln_json(bin_folder, folder, "toolchain", "list")
    return "" if found["usable"] else "no hipRTC (%s); get it with `kiln toolchain install`" % found["check"]


class PrivateDaemon:
    """``with PrivateDaemon(...) as daemon``: a running kilnd and a client connected to it."""

    def __init__(self, bin_folder: str, folder: str, cache: str, settings: Optional[Dict[str, Any]] = None):
        self.socket = os.path.join(folder, "kiln.sock")
        self.environment = private_environment(folder, settings or {})
        self._command: List[str] = [os.path.join(bin_folder, "kilnd"), "--socket", self.socket, "--cache", cache]
        self._process: Optional[subprocess.Popen] = None
        self.client: Any = None
        self.start_ms = 0.0

    def start(self) -> "PrivateDaemon":
        """From the start of the process to the answer to ``hello``: ``start_ms``."""
        reading, writing = os.pipe()
        begin = time.perf_counter()
        self._process = subprocess.Popen([*self._command, "--ready-fd", str(writing)], env=self.environment,
                                         pass_fds=(writing,), start_new_session=True, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading, "r", errors="replace") as ready:
            said = ready.readline().strip()
        if said != "ready":
            raise RuntimeError("the daemon did not start: %s" % (said or self._process.wait()))
        self.client = kiln.connect(self.socket, auto_start=False)
        self.start_ms = (time.perf_counter() - begin) * 1e3
        return self

    def call(self, method: str, **params: Any) -> Dict[str, Any]:
        answer, descriptors = self.client.connection.call(method, params)
        for descriptor in descriptors:
            os.close(descriptor)
        return answer

    def cpu_ms(self) -> float:
        """Processor time that the daemon and its present children have used."""
        assert self._process
        pids, tasks = [self._process.pid], "/proc/%d/task" % self._process.pid
        for task in os.listdir(tasks):
            try:
                with open("%s/%s/children" % (tasks, task), encoding="ascii") as file:
                    pids += [int(pid) for pid in file.read().split()]
            except FileNotFoundError:
                pass  # a thread that has just ended
        # The number of another process's clock, as clock_getcpuclockid(3) makes it.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids) * 1e3

    def stop(self) -> None:
        if self.client is not None:
            self.client.close()
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()

    def __enter__(self) -> "PrivateDaemon":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()
