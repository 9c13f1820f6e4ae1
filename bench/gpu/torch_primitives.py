"""PyTorch's symmetric memory, for beside.sh: what of the primitives it has, on a stream, replayed from a CUDA graph of 20 calls.

    torch_primitives.py PORT    rank and size from isotope run's environment; PE 0 prints one JSON line a figure
"""

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

from torch_timing import join, leave, microseconds, say

SIZES = [64 << 10, 4 << 20, 64 << 20]  # kOnStream of timing.cuh


def main():
    rank, size = join()
    most = SIZES[-1]
    memory = symmetric.empty(most, dtype=torch.uint8, device="cuda")
    memory.fill_(rank)
    handle = symmetric.rendezvous(memory, dist.group.WORLD)
    mine = torch.zeros(most, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    dist.barrier()
    say(rank, "torch", "barrier_on_stream", size, 0, microseconds(lambda: handle.barrier(channel=0)))
    for size_bytes in SIZES if size == 2 else []:
        theirs = handle.get_buffer(1, (size_bytes,), torch.uint8)
        # PE 0 alone works; the other replays a graph of nothing much.
        works = rank == 0
        idle = torch.zeros(1, device="cuda")
        put = (lambda: theirs.copy_(mine[:size_bytes])) if works else (lambda: idle.zero_())
        get = (lambda: mine[:size_bytes].copy_(theirs)) if works else (lambda: idle.zero_())
        say(rank, "torch", "put_on_stream", size, size_bytes, microseconds(put))
        say(rank, "torch", "get_on_stream", size, size_bytes, microseconds(get))
    leave()


if __name__ == "__main__":
    main()
