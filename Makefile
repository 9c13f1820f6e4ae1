# The front door. `make help` lists what there is; each target sets up what it needs by itself.

PRESET ?= release
# make test goes through these in order. asan has all of checked's checks; checked alone and tsan work too, and take their time.
TEST_PRESETS ?= release asan
# Presets in which make test turns warnings into errors. Not release: the demo shares its build folder, and a new compiler
# with a new warning must not stop anyone from trying Isotope.
WERROR_PRESETS ?= checked asan
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PES ?= 4
BENCHES ?= launch alloc startup
# Each benchmark has its own numbers of PEs unless PES was given.
BENCH_PES = $(if $(filter file,$(origin PES)),,--pes $(PES))
# Passed to ctest, for example: make test CTEST_ARGS='-R unit_'
CTEST_ARGS ?=

BUILD := build/$(PRESET)
ISOTOPE := $(BUILD)/bin/isotope
# Hides all of CMake's lines but the table of what was found.
CONFIGURE = cmake --log-level=NOTICE --preset $(PRESET)

.DEFAULT_GOAL := build
.PHONY: help build demo test test-quick test-gpu bench-gpu gpu-package bench bench-peers check-includes format lint install clean

help:
	@echo 'make              build everything: $(BUILD)/bin'
	@echo 'make demo         run the demo on $(PES) PEs; writes build/demo.svg'
	@echo 'make test         all tests, in these presets: $(TEST_PRESETS)'
	@echo 'make test-quick   unit tests and the rules of the sources, in one preset'
	@echo 'make test-gpu     device library, runtime and collectives on the GPU of this machine (needs nvcc)'
	@echo 'make bench-gpu    the same measured beside NVSHMEM and PyTorch, where they are: build/gpu/*.json'
	@echo 'make gpu-package  both of them built here, packed for a machine that has a GPU and not what building takes'
	@echo 'make bench        measure: $(BENCHES); writes $(BUILD)/bench/*.json'
	@echo 'make bench-peers  the same, with Open MPI, MPICH and UCX installed to compare with'
	@echo 'make check-includes  the rules of the sources: direction of includes, sizes, system calls'
	@echo 'make format       format the sources in place'
	@echo 'make lint         check format, rules and clang-tidy; files changed since main, all with ALL=1'
	@echo 'make install      install under PREFIX (default /usr/local)'
	@echo 'make clean        remove build/'
	@echo
	@echo 'PRESET=$(PRESET) (release, checked, asan, tsan)  JOBS=$(JOBS)  PES=$(PES)'
	@echo 'ISOTOPE_SKIP_SETUP=1 installs no packages.'

build:
	@tools/setup build
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j $(JOBS)

demo:
	@tools/setup build
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j $(JOBS) --target isotope_cli demo
	$(ISOTOPE) run -n $(PES) $(BUILD)/bin/demo --picture build/demo.svg

test:
	@tools/setup build test
	@JOBS='$(JOBS)' WERROR_PRESETS='$(WERROR_PRESETS)' CTEST_ARGS='$(CTEST_ARGS)' tools/run_tests $(TEST_PRESETS)

test-quick:
	@tools/setup build test
	@JOBS='$(JOBS)' WERROR_PRESETS='' CTEST_ARGS='-L unit|rules $(CTEST_ARGS)' tools/run_tests $(PRESET)

# Device code alone, which needs nothing but nvcc; then jobs on the GPU. GPU_BUILT=folder: programs of a build folder that was made
# elsewhere (make gpu-package there, where it prints that there is no GPU), and nothing is compiled here. PRESET=checked: what
# kernels refuse is refused on a GPU too, and tested.
NVCC ?=
GPU_BUILT ?=
# nvcc is looked for where CMake does. One that was named has to be there.
GPU_NVCC := $(shell command -v $(or $(NVCC),nvcc || command -v /usr/local/cuda/bin/nvcc))
GPU_RESULTS ?= build/gpu
# Where the driver shows its GPUs. A machine that has one is to test it.
export GPU_FILES ?= /dev/nvidia[0-9]*
GPU_FOLDER = $(or $(GPU_BUILT),$(BUILD))
GPU_RUN = tests/gpu/run.sh $(if $(GPU_BUILT),-,$(GPU_NVCC)) . $(GPU_FOLDER)/gpu
GPU_JOBS = $(GPU_FOLDER)/bin/isotope $(GPU_FOLDER)/bin
GPU_BESIDE = PATH="$$PATH:/usr/local/cuda/bin" bench/gpu/beside.sh $(GPU_JOBS)
# A step that says why it is skipped, by status 77, is no failure.
OR_SKIPPED = || [ $$? -eq 77 ]
ifeq ($(GPU_BUILT)$(GPU_NVCC),)
test-gpu bench-gpu:
ifneq ($(NVCC),)
	@echo 'NVCC is $(NVCC), which is not there: name another, or leave it out' >&2; exit 1
