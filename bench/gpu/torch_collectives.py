"""PyTorch's symmetric memory, for beside.sh: all-reduces of bf16 replayed from a CUDA graph of 20 calls.

    torch_collectives.py PORT    rank and size from isotope run's environment; PE 0 prints one JSON line a figure
"""

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

from torch_timing import join, leave, microseconds, say

SIZES = [1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 32 << 20, 64 << 20]


def main():
    rank, size = join()
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
        for name, figure in figures.items():
            say(rank, "torch " + name, "all_reduce", size, size_bytes, figure, dtype="bf16", op="add")
        say(rank, "torch", "all_reduce", size, size_bytes, min(figures.values()), dtype="bf16", op="add")
    leave()


if __name__ == "__main__":
    main()
