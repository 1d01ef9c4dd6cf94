"""kernel.tune: the best of right candidates, kept for its class of sizes; candidates that are wrong, hang or crash; what an
interrupted tune keeps; records in the hands of other processes."""

import copy
import json
import os
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ROOT, Service, until

FAULT_DEVICE = os.path.join(os.path.dirname(BIN), "tests", "fault_host_device")
EMULATED = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so")
SKINNY = {"M": 8, "N": 512, "K": 512, "dtype": "f32"}


def add_one(name="add_one", value="1.0", block=64):
    """Y = X + value, a tile program of one map."""
    return {"kiln": "tile/1", "name": name, "symbols": ["N"],
            "params": [{"name": "X", "dtype": "f32", "shape": ["N"], "access": "read"},
                       {"name": "Y", "dtype": "f32", "shape": ["N"], "access": "write"}],
            "tunables": {"B": {"default": str(block), "candidates": [16, 32, 64]}},
            "launches": [{"grid": ["ceildiv(N, B)"], "threads": "64", "body": [
                {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["B"]},
                {"op": "copy", "from": "X[bid.x * B:]", "to": "t"},
                {"op": "map", "index": ["i"], "extent": ["B"], "body": [{"set": "t[i]", "value": "t[i] + " + value}]},
                {"op": "copy", "from": "t", "to": "Y[bid.x * B:]"}]}]}


def scaled():
    """Y = X, n times plus 1: a loop whose end is a scalar argument."""
    program = add_one("scaled")
    program["params"].insert(0, {"name": "n", "scalar": True, "dtype": "i32"})
    body = program["launches"][0]["body"]
    body[1:2] = [body[1], {"op": "for", "var": "k", "from": "0", "to": "n", "body": [body[2]]}]
    del body[3]
    return program


class TuningCase(unittest.TestCase):
    config = None

    def setUp(self):
        self.service = Service(config=self.config)
        self.addCleanup(self.service.__exit__)
        self.connection = self.service.connect()
        self.addCleanup(self.connection.close)

    def ok(self, method, params=None, connection=None):
        answer = (connection or self.connection).call(method, params)
        self.assertIn("result", answer, answer)
        return answer["result"]

    def refused(self, code, method, params=None):
        answer = self.connection.call(method, params)
        self.assertIn("error", answer, answer)
        self.assertEqual(answer["error"]["data"]["code"], code, answer["error"])
        return answer["error"]

    def restart(self):
        self.connection.close()
        self.assertEqual(self.service.stop(), 0)
        self.reconnect()

    def reconnect(self):
        self.service.start()
        self.connection = self.service.connect()
        self.addCleanup(self.connection.close)

    def verdicts(self, answer):
        return {row["name"]: row["verdict"] for row in answer["candidates"]}

    def tuned(self, set, program="gemm", **more):
        return self.ok("kernel.compile", {"program": program, "set": set, **more})["tuning"]


