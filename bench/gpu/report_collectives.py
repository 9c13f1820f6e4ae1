#!/usr/bin/env python3
"""Makes the table of GPU figures and the picture of docs/collectives.md from a file that beside.sh has written.

    report_collectives.py bench/results/h200-collectives.json docs/collectives.md docs/allreduce-on-h200.svg [--check]
"""

import math

import report

PEERS = ("PyTorch", "NVSHMEM")
COLOURS = {"ours": "#2a7f62", "PyTorch": "#b5482a", "NVSHMEM": "#5a6fb0"}


def gathered(result):
    """{(name, pes, bytes): {"ours": us, peer: us}} of what the library chooses by itself."""
    found = {}
    for row in result["rows"]:
        key = (row["name"], row["pes"], row["bytes"])
        entry = found.setdefault(key, {})
        if "algo" not in row:
            entry["ours"] = row["ours"]
        if row["peer_name"]:
            entry[row["peer_name"]] = row["peer"]
    return found


def size_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def table(result):
    lines = [
        report.heading(result, {"NVSHMEM": "nvshmem", "PyTorch": "torch"}) + " Microseconds of one call.", "",
        "| what | PEs | size | ours | PyTorch | ratio | NVSHMEM | ratio |", "| --- | --- | --- | --- | --- | --- | --- | --- |"
    ]
    order = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"]
    rows = gathered(result)
    for (name, pes, size), row in sorted(rows.items(), key=lambda one: (order.index(one[0][0]), one[0][1], one[0][2])):
        cells = [name.replace("_", "-"), str(pes), size_text(size), report.number(row["ours"])]
        for peer in PEERS:
            other = row.get(peer)
            cells += [report.number(other), report.number(other / row["ours"] if other else None)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(result):
    """Time against size of the all-reduces, both on scales of powers; one panel for each number of PEs."""
    rows = {key: row for key, row in gathered(result).items() if key[0] == "all_reduce"}
    counts = sorted({pes for _, pes, _ in rows})
    sizes = sorted({size for _, _, size in rows})
    wide, high, left, top = 380, 300, 60, 40
    least, most = 1.0, max(value for row in rows.values() for value in row.values())
    x_of = lambda size: left + (wide - left - 20) * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])
    y_of = lambda us: top + (high - top - 40) * (1 - math.log(us / least) / math.log(most / least))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide * len(counts)}" height="{high}" font-family="sans-serif" font-size="12">',
        f'<rect width="{wide * len(counts)}" height="{high}" fill="white"/>'
    ]
    for panel, pes in enumerate(counts):
        out.append(f'<g transform="translate({panel * wide},0)">')
        out.append(f'<text x="{(wide + left) / 2}" y="18" text-anchor="middle" fill="#222">all-reduce of bf16, {pes} PEs, us</text>')
        power = 1
        while power <= most:
            out.append(f'<line x1="{left}" x2="{wide - 20}" y1="{y_of(power):.1f}" y2="{y_of(power):.1f}" stroke="#ddd"/>')
            out.append(f'<text x="{left - 6}" y="{y_of(power) + 4:.1f}" text-anchor="end" fill="#444">{power}</text>')
            power *= 10
        for size in sizes[::2]:
            out.append(f'<text x="{x_of(size):.1f}" y="{high - 20}" text-anchor="middle" fill="#444">{size_text(size)}</text>')
        for place, who in enumerate(("ours", ) + PEERS):
            points = [(x_of(size), y_of(rows[("all_reduce", pes, size)][who])) for size in sizes
                      if rows.get(("all_reduce", pes, size), {}).get(who)]
            if not points:
                continue
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[who]}" stroke-width="2"/>')
            out.append(f'<text x="{left + 10}" y="{top + 14 + 16 * place}" fill="{COLOURS[who]}">{who}</text>')
        out.append("</g>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    report.publish("report_collectives.py", table, picture)
