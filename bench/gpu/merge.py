#!/usr/bin/env python3
"""Merges the lines of beside.sh into one file of rows, and prints them as a table.

    merge.py LINES INFO_JSON NVSHMEM_VERSION TORCH_VERSION NVCC_VERSION OUTPUT

Lines of "isotope" are ours; "isotope NAME" is ours by that algorithm, a row of its own beside the same peers. A line with
"about" says what our program was made with.
"""

import collections
import json
import os
import re
import statistics
import subprocess
import sys

MORE_IS_BETTER = ("GB/s", "Gop/s")
PEERS = {"nvshmem": "NVSHMEM", "torch": "PyTorch"}
OF_COLLECTIVES = ("dtype", "op")


def rounded(value):
    return None if value is None else float(f"{value:.4g}")


def read_lines(path):
    """{what was measured: {who: [figures]}}, and what our program says of itself."""
    figures, about = collections.defaultdict(lambda: collections.defaultdict(list)), {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("{"):
                continue
            one = json.loads(line)
            if "about" in one:
                about.update(one["about"])
                continue
            key = tuple(one[name] for name in ("name", "pes", "bytes", "blocks", "threads", "unit"))
            figures[key + tuple(one.get(name) for name in OF_COLLECTIVES)][one["who"]].append(one["figure"])
    return figures, about


def make_rows(figures):
    rows = []
    for (name, pes, size, blocks, threads, unit, dtype, op), who in figures.items():
        middle = {one: statistics.median(values) for one, values in who.items()}
        limit = middle.get("by hand")
        peers = [(PEERS[one], middle[one]) for one in PEERS if one in middle] or [(None, None)]
        for one, ours in middle.items():
            if one.split(" ")[0] != "isotope":
                continue

            def ratio(other):
                if not ours or not other:
                    return None
                return rounded(ours / other if unit in MORE_IS_BETTER else other / ours)

            for peer_name, peer in peers:
                row = {
                    "name": name, "platform": "cuda", "pes": pes, "pes_as": "processes", "bytes": size, "blocks": blocks,
                    "threads": threads, "ours": rounded(ours), "limit": rounded(limit),
                    "limit_name": "by hand" if limit else None, "peer": rounded(peer), "peer_name": peer_name,
                    "unit": unit, "ratio": ratio(peer), "limit_ratio": ratio(limit)
                }
                if dtype is not None:
                    row.update(dtype=dtype, op=op)
                if " " in one:
                    row["algo"] = one.split(" ")[1]
                rows.append(row)
    return rows


def commit_of(folder):
    """The commit that `folder` is checked out at, "-dirty" behind it if something was changed; None outside of a checkout."""
    try:
        told = subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty"], capture_output=True, text=True,
                              check=False)
    except OSError:
        return None
    return told.stdout.strip() or None if told.returncode == 0 else None


def driver_release(path="/proc/driver/nvidia/version"):
    """NVIDIA's number for the driver, such as 580.65.06; None where there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r"^NVRM version:.*?\s(\d+(\.\d+)+)\s", file.read(), re.M)
    except OSError:
        return None
    return found.group(1) if found else None


def print_table(rows):
    print(f"{'name':<22}{'PEs':>4}{'bytes':>10}{'blocks':>7}{'threads':>8}{'ours':>10}{'peer':>10}{'ratio':>7}{'by hand':>10}{'ratio':>7}")

    def text(value):
        return "-" if value is None else f"{value:g}"

    for row in rows:
        print(f"{row['name']:<22}{row['pes']:>4}{row['bytes']:>10}{row['blocks']:>7}{row['threads']:>8}{text(row['ours']):>10}"
              f"{text(row['peer']):>10}{text(row['ratio']):>7}{text(row['limit']):>10}{text(row['limit_ratio']):>7}  {row['unit']}  "
              f"{row.get('algo', '')} {row['peer_name'] or ''}")


def main():
    lines, info, nvshmem, torch, nvcc, output = (argument.strip() for argument in sys.argv[1:])
    figures, made_with = read_lines(lines)
    rows = make_rows(figures)
    with open(info, encoding="utf-8") as file:
        about = json.load(file)
    result = {
        "schema": "isotope-bench-1",
        "made_by": "bench/gpu/beside.sh: three turns of each program, medians of seven launches in each, PEs as processes "
                   "under the job's MPS with equal shares of one GPU",
        "machine": {"gpus": about["cuda"]["gpus"], "cpu_model": about["machine"]["cpu_model"]},
        "versions": {
            "isotope": about["build"]["version"], "commit": commit_of(os.path.dirname(os.path.abspath(__file__))),
            "cuda_driver": about["cuda"]["driver_version"], "driver_release": driver_release(),
            "cuda_runtime": made_with.get("cuda_runtime"), "nvcc": nvcc, "host_compiler": made_with.get("host_compiler"),
            "nvshmem": nvshmem, "torch": torch
        },
        "rows": rows
    }
    with open(output, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print_table(rows)


if __name__ == "__main__":
    main()