class Records(TuningCase):
    def test_the_next_process_uses_the_record_for_that_class_alone(self):
        tuned = self.ok("kernel.tune", {"program": "gemm", "set": SKINNY, "candidates": [
            {"set": {"BM": 8, "BN": 64, "BK": 64}}, {"set": {"BM": 256, "BN": 32, "BK": 16}}], "rounds_max": 8})
        self.assertEqual(tuned["ranked_by"], "time")
        self.assertEqual(tuned["checked_against"], "the interpreter")
        self.assertTrue(tuned["stored"])
        self.assertEqual(tuned["identity"]["classes"], {"M": "8", "N": "512/16", "K": "512/16"})
        self.restart()
        used = self.tuned(SKINNY)
        self.assertEqual(used["record"], tuned["record"])
        self.assertEqual(used["set"], tuned["set"])
        self.assertEqual(self.tuned({**SKINNY, "N": 272})["record"], tuned["record"])
        for other in ({"M": 9}, {"M": 16}, {"N": 511}, {"N": 256}, {"K": 1024}, {"dtype": "f16"}, {"transpose_b": True}, {"BM": 12}):
            self.assertEqual(self.tuned({**SKINNY, **other}), "default", other)
        self.assertEqual(self.tuned(SKINNY, tuned=False), "default")
        self.assertEqual(self.tuned(SKINNY, layouts={"As": "row_major"}), "default")
        set_by_hand = self.ok("kernel.compile", {"program": "gemm", "set": {**SKINNY, **tuned["set"]}})
        self.assertEqual(set_by_hand["tuning"], "default")
        self.assertEqual(self.ok("kernel.compile", {"program": "gemm", "set": SKINNY})["key"], set_by_hand["key"])
        report = self.ok("kernel.explain", {"program": "gemm", "set": SKINNY})
        self.assertEqual(report["tuning"]["record"], tuned["record"])

    def test_launch_and_verify_use_it_too(self):
        tuned = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "candidates": [{"set": {"B": 16}}], "rounds_max": 2})
        x, y = (self.ok("buffer.alloc", {"size": 400})["buffer"] for _ in range(2))
        request = {"program": add_one(), "set": {"N": 100}, "args": {"X": {"buffer": x}, "Y": {"buffer": y}}}
        by_hand = self.ok("kernel.compile", {"program": add_one(), "set": {"N": 100, "B": 16}})["key"]
        self.assertEqual(self.ok("kernel.launch", request)["key"], by_hand)
        self.assertEqual(self.ok("kernel.verify", request)["passed"], True)
        self.assertNotEqual(self.ok("kernel.launch", {**request, "tuned": False})["key"], by_hand)
        self.ok("tuning.remove", {"record": tuned["record"]})
        self.assertNotEqual(self.ok("kernel.launch", request)["key"], by_hand)

    def test_a_record_that_does_not_fit_the_size_gives_way_to_the_defaults(self):
        program = add_one()
        program["constraints"] = ["B <= 32 || N % 64 == 0"]
        program["tunables"]["B"]["default"] = "16"
        self.ok("kernel.tune", {"program": program, "set": {"N": 128}, "candidates": [{"set": {"B": 64}}], "rounds_max": 2})
        self.assertEqual(self.tuned({"N": 128}, program)["set"], {"B": "64"})
        self.assertEqual(self.tuned({"N": 80}, program), "default")

    def test_the_programs_own_tunables_with_the_default_as_yardstick(self):
        tuned = self.ok("kernel.tune", {"program": add_one(block=24), "set": {"N": 4096}, "rounds_max": 3})
        self.assertEqual(tuned["baseline"], "default")
        self.assertEqual(set(self.verdicts(tuned)), {"default", "B=16", "B=32", "B=64"})
        self.assertLessEqual(set(self.verdicts(tuned).values()), {"best", "equal", "slower"})
        ratios = {row["name"]: row["ratio"] for row in tuned["candidates"]}
        self.assertEqual(ratios["default"], 1)
        self.assertEqual(list(self.verdicts(tuned).values()).count("best"), 1)
        again = self.ok("kernel.tune", {"program": add_one(block=24), "set": {"N": 4096}, "rounds_max": 3})
        self.assertTrue(again["found"])
        self.assertEqual(again["candidates"], tuned["candidates"])
        self.assertNotIn("before", again)
        anew = self.ok("kernel.tune", {"program": add_one(block=24), "set": {"N": 4096}, "rounds_max": 1, "force": True})
        self.assertFalse(anew["found"])
        self.assertEqual(anew["before"], {name: tuned[name] for name in ("winner", "set", "layouts", "ratio")})

    def test_a_running_daemon_sees_what_another_process_wrote_and_removed(self):
        self.assertEqual(self.tuned({"N": 4096}, add_one()), "default")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "add_one.json")
            with open(path, "w") as file:
                json.dump(add_one(), file)
            self.service.kiln("--no-daemon", "tune", path, "--set", "N=4096", "--rounds", "2", "--export", os.path.join(folder, "out.json"), check=0)
            until(lambda: self.tuned({"N": 4096}, add_one()) != "default", what="the other process's record")
            record = self.tuned({"N": 4096}, add_one())["record"]
            self.service.kiln("--no-daemon", "tuning", "remove", record[:20], check=0)
            until(lambda: self.tuned({"N": 4096}, add_one()) == "default", what="the record to be gone")
            self.service.kiln("tuning", "import", os.path.join(folder, "out.json"), check=0)
            self.assertEqual(self.tuned({"N": 4096}, add_one())["record"], record)
            listed = json.loads(self.service.kiln("--json", "tuning", "list", check=0).stdout)["records"]
            self.assertEqual([r["record"] for r in listed if r["program"] == "add_one"], [record])

    def test_a_damaged_record_is_removed_and_said(self):
        record = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 1})["record"]
        path = os.path.join(self.service.cache, "tuning", record)
        self.connection.close()
        self.service.stop()
        with open(path, "r+b") as file:
            file.seek(30)
            file.write(b"????")
        self.reconnect()
        self.assertEqual(self.tuned({"N": 100}, add_one()), "default")
        self.assertFalse(os.path.exists(path))
        self.assertIn(record, self.service.log())

    def test_a_record_of_another_build_device_or_target_is_listed_and_never_used(self):
        record = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 1})["record"]
        whole = self.ok("tuning.list", {"record": record})["records"][0]["whole"]
        self.ok("tuning.remove", {"record": record})
        for field in ("version", "device_class", "target"):
            other = copy.deepcopy(whole)
            other["identity"][field] += "?"
            self.ok("tuning.import", {"records": {"kiln": "tuning/1", "records": [other]}})
        self.assertEqual(self.tuned({"N": 100}, add_one()), "default")
        mine = [r for r in self.ok("tuning.list")["records"] if r["program"] == "add_one"]
        self.assertEqual(len(mine), 3)
        self.ok("tuning.import", {"records": {"kiln": "tuning/1", "records": [whole]}})
        self.assertEqual(self.tuned({"N": 100}, add_one())["record"], record)
        damaged = copy.deepcopy(whole)
        damaged["candidates"][0]["times_ms"] = [-1]
        error = self.refused("invalid_argument", "tuning.import", {"records": {"kiln": "tuning/1", "records": [damaged]}})
        self.assertIn("/records/0/candidates/0/times_ms", error["message"])

    def test_a_record_answers_what_was_asked_and_no_other_question(self):
        request = {"program": scaled(), "set": {"N": 256}, "args": {"n": 3}, "rounds_max": 2}
        ask = lambda **more: self.ok("kernel.tune", {**request, **more})["found"]
        self.assertFalse(ask())
        self.assertTrue(ask())
        buffer = self.ok("buffer.alloc", {"size": 1024})["buffer"]
        os.close(self.connection.fds.pop())
        for other in ({"candidates_max": 1}, {"rounds_max": 3}, {"candidate_deadline_ms": 9999}, {"args": {"n": 4}}):
            self.assertFalse(ask(**other), other)
            self.assertTrue(ask(**other), other)
        # Which floats it computes with is no other question.
        self.assertTrue(ask(args={"n": 4, "X": {"buffer": buffer}}))
        for wrong in ({"n": 4, "q": 3}, {}, {"n": "4"}, {"n": 4, "X": {"buffer": buffer, "offset": 4}}):
            self.refused("invalid_argument", "kernel.tune", {**request, "args": wrong})

    def test_a_record_is_looked_up_without_measuring(self):
        request = {"program": scaled(), "set": {"N": 100}, "candidates": [{"set": {"B": 16}}, {"set": {"B": 32}}]}
        self.refused("not_found", "kernel.tune", {**request, "recorded": True})
        tuned = self.ok("kernel.tune", {**request, "rounds_max": 2, "args": {"n": 3}})
        found = self.ok("kernel.tune", {**request, "recorded": True})  # with other limits, and without arguments
        self.assertEqual((found["found"], found["record"], found["winner"]), (True, tuned["record"], tuned["winner"]))
        self.refused("not_found", "kernel.tune", {**request, "set": {"N": 9}, "recorded": True})

    def test_a_loop_whose_end_is_data(self):
        program = scaled()
        tuned = self.ok("kernel.tune", {"program": program, "set": {"N": 64}, "args": {"n": 2}, "rounds_max": 1})
        self.assertEqual(tuned["checked_against"], "the interpreter")
        self.assertEqual(tuned["interpreter_steps"], 2 ** 53 - 1)
        tuned = self.ok("kernel.tune", {"program": program, "set": {"N": 64}, "args": {"n": 20000000}, "rounds_max": 1, "check_deadline_ms": 50})
        self.assertEqual(tuned["checked_against"], "the defaults' result, which nothing checked: the interpreter was not done after 50 ms")

    def test_what_a_compile_says_names_the_sizes_that_were_measured(self):
        self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "candidates": [{"set": {"B": 16}}], "rounds_max": 1})
        self.assertEqual(self.tuned({"N": 127}, add_one())["symbols"], {"N": "100"})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.json")
            with open(path, "w") as file:
                json.dump(add_one(), file)
            self.assertIn("measured at N=100,", self.service.kiln("compile", path, "--set", "N=127", check=0).stdout)

    def imported(self, record, **more):
        return self.ok("tuning.import", {"records": {"kiln": "tuning/1", "records": [record]}, **more})

    def test_a_record_from_elsewhere_sets_tunables_alone(self):
        record = self.ok("kernel.tune", {"program": "gemm", "set": SKINNY, "rounds_max": 1, "candidates": [{"set": {"BM": 8}}]})["record"]
        whole = self.ok("tuning.list", {"record": record})["records"][0]["whole"]
        self.ok("tuning.remove", {"record": record})
        for wrong, place in (({"set": {"activation": "gelu"}}, "/set"), ({"set": {"M": "16"}}, "/set"), ({"set": {"NOPE": "1"}}, "/set"),
                             ({"set": {"BM": "f16"}}, "/set"), ({"winner": "a\nb"}, "/winner"), ({"ratio": 0}, "/ratio"),
                             ({"identity": {**whole["identity"], "program": "\x1b[31mred"}}, "/identity/program"),
                             ({"identity": {**whole["identity"], "classes": {"M": "banana"}}}, "/identity/classes"),
                             ({"candidates": [{**whole["candidates"][0], "name": "a\u202eb"}]}, "/candidates/0/name")):
            error = self.refused("invalid_argument", "tuning.import", {"records": {"kiln": "tuning/1", "records": [whole, {**whole, **wrong}]}})
            self.assertIn("/records/1" + place, error["message"])
        self.assertEqual([r for r in self.ok("tuning.list")["records"] if not r["shipped"]], [], "nothing of a refused file is taken")
        # What nobody here knows when it is imported is looked at when it is used: the program comes later.
        program = add_one()
        program["options"] = {"more": {"type": "boolean", "default": "false"}}
        record = self.ok("kernel.tune", {"program": program, "set": {"N": 100}, "rounds_max": 1})["record"]
        whole = self.ok("tuning.list", {"record": record})["records"][0]["whole"]
        self.ok("tuning.remove", {"record": record})
        self.restart()
        self.assertEqual(self.imported({**whole, "set": {"NOPE": "1"}}), {"records": [record], "kept": []})
        self.assertEqual(self.tuned({"N": 100}, program), "default")

    def test_import_leaves_records_of_ones_own(self):
        record = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 1, "candidates": [{"set": {"B": 16}}]})["record"]
        whole = self.ok("tuning.list", {"record": record})["records"][0]["whole"]
        self.assertEqual(self.imported(whole), {"records": [record], "kept": []})
        other = {**whole, "set": {"B": "32"}, "winner": "B=32"}
        self.assertEqual(self.imported(other), {"records": [], "kept": [record]})
        self.assertEqual(self.tuned({"N": 100}, add_one())["set"], {"B": "16"})
        self.assertEqual(self.imported(other, force=True), {"records": [record], "kept": []})
        self.assertEqual(self.tuned({"N": 100}, add_one())["set"], {"B": "32"})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "records.json")
            with open(path, "w") as file:
                json.dump({"kiln": "tuning/1", "records": [whole]}, file)
            self.assertIn("1 are not taken", self.service.kiln("tuning", "import", path, check=0).stdout)
            self.assertEqual(self.tuned({"N": 100}, add_one())["set"], {"B": "32"})
            self.service.kiln("tuning", "import", path, "--force", check=0)
            self.assertEqual(self.tuned({"N": 100}, add_one())["set"], {"B": "16"})

    def test_arguments_of_the_callers_own_are_only_read(self):
        answer = self.connection.call("buffer.alloc", {"size": 400})
        fd = self.connection.fds.pop()
        buffer = answer["result"]["buffer"]
        before = bytes(range(100)) * 4
        os.pwrite(fd, before, 0)
        self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 1, "args": {"X": {"buffer": buffer}, "Y": {"buffer": buffer}}})
        self.assertEqual(os.pread(fd, 400, 0), before)
        os.close(fd)
        self.refused("invalid_argument", "kernel.tune", {"program": add_one(), "set": {"N": 201}, "args": {"X": {"buffer": buffer}}})
        self.refused("invalid_argument", "kernel.tune", {"program": add_one(), "set": {"N": 202}, "args": {"Z": {"buffer": buffer}}})


