"""Remote tiers: two machines with a cache each and one tier between them, where the second compiles nothing; and tiers
that are dead, hang, drip or lie, by which no request fails, none is answered wrongly, and none waits for long."""

import json
import os
import shutil
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import Service, until
from tier_servers import NGINX, REDIS, Bad, Nginx, Redis

KEY = b"a key that both machines have"
SERVERS = all(os.path.exists(program) for program in (NGINX, REDIS))


def kernel(n, **more):
    return dict({"program": "softmax", "set": {"M": 4, "N": n}, "target": "host"}, **more)


def patient(url, **more):
    """The setting of a tier that is given all the time that a busy machine may take."""
    return dict({"url": url, "timeout_ms": 20000}, **more)


class Machine:
    """A daemon with a cache of its own and a remote tier."""

    def __init__(self, case, tier, key=None, environment=None):
        config = {} if tier is None else {"cache_tier": tier}
        if key is not None:
            config["trust_key"] = case.key_file(key)
        self.service = Service(config=config, environment=environment)
        case.addCleanup(self.service.__exit__)
        self.connection = self.service.connect()
        case.addCleanup(self.connection.close)
        self.case = case

    def compile(self, n, **more):
        return self.connection.call("kernel.compile", kernel(n, **more))

    def origin(self, n, **more):
        answer = self.compile(n, **more)
        self.case.assertIn("result", answer)
        return answer["result"]["origin"]

    def stats(self):
        return self.connection.call("cache.stats")["result"]

    def tier(self):
        return self.stats()["tier"]

    def stored(self, count):
        """Waits until so many kernels were put, behind the answers."""
        until(lambda: self.tier()["stored"] >= count, what="%d kernels to be stored in the tier" % count)


class TierCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kiln-tier-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.keys = 0

    def key_file(self, content):
        self.keys += 1
        path = os.path.join(self.folder, "key%d" % self.keys)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        return path

    def started(self, server):
        self.addCleanup(server.stop)
        return server


