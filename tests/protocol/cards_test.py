"""Cards behind the system's libamdhip64: listed and used by number, UUID and PCI address on a fresh daemon. The emulated card's library
stands where AMD's would be, with two cards; and a machine that has none."""

import ctypes
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from hip import LIBRARY
from service import ROOT, Service

NAMES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
RUN = ("run", "softmax", "--set", "M=4", "N=64", "--check", "--device")
SOFTMAX = {"program": "softmax", "set": {"M": 4, "N": 64}}
SIZE = 1024


def installed():
    for name in NAMES:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class Cards(unittest.TestCase):
    def setUp(self):
        folder = os.path.dirname(LIBRARY)
        self.service = Service(environment={"LD_LIBRARY_PATH": folder, "KILN_EMULATOR_TARGETS": "gfx942,gfx90a"})
        self.addCleanup(self.service.__exit__)

    def connect(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        return connection

    def cards(self, connection):
        devices = connection.call("device.list")["result"]["devices"]
        return [d for d in devices if d["name"].startswith("hip:")]

    def test_a_fresh_daemon_lists_all_cards(self):
        first, second = self.cards(self.connect())
        self.assertEqual([first["name"], second["name"]], ["hip:0", "hip:1"])
        self.assertEqual([first["state"], second["state"]], ["ready", "ready"])
        self.assertTrue(first["target"].startswith("gfx942") and second["target"].startswith("gfx90a"))
        self.assertNotEqual(first["uuid"], second["uuid"])
        table = self.service.kiln("devices", check=0).stdout
        for card in (first, second):
            line = next(line for line in table.splitlines() if line.startswith(card["name"]))
            self.assertIn(card["uuid"], line)
            self.assertIn(card["pci"], line)

    def test_the_first_command_of_a_fresh_daemon_runs_on_a_card(self):
        report = json.loads(self.service.kiln("--json", *RUN, "hip:1", check=0).stdout)
        self.assertTrue(report["check"]["passed"], report)
        self.assertEqual((report["device"], report["target"].split(":")[0]), ("hip:1", "gfx90a"))

    def test_a_card_is_called_by_uuid_and_address_wherever_a_device_is_named(self):
        connection = self.connect()
        card = self.cards(connection)[1]
        uuid, pci = card["uuid"], card["pci"]
        report = json.loads(self.service.kiln("--json", *RUN, "hip:" + uuid, check=0).stdout)
        self.assertEqual((report["check"]["passed"], report["target"].split(":")[0]), (True, "gfx90a"))
        doctor = self.service.kiln("doctor", "--device", "hip:" + pci)
        self.assertIn("card 1 memory", doctor.stdout)
        self.assertNotIn("card 0", doctor.stdout)
        names = ("hip:" + uuid, "hip:" + uuid.lower(), "hip:" + uuid[:10], "hip:" + uuid[4:], "hip:" + uuid[4:].encode().hex(),
                 "hip:" + pci, "hip:" + pci.partition(":")[2])
        for name in names:
            with self.subTest(name):
                made = connection.call("buffer.alloc", {"size": 2 * SIZE, "device": name})["result"]
                self.assertEqual(made["device"], "hip:1")
                event = connection.call("event.export", {"device": name})["result"]
                self.assertEqual(event["device"], "hip:1")
                args = {"X": {"buffer": made["buffer"]}, "Y": {"buffer": made["buffer"], "offset": SIZE}}
                done = connection.call("kernel.launch", dict(SOFTMAX, device=name, args=args))
                self.assertEqual(done["result"]["device"], "hip:1", done)
                loaded = connection.call("kernel.load", {"key": done["result"]["key"], "device": name})["result"]
                self.assertEqual(loaded["device"], "hip:1")
                listed = connection.call("device.list", {"device": name})["result"]["devices"]
                self.assertEqual([d["name"] for d in listed], ["hip:1"])

    def test_which_cards_a_client_is_shown_is_the_clients(self):
        first, second = (card["uuid"] for card in self.cards(self.connect()))
        cases = (({"HIP_VISIBLE_DEVICES": "1"}, ["gfx90a"]), ({"HIP_VISIBLE_DEVICES": "1, 0"}, ["gfx90a", "gfx942"]),
                 ({"ROCR_VISIBLE_DEVICES": second}, ["gfx90a"]), ({"ROCR_VISIBLE_DEVICES": "1,0", "HIP_VISIBLE_DEVICES": "1"}, ["gfx942"]),
                 ({"CUDA_VISIBLE_DEVICES": "0,-1,1"}, ["gfx942"]), ({"HIP_VISIBLE_DEVICES": first, "CUDA_VISIBLE_DEVICES": "1"}, ["gfx942"]),
                 ({"HIP_VISIBLE_DEVICES": ""}, []))
        script = "import sys, kiln; print(kiln.connect(sys.argv[1], auto_start=False).connection.call('device.list', {'device': sys.argv[2]})" \
                 "[0]['devices'][0]['target'].split(':')[0])"
        for variables, targets in cases:
            with self.subTest(variables):
                environment = dict(self.service.environment, PYTHONPATH=os.path.join(ROOT, "api", "python"), **variables)
                for number, target in enumerate(targets):
                    device = "hip:%d" % number
                    asked = subprocess.run([sys.executable, "-c", script, self.service.socket, device], env=environment, capture_output=True, text=True)
                    self.assertEqual(asked.stdout, target + "\n", asked.stderr)
                    self.service.environment, own = environment, self.service.environment
                    report = json.loads(self.service.kiln("--json", *RUN, device, check=0).stdout)
                    self.assertEqual(report["target"].split(":")[0], target)
                    self.service.environment = own
                beyond = "hip:%d" % len(targets)
                said = "shows this process %d cards: there is no %s" % (len(targets), beyond)
                asked = subprocess.run([sys.executable, "-c", script, self.service.socket, beyond], env=environment, capture_output=True, text=True)
                self.assertIn(said, asked.stderr)
                self.service.environment, own = environment, self.service.environment
                self.assertIn(said, self.service.kiln(*RUN, beyond, check=1).stderr)
                self.service.environment = own

    def test_a_name_of_none_is_refused_with_what_there_is(self):
        connection = self.connect()
        requests = [("kernel.launch", dict(SOFTMAX, args={})), ("buffer.alloc", {"size": SIZE}), ("event.export", {}), ("device.list", {})]
        for method, params in requests:
            for name in ("hip:GPU-ffffffffffffffff", "hip:0000:7f:00.0", "hip:GPU-"):
                error = connection.call(method, dict(params, device=name))["error"]
                self.assertEqual(error["data"]["code"], "unknown_target", error)
                self.assertEqual(error["data"]["diagnostics"][0]["pointer"], "/params/device")
                self.assertIn("hip:1, UUID GPU-", "\n".join(error["data"]["context"]))
        done = self.service.kiln(*RUN, "hip:0000:7f:00.0", check=1)
        self.assertIn("hip:1, UUID GPU-", done.stderr)
        done = self.service.kiln(*RUN, "hip:5", check=1)
        self.assertIn("HIP shows 2", done.stderr)
        self.assertEqual([d["name"] for d in self.cards(connection)], ["hip:0", "hip:1"])  # it is not listed for that


@unittest.skipIf(installed(), "AMD's library is installed here")
class NoCard(unittest.TestCase):
    def test_what_was_tried_and_what_to_install_is_said(self):
        with Service() as service:
            done = service.kiln(*RUN, "hip:0", check=1)
            for part in (*NAMES, "install it", "emu:gfx942"):
                self.assertIn(part, done.stderr)
            connection = service.connect()
            devices = {d["name"]: d for d in connection.call("device.list")["result"]["devices"]}
            self.assertEqual(devices["hip:0"]["state"], "absent")
            self.assertIn(NAMES[0], devices["hip:0"]["error"]["message"])
            connection.close()
            self.assertIn("HIP's runtime is not installed", service.kiln("devices", check=0).stdout)

    def test_names_of_cards_that_are_not_there_take_nothing(self):
        with Service() as service:
            connection = service.connect()
            connection.call("device.list")
            threads = len(os.listdir("/proc/%d/task" % service.process.pid))
            for number in range(100):
                error = connection.call("event.export", {"device": "hip:%d" % number})["error"]
                self.assertIn("HIP's runtime is not installed", error["message"])
            self.assertLessEqual(len(os.listdir("/proc/%d/task" % service.process.pid)), threads + 8)
            names = [d["name"] for d in connection.call("device.list")["result"]["devices"] if d["name"].startswith("hip:")]
            self.assertEqual(names, ["hip:0"])
            connection.close()
            self.assertIn("gemm on host", service.kiln("run", "gemm", "--set", "M=8", "N=8", "K=8", "dtype=f32", check=0).stdout)


if __name__ == "__main__":
    unittest.main()
