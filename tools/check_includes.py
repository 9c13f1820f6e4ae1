#!/usr/bin/env python3
"""Checks the rules of the sources that a compiler does not: who may include whom, and a few habits.

    tools/check_includes.py [ROOT]

Each finding is one line, `file:line: what is wrong (the rule)`. The exit status is 1 if there is one. The rules are the
tables below; docs/design.md explains the rooms.
"""

import os
import re
import sys

# Room -> rooms whose headers it may include, besides its own. A room is a folder of include/isotope or of src.
PUBLIC = {
    "isotope/base": [],
    "isotope/platform": ["isotope/base"],
    "isotope/device": ["isotope/base", "isotope/platform"],
    "isotope/collective": ["isotope/base", "isotope/platform", "isotope/device"],
    "isotope/host": ["isotope/base", "isotope/platform", "isotope/device", "isotope/collective"],
    "isotope/compat": ["isotope/base", "isotope/platform", "isotope/device", "isotope/collective", "isotope/host", "isotope"],
    # The umbrella isotope.hpp, and the C edge.
    "isotope": ["isotope/base", "isotope/platform", "isotope/device", "isotope/collective", "isotope/host"],
}
ALL_PUBLIC = list(PUBLIC)
SOURCES = {
    "base": ["isotope/base"],
    "os": ["isotope/base", "base"],
    # The public contract of the host is what these rooms implement, so they may see it.
    "bootstrap": ["isotope/base", "isotope/host", "base", "os", "leaf"],
    "exec": ["isotope/base", "isotope/platform", "isotope/device", "isotope/host", "base", "os", "leaf"],
    "cuda": ["isotope/base", "isotope/platform", "isotope/device", "isotope/host", "base", "os", "exec", "leaf"],
    "runtime": ALL_PUBLIC + ["base", "os", "bootstrap", "exec", "cuda", "leaf"],
    "check": ALL_PUBLIC + ["base", "os", "bootstrap", "exec", "runtime", "leaf"],
    "job": ["isotope/base", "isotope/host", "base", "os", "bootstrap", "leaf"],
    # Above the public host API: what it does with a World, any program could.
    "collective": ALL_PUBLIC + ["base", "os", "leaf"],
    "cli": ALL_PUBLIC + ["bench"],
}
# Headers that live in src/runtime since they belong to it, but that rest on base and os alone: any room above os may use them.
LEAF = ["runtime/knobs.hpp", "runtime/knobs.def", "runtime/log.hpp"]
LEAF_MAY = ["isotope/base", "base", "os", "leaf"]
# Outside the library: these see public headers only. Tests may look inside.
OUTSIDE = {
    "examples": ALL_PUBLIC + ["examples"],
    "bench": ALL_PUBLIC + ["bench"],
    "kernels": ALL_PUBLIC + ["kernels"],
}

MAX_LINES = 800
SOURCE_ENDINGS = (".hpp", ".cpp", ".h", ".cu", ".cuh")
HEADER_ENDINGS = (".hpp", ".h", ".cuh")

# Every system call belongs to src/os. <csignal> is free: it names signals.
SYSTEM_HEADERS = re.compile(
    r"^(sys/(?!types\.h|cdefs\.h).*|unistd\.h|fcntl\.h|poll\.h|sched\.h|pthread\.h|signal\.h|spawn\.h|dlfcn\.h|termios\.h"
    r"|netdb\.h|ifaddrs\.h|pwd\.h|dirent\.h|pty\.h|netinet/.*|arpa/.*|net/.*|linux/.*|asm/.*)$")
# Other headers drag some of those in, so the calls are looked for as well, in the spelling that our sources use for them.
SYSTEM_CALLS = re.compile(
    r"(?<![\w:>])::(mmap|munmap|mprotect|madvise|mremap|memfd_create|ftruncate|fork|vfork|clone|exec[lv]\w*|posix_spawnp?|waitpid"
    r"|waitid|kill|socket|socketpair|bind|listen|accept4?|connect|send|sendto|sendmsg|recv|recvfrom|recvmsg|setsockopt"
    r"|getsockopt|getsockname|poll|ppoll|epoll_\w+|eventfd|signalfd|timerfd_\w+|open|openat|close|read|write|readv|writev|pipe2?"
    r"|dup[23]?|fcntl|ioctl|prctl|syscall|sigaction|sigprocmask|pthread_\w+|sched_\w+|usleep|nanosleep|getpid|gettid|isatty"
    r"|dlopen|dlsym|_exit|setrlimit|getrlimit)\s*\(")

CUDA_WORDS = re.compile(
    r"\b(__global__|__device__|__host__|__shared__|__constant__|__forceinline__|__CUDA_ARCH__|__CUDACC__|__syncthreads\w*"
    r"|__syncwarp|__threadfence\w*|__shfl_\w+|__ballot_sync|threadIdx|blockIdx|blockDim|gridDim|cuda_runtime\.h|cudaError_t)\b")
