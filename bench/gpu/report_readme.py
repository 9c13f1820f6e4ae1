#!/usr/bin/env python3
"""Makes the README's table from the two files that beside.sh has written.

    report_readme.py bench/results/h200-beside-nvshmem.json bench/results/h200-collectives.json README.md [--check]

A few rows of docs/gpu.md and docs/collectives.md, for who wants to know in a minute. --check changes nothing and fails when the page
is not what the files say.
"""

import json
import sys

import report
import report_collectives

PEERS = ("NVSHMEM", "PyTorch")
PRIMITIVES = [  # what it is called here, and which rows
    ("barrier in a kernel, {pes} PEs", "barrier", {}),
    ("sync in a kernel, {pes} PEs", "sync", {}),
    ("barrier on a stream, {pes} PEs", "barrier_on_stream", {}),
    ("put by 64 blocks", "put", {"blocks": 64}),
    ("get by 64 blocks", "get", {"blocks": 64}),
    ("atomic adds by 66 blocks", "atomic_add_spread", {"blocks": 66}),
    ("put of 64 KiB on a stream", "put_on_stream", {"bytes": 64 << 10}),
]
MESSAGES = (64, 4 << 10, 64 << 10)
COLLECTIVES = [("all_reduce", 4, 1 << 10), ("all_reduce", 4, 64 << 10), ("all_reduce", 4, 4 << 20), ("all_reduce", 4, 32 << 20),
               ("all_gather", 4, 4 << 20), ("all_to_all", 4, 4 << 20)]


def bytes_text(size):
    return f"{size} B" if size < 1024 else report_collectives.size_text(size)


def primitives(result):
    """(what, unit, {who: figure}) of the rows above; the fastest shape of each side where several were measured."""
    for text, name, wanted in PRIMITIVES:
        found = {}
        for row in result["rows"]:
            if row["name"] != name or any(row[key] != value for key, value in wanted.items()):
                continue
            figures = found.setdefault(text.format(pes=row["pes"]), (row["unit"], {}))[1]
            better = min if row["unit"] == "us" else max
            for who, figure in (("ours", row["ours"]), (row["peer_name"], row["peer"])):
                if figure:
                    figures[who] = better(figure, figures.get(who, figure))
        for what, (unit, figures) in found.items():
            yield what, unit, figures
    for row in report.best_shapes(result["rows"])[1]:
        if row["bytes"] in MESSAGES:
            yield f"{bytes_text(row['bytes'])} with a signal, one way", row["unit"], {"ours": row["ours"], "NVSHMEM": row["peer"]}


def table(measured, collectives):
    versions = measured["versions"]
    lines = [
        f"| {measured['machine']['gpus'][0]['name']}, PEs share it | Isotope | NVSHMEM {versions['nvshmem']} | PyTorch {versions['torch']} | |",
        "| --- | --- | --- | --- | --- |"
    ]
    gathered = report_collectives.gathered(collectives)
    rows = list(primitives(measured)) + [(f"{name.replace('_', '-')} of {bytes_text(size)}, {pes} PEs", "us", gathered[name, pes, size])
                                         for name, pes, size in COLLECTIVES]
    for what, unit, figures in rows:
        peers = " | ".join(report.number(figures.get(peer)) for peer in PEERS)
        lines.append(f"| {what} | {report.number(figures['ours'])} | {peers} | {unit} |")
    return "\n".join(lines)


def main():
    check = "--check" in sys.argv
    first, second, page = [argument for argument in sys.argv[1:] if argument != "--check"]
    with open(first, encoding="utf-8") as one, open(second, encoding="utf-8") as other, open(page, encoding="utf-8") as file:
        measured, collectives, text = json.load(one), json.load(other), file.read()
    wanted = report.with_table(text, table(measured, collectives))
    if not check:
        with open(page, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif wanted != text:
        print(f"{page} is not what {first} and {second} say; run bench/gpu/report_readme.py {first} {second} {page}")
        sys.exit(1)


if __name__ == "__main__":
    main()
