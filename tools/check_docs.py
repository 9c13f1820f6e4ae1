#!/usr/bin/env python3
"""Checks that what the documents quote is what the project has.

A code block under a comment `<!-- path -->` must be that file, to the letter. A relative link must lead to a file. Run as a
test; `--fix` writes the files' contents into the blocks.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"(<!-- (?P<path>[\w./-]+) -->\n```\w*\n)(?P<body>.*?)(?P<end>^```$)", re.M | re.S)
LINK = re.compile(r"\]\((?!https?://|#)(?P<target>[^)#]+)(#[^)]*)?\)")


def check(document: pathlib.Path, fix: bool) -> list[str]:
    text = document.read_text()
    name = document.relative_to(ROOT)
    findings = []

    def compare(match: re.Match) -> str:
        source = ROOT / match["path"]
        if not source.is_file():
            findings.append(f"{name}: quotes {match['path']}, which does not exist")
            return match[0]
        if source.read_text() != match["body"] and not fix:
            findings.append(f"{name}: the block under {match['path']} differs from the file; tools/check_docs.py --fix updates it")
        return match[1] + source.read_text() + match["end"]

    fixed = QUOTE.sub(compare, text)
    if fix and fixed != text:
        document.write_text(fixed)
    for match in LINK.finditer(text):
        if not (document.parent / match["target"]).exists():
            findings.append(f"{name}: links to {match['target']}, which does not exist")
    return findings


def main() -> int:
    documents = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
    findings = [finding for document in documents for finding in check(document, "--fix" in sys.argv[1:])]
    print("\n".join(findings + [f"check_docs: {len(documents)} documents, {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