CUDA_ROOMS = ("include/isotope/base/", "include/isotope/platform/", "src/cuda/")

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def strip_comments_and_strings(text):
    """The code alone, line breaks kept, so that a word in a comment or a message is not taken for code."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    # Digit separators (1'000) are no character literals.
    return pattern.sub(blank, re.sub(r"(?<=\d)'(?=\d)", "_", text))


def room_of_public(path):
    """isotope/base/error.hpp -> isotope/base; isotope/isotope.hpp -> isotope."""
    parts = path.split("/")
    return "isotope" if len(parts) == 2 else "/".join(parts[:2])


def room_of_file(path):
    """The room that a file belongs to, and its table of allowed rooms; (None, None) for files without rules on includes."""
    parts = path.split("/")
    if path.startswith("include/isotope/"):
        room = room_of_public(path[len("include/"):])
        return room, PUBLIC.get(room)
    if parts[0] == "src" and len(parts) > 2:
        if "/".join(parts[1:]) in LEAF:
            return "leaf", LEAF_MAY
        return parts[1], SOURCES.get(parts[1])
    if parts[0] in OUTSIDE:
        return parts[0], OUTSIDE[parts[0]]
    return None, None


def room_of_include(target, path, root):
    """The room an included path belongs to; None for headers that are not ours."""
    if target.startswith("isotope/"):
        return room_of_public(target)
    if target in LEAF:
        return "leaf"
    first = target.split("/")[0]
    if "/" in target and (first in SOURCES or first in OUTSIDE):
        return first
    # Relative to the file itself.
    near = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.exists(os.path.join(root, near)):
        return room_of_file(near)[0]
    return None


def opens_well(path, lines):
    if lines and lines[0].startswith(("//", "/*")):
        return True
    match = INCLUDE.match(lines[0]) if lines else None
    stem = os.path.splitext(os.path.basename(path))[0]
    return bool(match) and os.path.splitext(os.path.basename(match.group(2)))[0] == stem


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    raw = text.split("\n")
    lines = raw[:-1] if raw and raw[-1] == "" else raw
    code = strip_comments_and_strings(text).split("\n")
    found = []

    def report(number, problem, rule):
        found.append((path, number, problem, rule))

    if len(lines) > MAX_LINES:
        report(len(lines), f"{len(lines)} lines", f"a file has at most {MAX_LINES} lines; most have under 300")
    if not opens_well(path, lines):
        report(1, "no opening comment",
               "a file opens with a comment that says what it is for, or with the header of the same name that does")
    if path.endswith(HEADER_ENDINGS) and not any(line.strip() == "#pragma once" for line in lines):
        report(1, "no #pragma once", "every header has one")

    room, allowed = room_of_file(path)
    in_library = path.startswith(("include/", "src/"))
    if in_library and allowed is None:
        report(1, f"'{room or path}' is no known room", "a new room gets its line in tools/check_includes.py and docs/design.md")

    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        # A commented-out #include has a blank line of code.
        if match and code[number - 1].strip():
            bracket, target = match.groups()
            if allowed is not None:
                other = room_of_include(target, path, root)
                if other is not None and other != room and other not in allowed:
                    names = ", ".join(allowed) or "nothing of ours"
                    report(number, f'includes "{target}" of room {other}', f"room {room} may include: {names}")
            if in_library and not path.startswith("src/os/") and bracket == "<" and SYSTEM_HEADERS.match(target):
                report(number, f"includes <{target}>", "system calls belong to src/os")
            if path.startswith("include/") and target.startswith("fmt/"):
                report(number, f"includes <{target}>", "no fmt in public headers")
        if UNFINISHED.search(line) and not path.startswith("tests/"):
            report(number, f"'{UNFINISHED.search(line).group(0)}'", "no unfinished work in the sources")

    for number, line in enumerate(code, 1):
        if in_library and not path.startswith("src/os/"):
            call = SYSTEM_CALLS.search(line)
            if call:
                report(number, f"calls ::{call.group(1)}()", "system calls belong to src/os")
        if not path.startswith(CUDA_ROOMS) and not path.startswith("tests/"):
            word = None if path.endswith((".cu", ".cuh")) else CUDA_WORDS.search(line)
            if word:
                report(number, f"uses {word.group(0)}", "CUDA's own words stay in base/ and platform/; use the ISOTOPE_ macros")
    return found


def all_sources(root):
    for top in ("include", "src", "examples", "bench", "kernels", "tests"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(files):
                if name.endswith(SOURCE_ENDINGS):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_tree(root):
    """Returns (number of files, findings as lines)."""
    paths = list(all_sources(root))
    found = [finding for path in paths for finding in check_file(root, path)]
    return len(paths), [f"{path}:{number}: {problem} ({rule})" for path, number, problem, rule in found]


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = sys.argv[1] if len(sys.argv) > 1 else here
    count, findings = check_tree(root)
    for line in findings:
        print(line)
    print(f"check_includes: {count} files, {len(findings)} findings")
    if count == 0:
        print(f"check_includes: no sources under {root}", file=sys.stderr)
    return 1 if findings or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