@unittest.skipUnless(SERVERS, "needs nginx and redis-server")
class TwoMachines(TierCase):
    def share(self, url):
        """The first compiles, the second takes; then nothing is vouched for where keys differ. Both machines."""
        first = Machine(self, patient(url), KEY)
        self.assertEqual([first.origin(n) for n in (100, 101)], ["compiled"] * 2)
        first.stored(2)
        second = Machine(self, patient(url), KEY)
        self.assertEqual([second.origin(100), second.origin(101, must_hit=True)], ["tier"] * 2)
        self.assertEqual([second.origin(n) for n in (100, 101)], ["memory"] * 2)
        self.assertEqual(second.compile(102, must_hit=True)["error"]["data"]["code"], "must_hit")
        run = second.service.kiln("run", "softmax", "--set", "M=4", "N=100", "--check", check=0)
        self.assertIn("kernel found", run.stdout)
        self.assertIn("equal to the definition", run.stdout)
        stats = second.stats()
        self.assertEqual((stats["compiles"], stats["stores"]), (0, 2))
        tier = stats["tier"]
        wanted = {"state": "up", "hits": 2, "misses": 1, "errors": 0, "timeouts": 0, "refused": 0, "stored": 0}
        self.assertEqual({name: tier[name] for name in wanted}, wanted)
        return first, second

    def refuse(self, url):
        """Who has another key takes nothing and compiles; so does who has one where nothing is signed."""
        stranger = Machine(self, patient(url, write=False), b"a key that nobody else has")
        self.assertEqual(stranger.origin(100), "compiled")
        tier = stranger.tier()
        self.assertEqual((tier["hits"], tier["refused"], tier["stored"], tier["queued"]), (0, 1, 0, 0))
        self.assertIn("HMAC", tier["last_error"])

    def test_http(self):
        nginx = self.started(Nginx(self.folder))
        first, second = self.share(nginx.url)
        keys = [first.compile(n)["result"]["key"] for n in (100, 101)]
        self.assertEqual(nginx.names(), sorted("kiln/1/" + key for key in keys))
        shown = second.service.kiln("cache", "stats", check=0).stdout
        self.assertRegex(shown, r"tier\n(  .*\n)*  hits: 2\n")
        self.assertIn(nginx.url, shown)
        self.refuse(nginx.url)
        first.service.kiln("--no-daemon", "compile", "softmax", "--set", "M=4", "N=150", check=0)
        self.assertEqual(second.origin(150), "tier", "a command ends when what it compiled is put")
        unsigned = patient(nginx.url + "/unsigned", trusted=True)
        trusting = Machine(self, unsigned)
        self.assertEqual(trusting.origin(100), "compiled")
        trusting.stored(1)
        self.refuse(nginx.url + "/unsigned")
        self.assertEqual(Machine(self, unsigned).origin(100), "tier")

    def test_redis(self):
        redis = self.started(Redis(self.folder))
        first, second = self.share(redis.url)
        self.refuse(redis.url)
        redis.kill()  # in the middle of it all
        self.assertEqual(second.origin(110), "compiled")
        until(lambda: second.tier()["dropped"] == 1, what="what cannot be stored to be dropped")
        self.assertGreater(second.tier()["errors"], 0)
        self.assertEqual(second.origin(100), "memory")
        redis.start()
        self.assertEqual([first.origin(n) for n in (120, 121)], ["compiled"] * 2)
        first.stored(4)
        self.assertEqual(first.tier()["errors"], 0, "a connection that was closed meanwhile is made anew")
        until(lambda: "result" in second.compile(121, must_hit=True), what="a hit in what was started again")
        self.assertEqual(second.stats()["compiles"], 1)

    def test_redis_with_a_password(self):
        redis = self.started(Redis(self.folder, password="hush"))
        first = Machine(self, patient(redis.url), KEY)
        self.assertEqual(first.origin(100), "compiled")
        first.stored(1)
        second = Machine(self, None, KEY, environment={"KILN_CACHE_TIER": redis.url})
        self.assertEqual(second.origin(100), "tier")
        commands = (("config", "show"), ("cache", "stats"), ("stats",))
        texts = [second.service.kiln(*command, check=0).stdout for command in commands]
        for text in texts:
            self.assertIn("127.0.0.1:%d/2" % redis.port, text)
            self.assertNotIn("hush", text)
        self.assertIn("environment KILN_CACHE_TIER", texts[0])
        stranger = Machine(self, patient(redis.url.replace("hush", "guess")), KEY)
        self.assertEqual(stranger.origin(100), "compiled")
        self.assertIn("AUTH was refused", stranger.tier()["last_error"])
        self.assertNotIn("guess", json.dumps(stranger.stats()) + stranger.service.log())


class Settings(TierCase):
    def refused(self, tier):
        with self.assertRaises(AssertionError) as raised:
            Service(config={"cache_tier": tier})
        return str(raised.exception)

    def test_a_tier_that_nothing_vouches_for_is_refused(self):
        for tier in ("http://127.0.0.1:1/x", {"url": "redis://127.0.0.1:1"}):
            self.assertIn("trust_key", self.refused(tier))

    def test_mistakes_have_their_place(self):
        for tier, place in ((7, "cache_tier"), ("ftp://h", "cache_tier"), ({"trusted": True}, "url"),
                            ({"url": "http://h", "timeout": 1}, "timeout"),
                            ({"url": "http://h", "timeout_ms": 0}, "timeout_ms")):
            self.assertIn(place, self.refused(tier))
        self.assertNotIn("hush", self.refused({"url": "http://me:hush@h/x?y", "trusted": True}))


