"""PyTorch's symmetric memory, for beside.sh: all-reduces of bf16 replayed from a CUDA graph of 20 calls.

    torch_collectives.py      rank and size from isotope run's environment; PE 0 prints one JSON line a figure
"""

import json
import os
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

CALLS, REPLAYS, TURNS = 20, 10, 7
SIZES = [1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20, 64 << 20]


def microseconds(call):
    """Of one call out of a graph, median of the turns after one that does not count."""
    call()
    torch.cuda.synchronize()
    dist.barrier()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(CALLS):
                call()
        torch.cuda.synchronize()
        figures = []
        for turn in range(TURNS + 1):
            stream.synchronize()
            dist.barrier()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record(stream)
            for _ in range(REPLAYS):
                graph.replay()
            end.record(stream)
            stream.synchronize()
            if turn > 0:
                figures.append(begin.elapsed_time(end) * 1e3 / (CALLS * REPLAYS))
    return statistics.median(figures)


def main():
    rank, size = int(os.environ["ISOTOPE_RANK"]), int(os.environ["ISOTOPE_SIZE"])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1], RANK=str(rank), WORLD_SIZE=str(size),
                      GLOO_SOCKET_IFNAME="lo")
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("gloo", rank=rank, world_size=size)
    group = dist.group.WORLD
    for size_bytes in SIZES:
        x = symmetric.empty(size_bytes // 2, dtype=torch.bfloat16, device="cuda")
        x.fill_(0.0)
        symmetric.rendezvous(x, group)
        out = torch.empty_like(x)
        torch.cuda.synchronize()
        dist.barrier()
        calls = {
            "one_shot": lambda: torch.ops.symm_mem.one_shot_all_reduce_out(x, "sum", group.group_name, out),
            "two_shot": lambda: torch.ops.symm_mem.two_shot_all_reduce_(x, "sum", group.group_name),
        }
        figures = {name: microseconds(call) for name, call in calls.items()}
        best = min(figures, key=figures.get)
        if rank == 0:
            for who, figure in [("torch " + name, value) for name, value in figures.items()] + [("torch", figures[best])]:
                print(json.dumps({"who": who, "name": "all_reduce", "pes": size, "bytes": size_bytes, "blocks": 0,
                                  "threads": 0, "unit": "us", "figure": figure}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
