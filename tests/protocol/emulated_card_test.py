"""Built-in programs on emulated cards: the machine code of each target, run and compared with the definition."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from service import BIN, ServiceCase

TARGETS = ["gfx90a", "gfx942", "gfx950", "gfx1100"]
RUNS = [("gemm", "M=300 N=257 K=129 dtype=f16"), ("gemm", "M=128 N=96 K=80 dtype=bf16 transpose_b=true bias=true activation=gelu"),
        ("gemm", "M=65 N=130 K=64 dtype=i8 transpose_a=true"), ("gemm", "M=64 N=64 K=40 dtype=f32"),
        ("flash_attention", "B=1 H=2 HKV=1 S=129 SK=129 D=64 dtype=f16 causal=true"),
        ("flash_attention", "B=1 H=1 HKV=1 S=64 SK=96 D=128 dtype=bf16 causal=false"),
        ("softmax", "M=33 N=1000 dtype=f16"), ("rmsnorm", "M=33 N=1000 dtype=f32"),
        ("layernorm", "M=33 N=1000 dtype=f32"), ("elementwise", "M=33 N=1000 dtype=f16 activation=silu combine=mul"),
        ("transpose", "M=130 N=99 dtype=i8"), ("reduce", "M=130 N=99 dtype=bf16 kind=mean axis=first")]
LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "kiln", "emulated", "libamdhip64.so.6")


@unittest.skipUnless(os.path.exists(LIBRARY), "built without LLVM: no emulated card")
class EmulatedCards(ServiceCase):
    def test_every_built_in_on_every_card_of_one_daemon(self):
        for target in TARGETS:
            for program, words in RUNS:
                with self.subTest(target=target, program=program, words=words):
                    done = self.service.kiln("--json", "run", program, "--device", "emu:" + target, "--set", *words.split(), "--check", check=0)
                    report = json.loads(done.stdout)
                    self.assertTrue(report["check"]["passed"], report["check"])
                    self.assertEqual((report["device"], report["target"]), ("emu:" + target, target))

    def test_devices_are_listed(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        devices = {d["name"]: d for d in connection.call("device.list")["result"]["devices"]}
        for target in TARGETS:
            self.assertEqual(devices["emu:" + target]["state"], "ready")
            self.assertTrue(devices["emu:" + target]["target"].startswith(target))

    def test_kernels_go_to_cards_that_they_serve(self):
        connection = self.service.connect()
        self.addCleanup(connection.close)

        def kernel(target):
            return connection.call("kernel.compile", {"program": "softmax", "set": {"M": 2, "N": 64}, "target": target})["result"]["key"]

        def load(target, device):
            return connection.call("kernel.load", {"key": kernel(target), "device": device})

        plain, named = "gfx942", "gfx942:sramecc+:xnack-"
        self.assertIn("result", load(plain, "emu:" + plain))
        self.assertIn("result", load(plain, "emu:" + named))
        self.assertIn("result", load(named, "emu:" + named))
        self.assertEqual(load(named, "emu:gfx942:sramecc-")["error"]["data"]["code"], "unsupported")
        self.assertEqual(load("gfx90a", "emu:gfx942")["error"]["data"]["code"], "unsupported")
        for absent in ("emu:gfx1101", "emu:", "emu:gfx9999", "hip:0x", "hip:", "cuda:0"):
            self.assertEqual(load(plain, absent)["error"]["data"]["code"], "unknown_target", absent)


if __name__ == "__main__":
    unittest.main()