class Shipped(TuningCase):
    """kernels/tuning: results of the built-ins as they are."""

    def test_each_is_of_a_built_in_as_it_is_and_is_used_where_its_identity_holds(self):
        here = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 64}, "rounds_max": 1})["identity"]
        folder = os.path.join(ROOT, "kernels", "tuning")
        files = sorted(f for f in os.listdir(folder) if f.endswith(".json"))
        self.assertTrue(files)
        self.assertNotIn("tuning results are not used", self.service.log())
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                content = json.load(file)
            for record in content["records"]:
                identity, sizes = record["identity"], " ".join("%s=%s" % s for s in {**record["symbols"], **record["identity"]["settings"]}.items())
                with self.subTest(name, sizes=sizes):
                    self.assertEqual(identity["digest"], self.ok("program.show", {"name": identity["program"]})["digest"],
                                     "the program has changed: kiln tune %s --force --set %s --export FILE measures it anew" % (identity["program"], sizes))
                    self.assertLess(record["ratio"], 1)
                    self.assertEqual(record["checked_against"], "the interpreter")
                    elsewhere = copy.deepcopy(record)
                    for field in ("version", "device_class", "target"):
                        elsewhere["identity"][field] = here[field]
                    imported = self.ok("tuning.import", {"records": {"kiln": "tuning/1", "records": [elsewhere]}})["records"]
                    used = self.tuned({**record["symbols"], **identity["settings"]}, identity["program"])
                    self.assertEqual((used["record"], used["set"]), (imported[0], record["set"]))
                    self.ok("tuning.remove", {"record": imported[0]})

    def test_they_count_where_they_were_measured_whatever_the_build(self):
        here = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 64}, "rounds_max": 1})["identity"]
        listed = [r for r in self.ok("tuning.list")["records"] if r["shipped"]]
        self.assertTrue(listed)
        for record in listed:
            used = self.tuned({**record["symbols"], **record["settings"]}, record["program"])
            if (record["device_class"], record["target"]) == (here["device_class"], here["target"]):
                self.assertEqual(used["record"], record["record"])
                self.refused("permission_denied", "tuning.remove", {"record": record["record"]})
            else:
                self.assertEqual(used, "default")


