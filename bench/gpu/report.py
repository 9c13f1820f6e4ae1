#!/usr/bin/env python3
"""Makes the table and the picture of docs/gpu.md from a file that beside.sh has written.

    report.py bench/results/h200-beside-nvshmem.json docs/gpu.md docs/gpu-beside-nvshmem.svg [--check]

The table goes between the two marker lines of the page. --check changes nothing and fails when page or picture are not what
the file says.
"""

import json
import sys

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def label(row):
    size = row["bytes"]
    text = row["name"].replace("_", " ")
    if row["name"] in ("barrier", "sync", "sync_relaxed", "sync_session", "sync_session_relaxed"):
        return f"{text}, {row['pes']} PEs, {row['threads']} threads"
    if row["name"].endswith("_on_stream"):
        what = f"{row['pes']} PEs" if size == 0 else f"{size // 1024} KiB" if size < 1 << 20 else f"{size >> 20} MiB"
        return f"{text}, {what}" + (", beside PyTorch" if row["peer_name"] == "PyTorch" else "")
    if row["name"] == "put_signal":
        return f"{text}, {size if size < 1024 else f'{size // 1024} Ki'}B, {row['threads']} threads"
    if row["name"] in ("put", "get", "put_bulk", "get_bulk") or row["name"].startswith("atomic"):
        return f"{text}, {row['blocks']} block{'s' if row['blocks'] > 1 else ''}"
    return text


def best_shapes(rows):
    """Of the messages, the block shape that is fastest for each side: what a user would take."""
    others = [row for row in rows if row["name"] != "put_signal"]
    sizes = sorted({row["bytes"] for row in rows if row["name"] == "put_signal"})
    chosen = []
    for size in sizes:
        same = [row for row in rows if row["name"] == "put_signal" and row["bytes"] == size]
        ours = min(same, key=lambda row: row["ours"])
        peer = min((row for row in same if row["peer"]), key=lambda row: row["peer"], default=None)
        row = dict(ours)
        if peer:
            row["peer"], row["ratio"] = peer["peer"], float(f"{peer['peer'] / ours['ours']:.4g}")
        limits = [row["limit"] for row in same if row["limit"]]
        if limits:
            row["limit"], row["limit_ratio"] = min(limits), float(f"{min(limits) / ours['ours']:.4g}")
        row["name"], row["threads"] = "put_signal", 0
        chosen.append(row)
    return others, chosen


def rows_to_show(result):
    others, messages = best_shapes(result["rows"])
    shown = []
    for row in others:
        shown.append((label(row), row))
    for row in messages:
        size = row["bytes"]
        shown.append((f"put signal one way, {size if size < 1024 else f'{size // 1024} Ki'}B, best shape of each", row))
    return shown


def number(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def heading(result, peers):
    """What was measured on; `peers` maps a name to its version's."""
    versions = result["versions"]
    named = "".join(f", {name} {versions[key]}" for name, key in peers.items())
    return (f"{result['machine']['gpus'][0]['name']}, CUDA driver {versions['cuda_driver']}, nvcc {versions['nvcc']}{named}. "
            "A ratio above 1 is in our favour.")


def table(result):
    measured = {row["peer_name"] for row in result["rows"]}
    peers = {name: key for name, key in {"NVSHMEM": "nvshmem", "PyTorch": "torch"}.items() if name in measured}
    about = heading(result, peers)
    if "PyTorch" in peers:
        about += " The peer is NVSHMEM where no other is named; its calls on a stream cannot be captured and follow each other from the host."
    lines = [
        about, "",
        f"| what | ours | {'peer' if len(peers) > 1 else 'NVSHMEM'} | ratio | by hand | ratio | unit |", "| --- | --- | --- | --- | --- | --- | --- |"
    ]
    for name, row in rows_to_show(result):
        lines.append(f"| {name} | {number(row['ours'])} | {number(row['peer'])} | {number(row['ratio'])} | "
                     f"{number(row['limit'])} | {number(row['limit_ratio'])} | {row['unit']} |")
    return "\n".join(lines)


def picture(result):
    """One bar a row: how many times better than NVSHMEM, on a scale where 1 is in the middle."""
    bars = [(name, row["ratio"]) for name, row in rows_to_show(result) if row["ratio"] and row["peer_name"] == "NVSHMEM"]
    width, left, middle, step = 860, 330, 560, 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{len(bars) * step + 40}" font-family="sans-serif" '
        'font-size="12">', f'<rect width="{width}" height="{len(bars) * step + 40}" fill="white"/>',
        f'<text x="{middle}" y="16" text-anchor="middle" fill="#444">NVSHMEM = 1; to the right ours is better</text>'
    ]
    for place, (name, ratio) in enumerate(bars):
        y = 28 + place * step
        reach = max(-1.0, min(1.0, (ratio - 1) if ratio >= 1 else 1 - 1 / ratio))
        length = abs(reach) * (middle - left - 10)
        x = middle if reach >= 0 else middle - length
        colour = "#2a7f62" if reach >= 0 else "#b5482a"
        out.append(f'<text x="{left - 10}" y="{y + 12}" text-anchor="end" fill="#222">{name}</text>')
        out.append(f'<rect x="{x:.1f}" y="{y + 2}" width="{max(length, 1):.1f}" height="{step - 6}" fill="{colour}"/>')
        at, anchor = (x + length + 5, "start") if reach >= 0 else (x - 5, "end")
        out.append(f'<text x="{at:.1f}" y="{y + 12}" text-anchor="{anchor}" fill="#222">{ratio:.2f}</text>')
    out.append(f'<line x1="{middle}" y1="22" x2="{middle}" y2="{len(bars) * step + 32}" stroke="#444"/>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def with_table(text, lines):
    """A page's text with these lines between its two markers."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{lines}\n{END}{after}"


def publish(script, table, picture):
    """Writes the page and the picture that a script makes of a file, or with --check compares them."""
    check = "--check" in sys.argv
    source, page, svg = [argument for argument in sys.argv[1:] if argument != "--check"]
    with open(source, encoding="utf-8") as file:
        result = json.load(file)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    wanted = with_table(text, table(result))
    drawn = picture(result)
    if check:
        with open(svg, encoding="utf-8") as file:
            same = file.read() == drawn
        if wanted != text or not same:
            print(f"{page} or {svg} is not what {source} says; run bench/gpu/{script} {source} {page} {svg}")
            sys.exit(1)
        return
    with open(page, "w", encoding="utf-8") as file:
        file.write(wanted)
    with open(svg, "w", encoding="utf-8") as file:
        file.write(drawn)


if __name__ == "__main__":
    publish("report.py", table, picture)
