"""What the programs that measure PyTorch for beside.sh have in common: joining, and calls replayed from a CUDA graph."""

import json
import os
import statistics
import sys

import torch
import torch.distributed as dist

CALLS, REPLAYS, TURNS = 20, 10, 7


def join():
    """Rank and size from isotope run's environment; the port is the program's argument."""
    rank, size = int(os.environ["ISOTOPE_RANK"]), int(os.environ["ISOTOPE_SIZE"])
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1], RANK=str(rank), WORLD_SIZE=str(size),
                      GLOO_SOCKET_IFNAME="lo")
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("gloo", rank=rank, world_size=size)
    return rank, size


def leave():
    dist.barrier()
    dist.destroy_process_group()


def say(rank, who, name, size, size_bytes, figure, **elements):
    """`elements`: dtype and op of a collective, by the names that `isotope bench` has for them."""
    if rank == 0:
        print(json.dumps({"who": who, "name": name, "pes": size, "bytes": size_bytes, "blocks": 0, "threads": 0, "unit": "us",
                          **elements, "figure": figure}), flush=True)


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
