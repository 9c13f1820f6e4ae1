// How NVSHMEM's programs join: ranks from isotope run's environment, so with the same shares of the GPU as ours, and
// the unique id through a file that PE 0 writes for the others.
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace beside {

inline bool join_by_file(int rank, int size, const std::string& file) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (rank == 0) {
    nvshmemx_get_uniqueid(&id);
    const std::string part = file + ".part";
    std::FILE* out = std::fopen(part.c_str(), "wb");
    if (out == nullptr) return false;
    std::fwrite(&id, sizeof id, 1, out);
    std::fclose(out);
    std::rename(part.c_str(), file.c_str());
  } else {
    std::FILE* in = nullptr;
    while ((in = std::fopen(file.c_str(), "rb")) == nullptr) usleep(1000);
    const bool whole = std::fread(&id, sizeof id, 1, in) == 1;
    std::fclose(in);
    if (!whole) return false;
  }
  nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attributes);
  return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0;
}

inline bool join_nvshmem(int argc, char** argv, int& me, int& pes) {
  const char* rank_text = std::getenv("ISOTOPE_RANK");
  const char* size_text = std::getenv("ISOTOPE_SIZE");
  if (argc != 2 || rank_text == nullptr || size_text == nullptr) return false;
  me = std::atoi(rank_text);
  pes = std::atoi(size_text);
  int gpus = 1;
  cudaGetDeviceCount(&gpus);
  cudaSetDevice(me % gpus);  // as ours are dealt
  return join_by_file(me, pes, argv[1]);
}

}  // namespace beside
