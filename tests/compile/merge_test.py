#!/usr/bin/env python3
"""What bench/gpu/merge.py makes of the lines of the programs, and what it finds out about the machine. Needs no GPU."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MERGE = os.path.join(HERE, "..", "..", "bench", "gpu", "merge.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(MERGE))
import merge  # noqa: E402

INFO = {"machine": {"cpu_model": "a CPU"}, "build": {"version": "1.2.3"}, "cuda": {"driver_version": "13.0", "gpus": ["a GPU"]}}


def line(who, figure, name="barrier", unit="us", **more):
    return {"turn": 1, "who": who, "name": name, "pes": 2, "bytes": 8, "blocks": 1, "threads": 32, "unit": unit, **more,
            "figure": figure}


class Merge(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def merged(self, *lines):
        text = "noise\n" + "".join(json.dumps(one) + "\n" for one in lines)
        output = self.path("out.json")
        subprocess.run([sys.executable, MERGE, self.path("lines", text), self.path("info", json.dumps(INFO)), "3.4", "2.11",
                        "13.0.88", output], check=True, stdout=subprocess.DEVNULL)
        with open(output, encoding="utf-8") as file:
            return json.load(file)

    def test_medians_and_ratios(self):
        rows = self.merged(line("isotope", 4.0), line("isotope", 1.0), line("isotope", 2.0), line("nvshmem", 3.0),
                           line("by hand", 1.0), line("isotope", 30.0, "put", "GB/s"), line("nvshmem", 20.0, "put", "GB/s"))["rows"]
        self.assertEqual([row["name"] for row in rows], ["barrier", "put"])
        self.assertEqual((rows[0]["ours"], rows[0]["ratio"], rows[0]["limit_ratio"]), (2.0, 1.5, 0.5))
        self.assertEqual((rows[1]["peer_name"], rows[1]["ratio"]), ("NVSHMEM", 1.5))
        self.assertNotIn("dtype", rows[0])

    def test_collectives_say_what_they_combine(self):
        bf16 = {"dtype": "bf16", "op": "add"}
        rows = self.merged(line("isotope ring", 2.0, "all_reduce", **bf16), line("torch", 3.0, "all_reduce", **bf16),
                           line("isotope", 9.0, "all_reduce", dtype="f32", op="add"),
                           line("isotope", 4.0, "all_gather", dtype="bf16"))["rows"]
        found = [(row["name"], row.get("algo"), row["dtype"], row["op"], row["peer"]) for row in rows]
        self.assertEqual(found, [("all_reduce", "ring", "bf16", "add", 3.0), ("all_reduce", None, "f32", "add", None),
                                 ("all_gather", None, "bf16", None, None)])

    def test_versions(self):
        about = {"turn": 1, "about": {"cuda_runtime": "13.0", "host_compiler": "gcc 12.2.0"}}
        versions = self.merged(about, line("isotope", 1.0))["versions"]
        self.assertEqual((versions["cuda_runtime"], versions["host_compiler"]), ("13.0", "gcc 12.2.0"))
        self.assertEqual(versions["commit"], merge.commit_of(HERE))
        self.assertEqual(versions["driver_release"], merge.driver_release())
        self.assertEqual((versions["isotope"], versions["nvshmem"], versions["torch"], versions["nvcc"]),
                         ("1.2.3", "3.4", "2.11", "13.0.88"))
        self.assertIsNone(self.merged(line("isotope", 1.0))["versions"]["cuda_runtime"])

    @unittest.skipUnless(shutil.which("git"), "no git here")
    def test_commit(self):
        self.assertIsNone(merge.commit_of(self.folder.name))

        def git(*arguments):
            subprocess.run(["git", "-C", self.folder.name, "-c", "user.name=t", "-c", "user.email=t@t", *arguments], check=True,
                           stdout=subprocess.DEVNULL)

        git("init", "--quiet")
        self.path("a", "1")
        git("add", "a")
        git("commit", "--quiet", "-m", "a")
        clean = merge.commit_of(self.folder.name)
        self.assertRegex(clean, "^[0-9a-f]{7,}$")
        self.path("a", "2")
        self.assertEqual(merge.commit_of(self.folder.name), clean + "-dirty")

    def test_driver(self):
        self.assertIsNone(merge.driver_release(self.path("absent")))
        self.assertIsNone(merge.driver_release(self.path("other", "something else 1.2\n")))
        closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc 12.2.0\n"
        opened = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (a@b)\nGCC version:  gcc 12\n"
        self.assertEqual(merge.driver_release(self.path("closed", closed)), "550.54.15")
        self.assertEqual(merge.driver_release(self.path("opened", opened)), "580.65.06")


if __name__ == "__main__":
    unittest.main()