else ifneq ($(wildcard $(GPU_FILES)),)
	@echo 'this machine has a GPU and no nvcc: install it, or name it by NVCC=...' >&2; exit 1
else
	@echo 'no nvcc here: nothing is compiled for a GPU, tested or measured on one'
endif
else
test-gpu:
	@$(GPU_RUN) tests/gpu/device_library.cu device_library $(OR_SKIPPED)
	@$(GPU_RUN) tests/gpu/device_library.cu device_library_checked -DISOTOPE_CHECKED=1 $(OR_SKIPPED)
ifeq ($(GPU_BUILT),)
	@tools/setup build test
	@$(CONFIGURE) -D ISOTOPE_OPTIMISE_GPU_TESTS=ON
	@cmake --build $(BUILD) -j $(JOBS) --target gpu_world gpu_register gpu_torch_register isotope_gpu_alloc gpu_collectives gpu_suite isotope_cli isotope_bench_gpu
endif
	@tests/gpu/jobs.sh $(GPU_JOBS)/gpu_world $(OR_SKIPPED)
	@tests/gpu/jobs.sh $(GPU_JOBS)/gpu_register all $(OR_SKIPPED)
	@tests/gpu/torch.sh $(GPU_FOLDER)/bin/isotope $(GPU_FOLDER)/lib $(OR_SKIPPED)
	@tests/gpu/jobs.sh $(GPU_JOBS)/gpu_collectives all $(OR_SKIPPED)
	@tests/gpu/suite.sh $(GPU_JOBS)/gpu_suite $(OR_SKIPPED)
	@tests/gpu/tune.sh $(GPU_FOLDER)/bin/isotope $(OR_SKIPPED)

bench-gpu:
	@mkdir -p $(GPU_RESULTS) && bash -o pipefail -c '{ $(GPU_RUN) bench/gpu/primitives.cu primitives $(OR_SKIPPED); } | tee $(GPU_RESULTS)/primitives.jsonl'
ifeq ($(GPU_BUILT),)
	@tools/setup build
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j $(JOBS) --target job_primitives job_collectives isotope_cli
endif
	@$(GPU_BESIDE)/job_primitives nvshmem_peer.cu $(GPU_RESULTS)/beside-nvshmem.json '2 4 8' torch_primitives.py
	@$(GPU_BESIDE)/job_collectives nvshmem_collectives.cu $(GPU_RESULTS)/collectives.json '2 4' torch_collectives.py
endif

# What those two have built, for a machine with a GPU that lacks the packages: tools/gpu_package says how to use it there.
gpu-package: test-gpu bench-gpu
	@tools/gpu_package $(BUILD) build/gpu-$(PRESET).tar.xz

bench:
	@tools/setup build
	@$(CONFIGURE)
	@cmake --build $(BUILD) -j $(JOBS) --target isotope_cli
	@mkdir -p $(BUILD)/bench
	@set -e; for name in $(BENCHES); do \
	  $(ISOTOPE) bench $$name $(BENCH_PES) --json $(BUILD)/bench/$$name.json; \
	done

bench-peers:
	@tools/setup build peers
	@$(MAKE) --no-print-directory bench

check-includes:
	@python3 tools/check_includes.py

format:
	@tools/setup lint
	@tools/format

lint:
	@tools/setup build test lint
	@$(CONFIGURE)
	@tools/format --check
	@python3 tools/check_includes.py
	@tools/lint $(BUILD) $(if $(ALL),--all)

PREFIX ?= /usr/local
install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build
