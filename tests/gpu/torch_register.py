"""Tensors of PyTorch as symmetric memory, by each way that PyTorch allocates. Run as a job of processes:

    isotope run -n 2 --platform cuda python3 torch_register.py LIBRARY_FOLDER pool|expandable|plain

`pool`: a MemPool over isotope_gpu_alloc. `expandable`: with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. `plain`: PyTorch's
own cudaMalloc, which must be refused in words. Prints one line a PE.
"""

import contextlib
import ctypes
import os
import sys

import torch

folder, how = sys.argv[1], sys.argv[2]
rank = int(os.environ["ISOTOPE_RANK"])
job = ctypes.CDLL(os.path.join(folder, "libgpu_torch_register.so"))
job.torch_register.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

place = contextlib.nullcontext()
if how == "pool":
    library = os.path.join(folder, "libisotope_gpu_alloc.so")
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library, "isotope_gpu_alloc", "isotope_gpu_free")
    pool = torch.cuda.MemPool(allocator.allocator())
    place = torch.cuda.use_mem_pool(pool)
with place:
    before = torch.zeros(1000, dtype=torch.uint8, device="cuda")  # the tensor begins somewhere in its allocation
    tensor = torch.full((30 << 20,), rank + 1, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
wrong = job.torch_register(tensor.data_ptr(), tensor.numel())
if how == "plain":
    print(f"PE {rank}: {'refused, as it must be' if wrong == -1 else 'FAILED: memory of cudaMalloc was registered'}")
    sys.exit(0 if wrong == -1 else 1)
good = wrong == 0 and bool((tensor == 100 + rank).all())
print(f"PE {rank}: {how}: {'30 MiB of a tensor seen and written by its job' if good else f'FAILED: {wrong} bytes wrong'}")
sys.exit(0 if good else 1)
