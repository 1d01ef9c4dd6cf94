"""Starting a daemon. Imported only when none answers."""

from __future__ import annotations

import os
import shutil
import subprocess

from .errors import NotRunning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Sequence

# The daemon's folder is `/`: paths that count from ours are made absolute before it gets them.
_PATH_FLAGS = ("--cache", "--socket")
_PATH_VARIABLES = ("KILN_CACHE_DIR", "KILN_SOCKET")


def absolute_arguments(arguments: Sequence[str]) -> List[str]:
    """Arguments of ``kilnd`` with the paths of ``--cache`` and ``--socket`` made absolute."""
    done: List[str] = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if done and done[-1] in _PATH_FLAGS:
            argument = os.path.abspath(argument)
        elif equals and flag in _PATH_FLAGS:
            argument = flag + "=" + os.path.abspath(value)
        done.append(argument)
    return done


def find_daemon() -> Optional[str]:
    """``kilnd``: ``$KILN_DAEMON``, in this package (``native/bin``), in its checkout (``build/bin``) or
    installed tree, or on ``PATH``."""
    named = os.environ.get("KILN_DAEMON", "")
    return os.path.abspath(named) if named and os.access(named, os.X_OK) else find_program("kilnd")


def find_program(name: str) -> Optional[str]:
    """One of Kiln's programs: in this package, in its checkout or installed tree, or on ``PATH``; None where there is none."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.join(here, "native", "bin"), os.path.join(here, "..", "..", "..", "build", "bin"),
                   os.path.join(here, "..", "..", "..", "..", "bin")):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
    return shutil.which(name)


def run_program() -> None:
    """The console scripts ``kiln`` and ``kilnd``: becomes the program of that name."""
    import sys

    name = os.path.basename(sys.argv[0])
    program = find_program(name)
    if program is None or os.path.realpath(program) == os.path.realpath(sys.argv[0]):
        sys.exit("%s: this package was installed without its programs" % name)
    os.environ.setdefault("KILN_PYTHON", sys.executable)
    os.execv(program, [name, *sys.argv[1:]])


def daemon_environment() -> Dict[str, str]:
    """What a started daemon gets of our environment."""
    keep = {"HOME", "PATH", "TMPDIR", "LANG", "LC_ALL", "USER", "LOGNAME", "ROCM_PATH", "HIP_PATH", "HSA_OVERRIDE_GFX_VERSION", "HSA_XNACK"}
    kept = {k: v for k, v in os.environ.items() if k in keep or k.startswith(("KILN_", "XDG_"))}
    for name in _PATH_VARIABLES:
        if kept.get(name):
            kept[name] = os.path.abspath(kept[name])
    return kept


def start_daemon(path: str, arguments: Sequence[str] = ()) -> str:
    """Starts ``kilnd`` for ``path``: ``"ready"`` when it serves, ``"busy"`` when another one holds the place."""
    daemon = find_daemon()
    if daemon is None:
        raise NotRunning("no daemon listens on %s and kilnd was not found: set KILN_DAEMON to its path" % path)
    command = [daemon, "--socket", path, "--auto-started", "--ready-fd"]
    reading, writing = os.pipe()
    try:
        child = subprocess.Popen([*command, str(writing), *arguments], cwd="/", env=daemon_environment(), pass_fds=(writing,),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
        os.close(writing)
        writing = -1
        with os.fdopen(reading, "r", errors="replace") as ready:
            reading = -1
            said = ready.readline().strip()
    finally:
        for fd in (reading, writing):
            if fd >= 0:
                os.close(fd)
    if said not in ("ready", "busy"):
        raise NotRunning("the daemon did not start: %s" % (said or "exit status %s" % child.wait()))
    if said == "busy":
        child.wait()
    child.returncode = 0  # it lives on by itself
    return said
