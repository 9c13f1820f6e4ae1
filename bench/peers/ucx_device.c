/* The UCX peer of `put`, `get` and `atomics`, over shared memory. Called as: ucx_device FILE ROUNDS TOPIC
 * It is two processes, on the first two CPUs if there are as many. Process 0 works and process 1 is idle, unless both work
 * on one word. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "peer.h"

/* What the two processes tell each other outside of UCX. */
struct shared {
  atomic_long arrived;
  atomic_int failed;
  double time[2];
  struct {
    char worker[4096], rkey[4096];
    size_t worker_bytes;
    uint64_t memory;
  } of[2];
};

static struct shared* shared;
static int me;
static ucp_worker_h worker;
static ucp_ep_h ep[2]; /* to process 0 and 1 */
static ucp_rkey_h rkey[2];
static char *from, *into; /* my own; of each process in one piece of memory that UCX has allocated */
static uint64_t* word;
static size_t bytes;
static ucp_request_param_t parameters; /* of puts and gets */

static void fail(const char* what, ucs_status_t status) {
  fprintf(stderr, "ucx_device: %s: %s\n", what, ucs_status_string(status));
  atomic_store(&shared->failed, 1);
  exit(1);
}

static void check(const char* what, ucs_status_t status) {
  if (status != UCS_OK) fail(what, status);
}

/* Waits as our host barrier does: who is idle for long sleeps, so that it leaves as much of the machine to the other. */
static void meet(void) {
  const long goal = (atomic_fetch_add(&shared->arrived, 1) / 2 + 1) * 2;
  const double start = seconds();
  while (atomic_load(&shared->arrived) < goal) {
    if (atomic_load(&shared->failed)) exit(1);
    ucp_worker_progress(worker);
    if (seconds() - start < 2e-3) {
      sched_yield();
    } else {
      usleep(100);
    }
  }
}

static double slowest(double mine) {
  shared->time[me] = mine;
  meet();
  const double most = shared->time[0] > shared->time[1] ? shared->time[0] : shared->time[1];
  meet();
  return most;
}

/* Until the source may be reused, or the data is there. Over shared memory that is mostly so at once. */
static inline void complete(const char* what, ucs_status_ptr_t request) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) fail(what, UCS_PTR_STATUS(request));
  ucs_status_t status;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucp_request_free(request);
  check(what, status);
}

static void flush(void) {
  const ucp_request_param_t none = {0};
  complete("flush", ucp_worker_flush_nbx(worker, &none));
}

/* The address at process 1 of what I have at p. */
static uint64_t at_1(const void* p) { return shared->of[1].memory + (uint64_t)((const char*)p - from); }

static void puts_(long n) {
  if (me != 0) return;
  for (const uint64_t there = at_1(into); n > 0; --n)
    complete("put", ucp_put_nbx(ep[1], from, bytes, there, rkey[1], &parameters));
  flush();
}

static void gets_(long n) {
  if (me != 0) return;
  for (const uint64_t there = at_1(from); n > 0; --n)
    complete("get", ucp_get_nbx(ep[1], into, bytes, there, rkey[1], &parameters));
}

static void atomic_adds(long n, uint64_t* reply) {
  ucp_request_param_t typed = parameters;
  typed.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
  typed.datatype = ucp_dt_make_contig(sizeof(uint64_t));
  if (reply != NULL) {
    typed.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    typed.reply_buffer = reply;
  }
  const uint64_t one = 1, there = at_1(word);
  for (; n > 0; --n)
    complete("atomic", ucp_atomic_op_nbx(ep[1], UCP_ATOMIC_OP_ADD, &one, 1, there, rkey[1], &typed));
  flush();
}

static void fetch_adds_contended(long n) {
  uint64_t reply = 0;
  atomic_adds(n, &reply);
}

static void fetch_adds(long n) {
  if (me == 0) fetch_adds_contended(n);
}

static void adds(long n) {
  if (me == 0) atomic_adds(n, NULL);
}

static void pin(void) {
  cpu_set_t mine, one;
  sched_getaffinity(0, sizeof mine, &mine);
  if (CPU_COUNT(&mine) < 2) return;
  CPU_ZERO(&one);
  for (int cpu = 0, index = me; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mine) || index-- > 0) continue;
    CPU_SET(cpu, &one);
    break;
  }
  sched_setaffinity(0, sizeof one, &one);
}

static void copy_out(const char* what, char* to, const void* p, size_t size) {
  if (size > 4096) fail(what, UCS_ERR_BUFFER_TOO_SMALL);
  memcpy(to, p, size);
}

static void connect_both(void) {
  ucp_context_h context;
  const ucp_params_t init = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
  check("ucp_init", ucp_init(&init, NULL, &context));
  const ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                      .thread_mode = UCS_THREAD_MODE_SINGLE};
  check("ucp_worker_create", ucp_worker_create(context, &single, &worker));

  ucp_mem_h memory;
  const ucp_mem_map_params_t map = {
      .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
      .length = 2 * LARGEST + 4096,
      .flags = UCP_MEM_MAP_ALLOCATE,
  };
  check("ucp_mem_map", ucp_mem_map(context, &map, &memory));
  ucp_mem_attr_t attributes = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
  check("ucp_mem_query", ucp_mem_query(memory, &attributes));
  from = attributes.address;
  into = from + LARGEST;
  word = (uint64_t*)(into + LARGEST);
  memset(from, me + 1, 2 * LARGEST + 4096);

  void* packed = NULL;
  size_t size = 0;
  check("ucp_rkey_pack", ucp_rkey_pack(context, memory, &packed, &size));
  copy_out("rkey", shared->of[me].rkey, packed, size);
  ucp_rkey_buffer_release(packed);
  ucp_address_t* address = NULL;
  check("ucp_worker_get_address", ucp_worker_get_address(worker, &address, &size));
  copy_out("address", shared->of[me].worker, address, size);
  ucp_worker_release_address(worker, address);
  shared->of[me].memory = (uint64_t)from;
  meet();

  for (int to = 0; to < 2; ++to) {
    const ucp_ep_params_t end = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                                 .address = (const ucp_address_t*)shared->of[to].worker};
    check("ucp_ep_create", ucp_ep_create(worker, &end, &ep[to]));
    check("ucp_ep_rkey_unpack", ucp_ep_rkey_unpack(ep[to], shared->of[to].rkey, &rkey[to]));
  }
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  parameters.memory_type = UCS_MEMORY_TYPE_HOST;
  flush();
  meet();
}

int main(int argc, char** argv) {
  setenv("UCX_TLS", "posix,sysv,cma,self", 1);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  const pid_t parent = getpid(), child = fork();
  if (child < 0) return 1;
  me = child == 0;
  if (me == 1) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return 1;
  }
  pin();
  const char* topic = read_arguments(argc, argv, me);
  connect_both();

  const size_t sizes[] = SIZES;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    bytes = sizes[s];
    if (strcmp(topic, "put") == 0) measure("put", bytes, 1, puts_);
    if (strcmp(topic, "get") == 0) measure("get", bytes, 1, gets_);
  }
  if (strcmp(topic, "atomics") == 0) {
    measure("atomic_fetch_add", 8, 1, fetch_adds);
    measure("atomic_add", 8, 1, adds);
    measure("atomic_fetch_add_2_pes", 8, 1, fetch_adds_contended);
  }
  meet();
  const int failed = close_results();
  if (me == 1) _exit(failed); /* UCX's own clean-up is no part of this, and the kernel does it too */
  int status = 0;
  waitpid(child, &status, 0);
  return failed || status != 0;
}