class BadTiers(TierCase):
    """Each manner once: a miss, and its counter."""

    COUNTERS = ("hits", "misses", "errors", "timeouts", "refused", "skipped")

    IMPATIENT = ("hangs", "drips")  # these are given a quarter of a second, the others time
    HTTP = {"hangs": "timeouts", "drips": "timeouts", "has_no_end": "refused", "is_too_long": "refused",
            "has_no_end_of_headers": "refused", "says_a_longer_length": "errors", "says_a_shorter_length": "refused",
            "redirects": "errors", "is_in_trouble": "errors", "hangs_up": "errors", "is_nonsense": "refused",
            "gives_anothers": "refused", "flips_a_bit": "refused"}
    REDIS = {"hangs": "timeouts", "drips": "timeouts", "has_no_end": "refused", "is_too_long": "refused",
             "says_a_shorter_length": "refused", "is_nonsense": "refused", "answers_twice": "refused",
             "answers_with_a_list": "refused", "does_not_want_to": "errors", "hangs_up": "errors",
             "gives_anothers": "refused", "flips_a_bit": "refused"}

    def behave(self, scheme, manners):
        server = self.started(Bad())
        tier = patient(scheme + server.place, trusted=True)
        sizes = {manner: 200 + at for at, manner in enumerate(manners)}
        filling = Machine(self, tier)
        for size in sizes.values():
            filling.compile(size)
        filling.stored(len(sizes))
        machines = {False: Machine(self, tier), True: Machine(self, dict(tier, timeout_ms=250, write=False))}
        for manner, counter in manners.items():
            with self.subTest(manner=scheme + manner):
                machine = machines[manner in self.IMPATIENT]
                before = machine.tier()
                server.manner = manner
                self.assertEqual(machine.origin(sizes[manner]), "compiled")
                after = machine.tier()
                counted = {name: after[name] - before[name] for name in self.COUNTERS}
                self.assertEqual(counted, dict(dict.fromkeys(self.COUNTERS, 0), **{counter: 1}), after)
                until(lambda: machine.tier()["queued"] == 0, what="what was compiled to be put")
        machines[False].stored(len(manners) - len(self.IMPATIENT))  # by which the server was never left alone
        server.manner = "right"
        again = Machine(self, tier)
        self.assertEqual({again.origin(size) for size in sizes.values()}, {"tier"}, "what was put since is sound")

    def test_http(self):
        self.behave("http://", self.HTTP)

    def test_redis(self):
        self.behave("redis://", self.REDIS)

    def test_no_tls(self):
        server = self.started(Bad())
        machine = Machine(self, patient("https://%s/x" % server.place, trusted=True, write=False))
        self.assertEqual(machine.origin(100), "compiled")
        self.assertEqual(machine.tier()["errors"], 1)

    def test_a_dead_one_is_left_alone(self):
        with socket.socket() as nobody:  # bound, and nobody listens
            nobody.bind(("127.0.0.1", 0))
            machine = Machine(self, patient("http://127.0.0.1:%d/x" % nobody.getsockname()[1], trusted=True))
            for size in range(100, 104):
                self.assertEqual(machine.origin(size), "compiled")
            until(lambda: machine.tier()["queued"] == 0, what="the queue to be dropped")
            tier = machine.tier()
            self.assertEqual((tier["state"], tier["hits"], tier["stored"], tier["dropped"]), ("down", 0, 0, 4))
            self.assertGreater(tier["skipped"], 0)
            self.assertGreaterEqual(tier["errors"], 3)
            self.assertIn("is left alone for a while", machine.service.log())

    def test_one_that_hangs_costs_three_requests_their_time_and_the_rest_none(self):
        server = self.started(Bad())
        server.manner = "hangs"
        machine = Machine(self, {"url": "redis://" + server.place, "trusted": True, "write": False, "timeout_ms": 100})
        misses = [machine.compile(size, must_hit=True)["error"]["data"]["code"] for size in range(100, 106)]
        self.assertEqual(misses, ["must_hit"] * 6)
        tier = machine.tier()
        self.assertEqual(tier["timeouts"] + tier["skipped"], 6)
        self.assertGreaterEqual(tier["timeouts"], 3)

    def test_nothing_is_asked_and_no_thread_started_before_a_miss(self):
        server = self.started(Bad())
        machine = Machine(self, patient("http://" + server.place, trusted=True))
        task = "/proc/%d/task" % machine.service.process.pid
        before = len(os.listdir(task))
        self.assertEqual(machine.tier()["state"], "unused")
        self.assertNotIn("libcurl", self.maps(machine))
        self.assertEqual(machine.compile(100, must_hit=True)["error"]["data"]["code"], "must_hit")
        self.assertEqual((server.gets, machine.tier()["state"]), (1, "up"))
        self.assertIn("libcurl", self.maps(machine))
        self.assertGreater(len(os.listdir(task)), before)

    def maps(self, machine):
        with open("/proc/%d/maps" % machine.service.process.pid) as file:
            return file.read()


if __name__ == "__main__":
    unittest.main()
