"""The daemon's counters as Prometheus text: by method, by command, over HTTP on a Unix socket, and on the loopback where asked for."""

import contextlib
import os
import re
import socket
import stat
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from peers_test import GROUP, PeersCase, USER, as_user
from service import Service, until

SOFTMAX = {"program": "softmax", "set": {"M": 4, "N": 100}}


def exchange(address, request):
    """The status, the head and the body of the answer; None where the connection ends without one."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as connection:
        connection.settimeout(60)
        connection.connect(address)
        answer = b""
        try:
            connection.sendall(request)
            while True:
                data = connection.recv(1 << 16)
                if not data:
                    break
                answer += data
        except (BrokenPipeError, ConnectionResetError):
            pass
    if not answer:
        return None
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), head, body


def get(address, target="/metrics", method="GET", **headers):
    lines = ["%s %s HTTP/1.1" % (method, target)] + ["%s: %s" % (name.replace("_", "-"), value) for name, value in ({"Host": "x", **headers}).items()]
    return exchange(address, ("\r\n".join(lines) + "\r\n\r\n").encode())


def samples(text):
    """{name with labels: value}; every line must be of the exposition format, and every sample have a type."""
    found, types = {}, {}
    for line in text.splitlines():
        typed = re.fullmatch(r"# TYPE (kiln_[a-z0-9_]+) (counter|gauge|histogram)", line)
        if typed:
            assert typed.group(1) not in types, line
            types[typed.group(1)] = typed.group(2)
        elif not re.fullmatch(r"# HELP kiln_[a-z0-9_]+ [A-Z0-9].*\.", line):
            sample = re.fullmatch(r'((kiln_[a-z0-9_]+)(?:\{(?:[a-z_]+="[^"\n]*",?)+\})?) ([0-9.e+-]+)', line)
            assert sample, line
            name = sample.group(2)
            family = re.sub(r"_(bucket|sum|count)$", "", name) if name not in types else name
            assert types.get(family), line
            assert sample.group(1) not in found, line
            found[sample.group(1)] = float(sample.group(3))
    return found


class Metrics(unittest.TestCase):
    def serve(self, **config):
        service = Service(config=config)
        self.addCleanup(service.__exit__)
        self.metrics = service.socket[:-len(".sock")] + "-metrics.sock"
        return service

    def test_they_tell_what_happened(self):
        service = self.serve()
        with contextlib.closing(service.connect()) as connection:
            self.assertIn("result", connection.call("kernel.compile", SOFTMAX))
            self.assertTrue(connection.call("kernel.compile", SOFTMAX)["result"]["cached"])
            self.assertIn("error", connection.call("no.such.method"))
            self.assertIn("result", connection.call("buffer.alloc", {"size": 8192}))
            status, head, body = get(self.metrics)
            self.assertEqual(status, 200)
            self.assertIn("Content-Type: text/plain; version=0.0.4; charset=utf-8", head)
            found = samples(body)
            stats = connection.call("engine.stats")["result"]
            self.assertEqual(found["kiln_compiles_total"], stats["workers"]["compiles"])
            self.assertEqual((found["kiln_compiles_total"], found["kiln_memory_hits_total"], found["kiln_request_errors_total"]), (1, 1, 1))
            self.assertEqual((found["kiln_connections"], found["kiln_connections_total"]), (1, 1), "requests of HTTP are no connections")
            self.assertEqual((found["kiln_buffers"], found["kiln_buffer_bytes"]), (1, 8192))
            self.assertEqual((found["kiln_cache_entries"], found["kiln_cache_stores_total"], found["kiln_cache_writable"]), (1, 1, 1))
            self.assertEqual(found['kiln_request_duration_seconds_count{method="kernel.compile"}'], 2)
            self.assertEqual(found['kiln_request_duration_seconds_count{method="unknown"}'], 1)
            buckets = [v for k, v in found.items() if k.startswith('kiln_request_duration_seconds_bucket{method="kernel.compile"')]
            self.assertEqual((buckets, buckets[-1], len(buckets)), (sorted(buckets), 2, 8))
            self.assertGreater(found['kiln_request_duration_seconds_sum{method="kernel.compile"}'], 0)
            self.assertEqual(set(samples(connection.call("engine.metrics")["result"]["text"])) - set(found),
                             {'kiln_request_duration_seconds_%s{method="engine.stats"%s}' % pair for pair in
                              [("sum", ""), ("count", "")] + [("bucket", ',le="%s"' % le) for le in "0.0001 0.001 0.01 0.1 1 10 100 +Inf".split()]})
        said = service.kiln("metrics", check=0).stdout
        self.assertEqual(samples(said)["kiln_compiles_total"], 1)

    def test_requests_that_are_none(self):
        self.serve()
        for method in ("POST", "PUT", "HEAD", "DELETE", "BREW"):
            self.assertIn(get(self.metrics, method=method)[0], (400, 405), method)
        self.assertEqual(get(self.metrics, "/")[0], 404)
        self.assertEqual(get(self.metrics, "/metrics/../../etc/passwd")[0], 404)
        self.assertEqual(exchange(self.metrics, b"\x16\x03\x01 nonsense\r\n\r\n")[0], 400)
        self.assertIn(exchange(self.metrics, b"GET /metrics HTTP/1.1\r\nA: " + b"a" * 100000 + b"\r\n\r\n"), (None, ) + tuple(
            [exchange(self.metrics, b"GET /metrics HTTP/1.1\r\nA: " + b"a" * 10000 + b"\r\n\r\n")]))
        self.assertEqual(get(self.metrics, Content_Length="1000000000")[0], 400)
        self.assertEqual(get(self.metrics)[0], 200)

    def test_who_asks_nothing_holds_nobody_up(self):
        self.serve()
        silent = []
        for _ in range(16):
            silent.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            self.addCleanup(silent[-1].close)
            silent[-1].connect(self.metrics)
        self.assertIsNone(get(self.metrics), "more than that many at once are not served")
        silent.pop().close()
        self.assertEqual(until(lambda: get(self.metrics), what="room for another one")[0], 200)
        silent[0].settimeout(60)
        self.assertEqual(silent[0].recv(1), b"", "who asks nothing for long is dropped")

    def test_another_place_or_none(self):
        service = self.serve(metrics_socket="")
        self.assertFalse(os.path.exists(self.metrics))
        self.assertEqual(service.kiln("metrics", check=0).stdout.count("kiln_build_info{"), 1)
        first = self.serve()
        second = Service(config={"metrics_socket": self.metrics})
        self.addCleanup(second.__exit__)
        self.assertIn("no metrics: another kilnd serves " + self.metrics, second.log())
        self.assertEqual(get(self.metrics)[0], 200)
        self.assertIn("no metrics: the socket path is over", self.serve(metrics_socket="/tmp/" + "x" * 120).log())
        first.stop()
        self.assertFalse(os.path.exists(first.socket[:-len(".sock")] + "-metrics.sock"), "it goes with its daemon")

    def test_by_tcp_with_the_token_alone(self):
        with contextlib.closing(socket.socket()) as chosen:  # free now, and where not any more, the daemon says so
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        service = self.serve(metrics_port=port)
        address, host = ("127.0.0.1", port), "127.0.0.1:%d" % port
        path = re.search(r"metrics on http://127\.0\.0\.1:%d/metrics, for who bears the token in (\S+)" % port, service.log()).group(1)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path) as file:
            token = file.read().strip()
        self.assertRegex(token, r"^[0-9a-f]{48}$")
        self.assertNotIn(token, service.log())
        self.assertEqual(get(address, Host=host)[0], 401)
        self.assertEqual(get(address, Host=host, Authorization="Bearer " + token[:-1] + "x")[0], 401)
        self.assertEqual(get(address, "/metrics?token=", Host=host)[0], 401)
        self.assertEqual(get(address, Host=host, Authorization="Bearer " + token)[0], 200)
        self.assertEqual(get(address, "/metrics?a=b&token=" + token, Host="localhost:%d" % port)[0], 200)
        for other in ("attacker.example", "attacker.example:%d" % port, "127.0.0.1", "127.0.0.1:1"):
            self.assertEqual(get(address, Host=other, Authorization="Bearer " + token)[0], 421, other)
        self.assertEqual(get(address, method="POST", Host=host, Authorization="Bearer " + token)[0], 405)
        self.assertEqual(get(self.metrics)[0], 200)
        service.stop()
        self.assertFalse(os.path.exists(path))


class Peers(PeersCase):
    def test_whoever_may_use_the_daemon_and_nobody_else(self):
        path = os.path.join(self.folder("/run"), "own", "kiln.sock")
        self.serve(path, group=str(GROUP))
        metrics = path[:-len(".sock")] + "-metrics.sock"
        self.assertEqual(as_user(USER, [GROUP], lambda: get(metrics)[0]), 200)
        os.chmod(os.path.dirname(path), 0o755)  # the folder keeps others out; and so does the daemon
        os.chmod(metrics, 0o666)
        self.assertIsNone(as_user(USER, [], lambda: get(metrics)))


if __name__ == "__main__":
    unittest.main()
