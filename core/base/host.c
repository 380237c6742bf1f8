/* host.c - the table that plugins get: everything they may call. */
#include "core_internal.h"
#include "platform.h"

#include <burn/text.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t log_level(void) {
  static const char *const names[] = {"off", "error", "warn", "info", "debug"};
  static atomic_flag told = ATOMIC_FLAG_INIT;
  const char *text = getenv("BURN_LOG");
  for (uint32_t i = 0; text && i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(text, names[i]) == 0) return i;
  }
  if (text && *text && !atomic_flag_test_and_set(&told)) {
    char clean[64];
    (void)snprintf(clean, sizeof clean, "%s", text);
    fprintf(stderr, "burn: warning: log: BURN_LOG='%s' is none of off, error, warn, info, debug; warn is taken\n",
            burn_text_clean(clean));
  }
  return BURN_LOG_WARN;
}

static int32_t BURN_API_CALL host_log_enabled(uint32_t level) { return level <= log_level(); }

static void BURN_API_CALL host_log(uint32_t level, const char *component, const char *text) {
  static const char *const names[] = {"", "error", "warning", "info", "debug"};
  if (!host_log_enabled(level)) return;
  char *clean = strdup(text); /* messages quote files and names of others */
  fprintf(stderr, "burn: %s: %s: %s\n", level <= BURN_LOG_DEBUG ? names[level] : "debug", component,
          clean ? burn_text_clean(clean) : "out of memory");
  free(clean);
}

void burn__log(uint32_t level, const char *component, const char *format, ...) {
  if (!host_log_enabled(level)) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  host_log(level, component, text);
}

bool burn__switch_variable(const char *name, bool otherwise) {
  const char *text = getenv(name);
  if (!text || !*text) return otherwise;
  if (strcmp(text, "0") == 0 || strcmp(text, "1") == 0) return *text == '1';
  burn__log(BURN_LOG_WARN, "environment", "%s='%.32s' is neither 0 nor 1; ignored", name, text);
  return otherwise;
}

static BurnStatus BURN_API_CALL host_fail(uint32_t code, const char *file, int32_t line, const char *message) {
  return file ? burn__status_make(code, file, line, "%s", message) : burn__status_again(code, message);
}

static BurnStatus BURN_API_CALL host_annotate(BurnStatus status, const char *prefix) {
  return burn_status_annotate(status, "%s", prefix);
}

static uint64_t BURN_API_CALL host_status_message(BurnStatus status, char *buffer, uint64_t buffer_bytes) {
  const char *text = burn_status_message(status);
  if (buffer_bytes > 0) snprintf(buffer, (size_t)buffer_bytes, "%s", text);
  return strlen(text);
}

static void *BURN_API_CALL host_allocate(uint64_t bytes) {
  if (bytes <= BURN__SMALL_BYTES) return burn__small_allocate((size_t)bytes);
  return bytes <= (uint64_t)INT64_MAX ? burn__aligned_allocate((size_t)bytes) : NULL;
}

static void BURN_API_CALL host_free(void *memory, uint64_t bytes) {
  if (!memory) return;
  if (bytes <= BURN__SMALL_BYTES) {
    burn__small_free(memory, (size_t)bytes);
  } else {
    burn__aligned_free(memory);
  }
}

static uint32_t BURN_API_CALL host_thread_count(void) { return burn_threads(); }

static void BURN_API_CALL host_parallel_for(int64_t count, int64_t grain, BurnLoopBody body, void *context) {
  burn__parallel_for(count, grain, body, context);
}

static uint64_t BURN_API_CALL host_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A thread takes numbers in blocks, so that it rarely meets the others. */
static uint64_t BURN_API_CALL host_next_id(void) {
  enum { BLOCK = 256 };
  static atomic_ullong blocks;
  static BURN__THREAD_LOCAL uint64_t next, end;
  if (next == end) {
    next = atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed) * BLOCK + 1;
    end = next + BLOCK;
  }
  return next++;
}

static const char *BURN_API_CALL host_option(const BurnOptions *options, const char *key) {
  return burn__option(options, key);
}
static const BurnOpInfo *BURN_API_CALL host_op_info(uint32_t op) { return burn__op_info(op); }
static const BurnOpInfo *BURN_API_CALL host_op_find(const char *name) { return burn__op_find(name); }
static BurnStatus BURN_API_CALL host_invoke(const BurnBackend *backend, const BurnOpCall *call) {
  return burn__invoke(backend, call);
}

/* A plugin of an earlier version passes on calls with the attributes that it knows: the others have their defaults. An
 * op that is not there is reported by whoever gets the call. */
static BurnStatus complete(const BurnOpCall *given, BurnOpCall *call, BurnAttrStorage *room) {
  const BurnOpInfo *info = burn__op_info(given->op);
  *call = burn__call_copy(given);
  return info ? burn__complete_attrs(info, call, room) : BURN_OK;
}
static BurnStatus BURN_API_CALL host_infer(const BurnOpCall *given, BurnTensorDesc *out) {
  BurnOpCall call;
  BurnAttrStorage room;
  const BurnStatus status = complete(given, &call, &room);
  return status == BURN_OK ? burn__infer(&call, out) : status;
}
static BurnStatus BURN_API_CALL host_decompose(const BurnBackend *backend, const BurnOpCall *given) {
  BurnOpCall call;
  BurnAttrStorage room;
  const BurnStatus status = complete(given, &call, &room);
  return status == BURN_OK ? burn__decompose(backend, &call) : status;
}
static const BurnOpDefinition *BURN_API_CALL host_op_definition(uint32_t op) { return burn__op_definition(op); }
static const void *BURN_API_CALL host_get_interface(const char *name, uint32_t min_version) {
  return burn__host_interface(name, min_version);
}

static const BurnDTypeInfo *BURN_API_CALL host_dtype_info(BurnDType dtype) {
  static const BurnDTypeInfo infos[BURN_DTYPE_LIMIT] = {
#define BURN_DTYPE(number, NAME, name, bytes, KIND, c_type) \
  [number] = {sizeof(BurnDTypeInfo), number, #name, BURN_KIND_##KIND, 8 * (bytes), 1, bytes},
#include <burn/plugin/dtypes.def>
#undef BURN_DTYPE
  };
  return dtype < BURN_DTYPE_LIMIT && infos[dtype].name ? &infos[dtype] : NULL;
}

static int32_t BURN_API_CALL host_runs_pack_kernel(const BurnBackend *level, uint32_t op) {
  return burn__pack_runs_kernel((BurnInstance *)(uintptr_t)level, op, 0);
}

static const BurnHost host = {
    .struct_size = sizeof(BurnHost),
    .abi_major = BURN_ABI_MAJOR,
    .abi_minor = BURN_ABI_MINOR,
    .fail = host_fail,
    .annotate = host_annotate,
    .status_message = host_status_message,
    .log = host_log,
    .log_enabled = host_log_enabled,
    .allocate = host_allocate,
    .free = host_free,
    .option = host_option,
    .parallel_for = host_parallel_for,
    .thread_count = host_thread_count,
    .now_ns = host_now_ns,
    .next_id = host_next_id,
    .op_info = host_op_info,
    .op_find = host_op_find,
    .invoke = host_invoke,
    .infer = host_infer,
    .decompose = host_decompose,
    .get_interface = host_get_interface,
    .op_definition = host_op_definition,
    .dtype_info = host_dtype_info,
    .runs_pack_kernel = host_runs_pack_kernel,
};

const BurnHost *burn__host(void) { return &host; }