class Mistakes(TuningCase):
    def test_a_wrong_candidate_is_named_and_cannot_win(self):
        wrong = {"name": "quick but wrong", "program": add_one(value="1.001")}
        tuned = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 1000}, "candidates": [wrong, {"name": "right", "set": {"B": 16}}], "rounds_max": 3})
        self.assertEqual(self.verdicts(tuned), {"quick but wrong": "wrong", "right": "best"})
        self.assertIn("Y: 1000 of 1000 elements are wrong", tuned["candidates"][0]["reason"])
        self.assertEqual(tuned["winner"], "right")
        self.assertEqual(self.tuned({"N": 1000}, add_one()), "default", "candidates with programs of their own decide no compile")
        error = self.refused("launch_failed", "kernel.tune", {"program": add_one(), "set": {"N": 1000}, "candidates": [wrong]})
        self.assertIn("quick but wrong: wrong", "\n".join(error["data"]["context"]))

    def test_where_the_interpreter_would_take_too_long_the_defaults_are_the_yardstick(self):
        # 2048 cubed: 8.6e9 products, over the interpreter's limit.
        with open(os.path.join(ROOT, "kernels", "programs", "gemm.json"), encoding="utf-8") as file:
            program = json.load(file)
        program["name"] = "off_by_a_quarter"
        body = program["launches"][0]["body"]
        body.insert(len(body) - 1, {"op": "map", "index": ["i", "j"], "extent": ["BM", "BN"], "body": [{"set": "sum[i, j]", "value": "sum[i, j] * 1.25"}]})
        size = {"M": 2048, "N": 2048, "K": 2048, "dtype": "f32"}
        tuned = self.ok("kernel.tune", {"program": "gemm", "set": size, "rounds_max": 1, "candidates": [
            {"name": "wrong", "program": program}, {"name": "right", "set": {"BM": 96, "BN": 128, "BK": 128}}]})
        self.assertEqual(self.verdicts(tuned), {"wrong": "wrong", "right": "best"})
        self.assertIn("the defaults' result, whose kernel the interpreter checked at M=", tuned["checked_against"])
        self.assertGreater(tuned["interpreter_steps"], 2048 ** 3)

    def test_what_cannot_be_bound_or_compiled_is_told(self):
        program = add_one()
        program["constraints"] = ["B < 64"]
        program["tunables"]["B"]["default"] = "16"
        other = add_one("other")
        other["params"][1]["dtype"] = "f64"
        other["launches"][0]["body"][-1] = {"op": "map", "index": ["i"], "extent": ["1"], "body": [{"set": "Y[bid.x]", "value": "cast(t[0], f64)"}]}
        tuned = self.ok("kernel.tune", {"program": program, "set": {"N": 64}, "rounds_max": 1, "candidates": [
            {"set": {"B": 64}}, {"name": "other", "program": other}, {"set": {"B": 0}}, {"set": {"B": 16}}, {"set": {"B": 32}}, {"name": "again", "set": {"B": 32}}]})
        verdicts = self.verdicts(tuned)
        self.assertEqual([verdicts[n] for n in ("B=64", "other", "B=0", "again")], ["invalid", "invalid", "invalid", "same"])
        reasons = {row["name"]: row.get("reason", "") for row in tuned["candidates"]}
        self.assertIn("a constraint of the program does not hold", reasons["B=64"])
        self.assertIn("parameters", reasons["other"])
        self.assertEqual(reasons["again"], "the same as B=32")

    def test_parameters_are_checked(self):
        request = {"program": add_one(), "set": {"N": 64}}
        for wrong in ({"candidates": []}, {"candidates": [{"sets": {}}]}, {"candidates": [{"layouts": {"t": "sideways"}}]}, {"rounds_max": 0},
                      {"args": {"X": 1}}, {"candidate_deadline_ms": 0}, {"target": "gfx942", "device": "host"},
                      {"target": "gfx90a", "device": "emu:gfx942"}):
            self.refused("invalid_argument", "kernel.tune", {**request, **wrong})
        self.refused("program_invalid", "kernel.tune", {"program": add_one(), "set": {}})
        self.refused("unknown_target", "kernel.tune", {**request, "device": "emu:gfx1"})
        self.refused("not_found", "tuning.list", {"record": "00"})
        self.refused("not_found", "tuning.remove", {"record": "0" * 64})


