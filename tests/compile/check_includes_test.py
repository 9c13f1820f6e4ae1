#!/usr/bin/env python3
"""Shows that tools/check_includes.py finds what it says it finds: one small tree per rule."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import check_includes  # noqa: E402

HEADER = "// For the test.\n#pragma once\n"
SOURCE = "// For the test.\n"


def check(files):
    """What the tool finds in a tree made of `files`."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        count, findings = check_includes.check_tree(root)
        assert count == len(files)
        return findings


class CheckIncludes(unittest.TestCase):
    def refuses(self, path, text, *words):
        findings = check({path: text})
        self.assertTrue(findings)
        self.assertTrue(findings[0].startswith(path + ":"), findings)
        for word in words:
            self.assertIn(word, " ".join(findings))

    def accepts(self, path, text):
        self.assertEqual(check({path: text}), [])

    def test_includes_follow_the_arrows(self):
        self.accepts("include/isotope/device/a.hpp", HEADER + '#include "isotope/base/macros.hpp"\n')
        self.accepts("src/runtime/a.cpp", SOURCE + '#include "bootstrap/bootstrap.hpp"\n')
        self.accepts("src/bootstrap/a.cpp", SOURCE + '#include "runtime/knobs.hpp"\n')
        self.accepts("src/cli/a.cpp", SOURCE + '#include "cli/b.hpp"\n#include "isotope/isotope.hpp"\n')

    def test_includes_against_the_arrows(self):
        self.refuses("include/isotope/base/a.hpp", HEADER + '#include "isotope/host/job.hpp"\n', ":3:", "room isotope/host")
        self.refuses("include/isotope/host/a.hpp", HEADER + '#include "os/fd.hpp"\n', "room os")
        self.refuses("src/os/a.cpp", SOURCE + '#include "runtime/log.hpp"\n', "room leaf")
        self.refuses("src/bootstrap/a.cpp", SOURCE + '#include "runtime/segment.hpp"\n', ":2:", "room runtime")
        self.refuses("src/exec/a.cpp", SOURCE + '#include "bootstrap/bootstrap.hpp"\n', "room bootstrap")
        self.refuses("src/cli/a.cpp", SOURCE + '#include "os/fd.hpp"\n', "room os")
        self.refuses("src/runtime/knobs.hpp", HEADER + '#include "runtime/segment.hpp"\n', "room leaf")
        self.refuses("examples/demo/a.cpp", SOURCE + '#include "runtime/segment.hpp"\n', "room runtime")
        self.refuses("src/runtime/a.cpp", SOURCE + '#include "../job/watch.hpp"\n#include "job/watch.hpp"\n', "room job")

    def test_unknown_room(self):
        self.refuses("src/misc/a.cpp", SOURCE, "no known room")

    def test_system_calls(self):
        self.accepts("src/os/a.cpp", SOURCE + "#include <sys/mman.h>\n#include <unistd.h>\nint x = ::close(3);\n")
        self.accepts("tests/unit/os/a_test.cpp", SOURCE + "#include <unistd.h>\n")
        self.accepts("src/runtime/a.cpp", SOURCE + "// ::close(3) is not ours\nint x = os::close(3);\n")
        for header in ("sys/mman.h", "sys/socket.h", "unistd.h", "fcntl.h", "poll.h", "linux/futex.h"):
            self.refuses("src/runtime/a.cpp", SOURCE + f"#include <{header}>\n", header, "src/os")
        self.refuses("src/job/a.cpp", SOURCE + "int x = ::kill(1, 2);\n", "::kill()")

    def test_cuda_words(self):
        self.accepts("include/isotope/base/a.hpp", HEADER + "#define A __device__\n")
        self.accepts("include/isotope/device/a.hpp", HEADER + "// threadIdx in a comment\n")
        self.refuses("include/isotope/device/a.hpp", HEADER + "inline int f() { return threadIdx; }\n", "threadIdx")

    def test_habits(self):
        self.refuses("src/os/a.hpp", "// For the test.\n", "#pragma once")
        self.refuses("src/os/a.cpp", "int x;\n", "opening comment")
        self.refuses("src/os/a.cpp", '#include "os/b.hpp"\n', "opening comment")
        self.accepts("src/os/a.cpp", '#include "os/a.hpp"\n')
        self.refuses("src/os/a.cpp", SOURCE + "int x;\n" * 800, "801 lines")
        self.accepts("src/os/a.cpp", SOURCE + "int x;\n" * 799)
        self.refuses("src/os/a.cpp", SOURCE + "int x;  // " + "TO" + "DO\n", "unfinished")


if __name__ == "__main__":
    unittest.main()
