"""Servers for remote tiers: Debian's redis-server and nginx, started in a folder of the test's own, and one of this
process that behaves as badly as it is told to."""

import os
import re
import shutil
import socket
import subprocess
import threading

from service import until

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
REDIS = shutil.which("redis-server") or "/usr/bin/redis-server"
SILENT = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
NGINX_CONFIG = """
{user}daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ root {folder}/files; dav_methods PUT; create_full_put_path on; client_max_body_size 64m; }}
  }}
}}
"""


class Nginx:
    """nginx with DAV. It is handed a socket that is bound already: nobody else can take its port."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "nginx")
        os.makedirs(os.path.join(self.folder, "files"))
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(64)
            self.port = listener.getsockname()[1]
            config = os.path.join(self.folder, "nginx.conf")
            user = "user root; " if os.geteuid() == 0 else ""
            with open(config, "w") as file:
                file.write(NGINX_CONFIG.format(folder=self.folder, port=self.port, user=user))
            self.process = subprocess.Popen(
                [NGINX, "-c", config, "-p", self.folder, "-e", os.path.join(self.folder, "nginx.log")],
                pass_fds=(listener.fileno(),), env=dict(os.environ, NGINX="%d;" % listener.fileno()), **SILENT)
        self.url = "http://127.0.0.1:%d/kernels" % self.port

    def names(self):
        """Of what is stored, below the prefix."""
        root = os.path.join(self.folder, "files", "kernels")
        files = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
        return sorted(os.path.relpath(path, root) for path in files)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Redis:
    """redis-server on a Unix socket; `password`: on a port of 127.0.0.1 as well."""

    def __init__(self, folder, password=None):
        self.folder = os.path.join(folder, "redis")
        os.makedirs(self.folder, exist_ok=True)
        self.socket = os.path.join(self.folder, "redis.sock")
        self.password = password
        self.port = 0
        self.start()
        self.url = "redis+unix://" + self.socket
        if password:
            self.url = "redis://:%s@127.0.0.1:%d/2?prefix=team%%3a" % (password, self.port)

    def start(self):
        for _ in range(20):
            if self.password:  # a port that may be another's by the time it starts: then it ends, and the next is tried
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    self.port = probe.getsockname()[1]
            arguments = ["--requirepass", self.password, "--bind", "127.0.0.1"] if self.password else []
            self.process = subprocess.Popen(
                [REDIS, "--port", str(self.port), "--unixsocket", self.socket, "--dir", self.folder, "--save", "",
                 "--appendonly", "no", "--daemonize", "no", "--logfile", os.path.join(self.folder, "log"), *arguments],
                **SILENT)
            until(lambda: self.listens() or self.process.poll() is not None, what="redis-server to start")
            if self.listens():
                return
            self.process.wait()
        raise AssertionError("redis-server does not start")

    def listens(self):
        if self.process.poll() is not None:
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    stop = kill


class Bad:
    """HTTP or Redis, as it is asked in. What is put is kept, and answered to a GET as `manner` says: a name of a method
    below. Counts what it was asked."""

    def __init__(self):
        self.values = {}
        self.manner = "right"
        self.gets = self.puts = 0
        self.ending = threading.Event()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.place = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def stop(self):
        self.ending.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer, peer.makefile("rb") as lines:
            try:
                while self.request(peer, lines):
                    pass
            except (OSError, ValueError):
                pass  # the other side has had enough

    def request(self, peer, lines):
        line = lines.readline()
        if line.startswith(b"*"):
            return self.redis(peer, lines, int(line[1:]))
        if line.startswith((b"GET ", b"PUT ")):
            return self.http(peer, lines, line)
        if line:
            peer.sendall(b"\x15\x03\x01\0\0nonsense")  # TLS's first words
        return False

    def http(self, peer, lines, line):
        method, name, _ = line.decode().split()
        length = 0
        for header in iter(lines.readline, b"\r\n"):
            found = re.match(rb"content-length: *(\d+)", header, re.I)
            length = int(found.group(1)) if found else length
        if method == "PUT":
            self.values[name] = lines.read(length)
            self.puts += 1
            peer.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            return True
        self.gets += 1
        return getattr(self, "http_" + self.manner)(peer, self.values.get(name))

    def redis(self, peer, lines, count):
        words = []
        for _ in range(count):
            length = int(lines.readline()[1:])
            words.append(lines.read(length + 2)[:-2])
        if words[0] == b"SET":
            self.values[words[1].decode()] = words[2]
            self.puts += 1
            peer.sendall(b"+OK\r\n")
            return True
        self.gets += 1
        return getattr(self, "redis_" + self.manner)(peer, self.values.get(words[1].decode()))

    @staticmethod
    def found(value):
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(value) + value

    def http_right(self, peer, value):
        peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" if value is None else self.found(value))
        return True

    def http_hangs(self, peer, value):
        self.ending.wait()

    redis_hangs = http_hangs

    def drip(self, peer, data):
        for at in range(len(data)):
            if self.ending.wait(0.005):
                return
            peer.sendall(data[at:at + 1])

    def http_drips(self, peer, value):
        self.drip(peer, self.found(value))

    def http_has_no_end(self, peer, value):
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not self.ending.is_set():
            peer.sendall(bytes(1 << 20))

    def http_has_no_end_of_headers(self, peer, value):
        peer.sendall(b"HTTP/1.1 200 OK\r\n")
        while not self.ending.is_set():
            peer.sendall(b"X-More: more\r\n" * 1000)

    def http_is_too_long(self, peer, value):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n" + value)

    def http_says_a_longer_length(self, peer, value):
        peer.sendall(self.found(value).replace(b"%d" % len(value), b"%d" % (len(value) + 1)))

    def http_says_a_shorter_length(self, peer, value):
        peer.sendall(self.found(value).replace(b"%d" % len(value), b"%d" % (len(value) - 1)))

    def http_redirects(self, peer, value):
        peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://%s/\r\nContent-Length: 0\r\n\r\n" % self.place.encode())
        return True

    def http_is_in_trouble(self, peer, value):
        peer.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        return True

    def http_hangs_up(self, peer, value):
        pass

    redis_hangs_up = http_hangs_up

    def http_is_nonsense(self, peer, value):
        peer.sendall(b"\0\1\2\3nonsense\r\n\r\n")

    def other(self, value):
        return next(item for item in self.values.values() if item != value)

    @staticmethod
    def flipped(value):
        middle = len(value) // 2
        return value[:middle] + bytes([value[middle] ^ 16]) + value[middle + 1:]

    def http_gives_anothers(self, peer, value):
        return self.http_right(peer, self.other(value))

    def http_flips_a_bit(self, peer, value):
        return self.http_right(peer, self.flipped(value))

    def redis_right(self, peer, value):
        peer.sendall(b"$-1\r\n" if value is None else b"$%d\r\n" % len(value) + value + b"\r\n")
        return True

    def redis_drips(self, peer, value):
        self.drip(peer, b"$%d\r\n" % len(value) + value + b"\r\n")

    def redis_has_no_end(self, peer, value):
        peer.sendall(b"+")
        while not self.ending.is_set():
            peer.sendall(b"x" * (1 << 20))

    def redis_is_too_long(self, peer, value):
        peer.sendall(b"$1000000000\r\n" + value)

    def redis_says_a_shorter_length(self, peer, value):
        peer.sendall(b"$%d\r\n" % (len(value) - 1) + value + b"\r\n")
        return True

    def redis_is_nonsense(self, peer, value):
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    def redis_answers_twice(self, peer, value):
        peer.sendall(b"$-1\r\n$-1\r\n")
        return True

    def redis_answers_with_a_list(self, peer, value):
        peer.sendall(b"*1000000\r\n$1\r\na\r\n")
        return True

    def redis_does_not_want_to(self, peer, value):
        peer.sendall(b"-NOAUTH Authentication required.\r\n")
        return True

    def redis_gives_anothers(self, peer, value):
        return self.redis_right(peer, self.other(value))

    def redis_flips_a_bit(self, peer, value):
        return self.redis_right(peer, self.flipped(value))