@unittest.skipUnless(os.path.exists(FAULT_DEVICE), "built without LLVM")
class Faults(TuningCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.config = {"device_host": [FAULT_DEVICE, folder.name]}
        super().setUp()

    def test_candidates_that_hang_or_crash_are_named_and_the_others_go_on(self):
        tuned = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 2, "candidate_deadline_ms": 300, "candidates": [
            {"name": "crashing", "program": add_one("crash_now")}, {"name": "hanging", "program": add_one("hang_now")},
            {"name": "right", "set": {"B": 32}}, {"name": "right too", "set": {"B": 16}}]})
        verdicts = self.verdicts(tuned)
        self.assertEqual((verdicts["crashing"], verdicts["hanging"]), ("crashed", "hung"))
        self.assertEqual({verdicts["right"], verdicts["right too"]} - {"equal", "slower"}, {"best"})
        reasons = {row["name"]: row.get("reason", "") for row in tuned["candidates"]}
        self.assertIn("signal", reasons["crashing"])
        self.assertEqual(reasons["hanging"], "not done after 300 ms")

    def test_one_stall_convicts_nobody(self):
        tuned = self.ok("kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 2, "candidate_deadline_ms": 300, "candidates": [
            {"name": "hangs once", "program": add_one("hang_once")}, {"name": "crashes once", "program": add_one("crash_once")},
            {"name": "killed once", "program": add_one("kill_once")}]})
        self.assertLessEqual(set(self.verdicts(tuned).values()), {"best", "equal"}, tuned["candidates"])

    def test_a_device_that_is_killed_at_every_try_is_nobodys_fault(self):
        error = self.refused("device_lost", "kernel.tune", {"program": add_one(), "set": {"N": 100}, "rounds_max": 2, "candidates": [
            {"set": {"B": 32}}, {"name": "killed", "program": add_one("kill_always")}]})
        self.assertIn("not by a kernel's fault", "\n".join(error["data"]["context"]))
        self.assertEqual([r for r in self.ok("tuning.list")["records"] if not r["shipped"]], [])

    def test_defaults_that_do_not_run_leave_no_record_and_no_journal(self):
        error = self.refused("launch_failed", "kernel.tune", {"program": add_one("hang_now"), "set": {"N": 100}, "rounds_max": 2, "candidate_deadline_ms": 200,
                                                              "candidates_max": 2})
        self.assertIn("the defaults do not run rightly", error["message"])
        listed = self.ok("tuning.list")
        self.assertEqual(([r for r in listed["records"] if not r["shipped"]], listed["interrupted"]), ([], 0))

    def test_others_launches_do_not_notice(self):
        buffers = [self.ok("buffer.alloc", {"size": 400})["buffer"] for _ in range(2)]
        launch = {"program": add_one(), "set": {"N": 100}, "args": {"X": {"buffer": buffers[0]}, "Y": {"buffer": buffers[1]}}}
        self.ok("kernel.launch", launch)
        other = self.service.connect()
        self.addCleanup(other.close)
        other.send({"jsonrpc": "2.0", "id": 1, "method": "kernel.tune", "params": {"program": add_one(), "set": {"N": 100}, "rounds_max": 2, "candidates": [
            {"name": "crashing", "program": add_one("crash_now")}, {"set": {"B": 32}}]}})
        answers = []
        thread = threading.Thread(target=lambda: answers.append(other.answer()))
        thread.start()
        while thread.is_alive():
            self.ok("kernel.launch", launch)
        thread.join()
        self.assertEqual(self.verdicts(answers[0]["result"])["crashing"], "crashed")


@unittest.skipUnless(os.path.exists(EMULATED), "built without LLVM: no emulated card")
class Emulated(TuningCase):
    def test_ranking_by_counted_work_is_labelled_and_has_one_result(self):
        request = {"program": "gemm", "set": {"M": 64, "N": 64, "K": 64, "dtype": "f16"}, "device": "emu:gfx942", "candidates": [
            {"name": "default"}, {"set": {"BM": 32, "BN": 32}}, {"name": "conflicting", "layouts": {"As": "row_major", "Bs": "row_major"}}]}
        first = self.ok("kernel.tune", request)
        self.assertEqual(first["ranked_by"], "counted work")
        self.assertEqual(first["identity"]["device_class"], "emulated")
        for row in first["candidates"]:
            self.assertNotIn("time_ms", row)
            self.assertTrue("cycles" in row or row["verdict"] == "pruned", row)
        verdicts = self.verdicts(first)
        self.assertEqual(verdicts["conflicting"], "pruned")
        self.assertIn("bank conflicts", {r["name"]: r.get("reason") for r in first["candidates"]}["conflicting"])
        second = self.ok("kernel.tune", {**request, "force": True})
        self.assertEqual(second["candidates"], first["candidates"])
        target = {"program": "gemm", "set": request["set"], "target": "gfx942"}
        used = self.ok("kernel.compile", target)["tuning"]
        self.assertEqual(used["record"], first["record"])
        self.assertEqual(used["ranked_by"], "counted work")
        self.assertEqual(self.ok("kernel.compile", {**target, "target": "gfx90a"})["tuning"], "default")


if __name__ == "__main__":
    unittest.main()
