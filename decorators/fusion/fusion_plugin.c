/* fusion_plugin.c - the plugin: descriptor, options, open and close, and the table of the instance. Read open at the
 * end first. */
#include <burn/common/descriptor.h>
#include <burn/common/settings.h>

#include "fusion_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *burn__fusion_op_name(const FusionDecorator *decorator, uint32_t op) {
  const BurnOpInfo *info = decorator->host->op_info(op);
  return info ? info->name : "an unknown op";
}

/* Primitive ops, and those that the decorator below runs whole, are queued as they are; others are decomposed above, so
 * that their parts can be fused. */
static uint32_t BURN_API_CALL decorator_op_support(void *self, uint32_t op) {
  const FusionDecorator *decorator = self;
  const BurnOpInfo *info = decorator->host->op_info(op);
  if (!info || !info->is_composite) return BURN_SUPPORT_YES;
  if (op >= BURN_OP_FIRST_OF_PACKS && decorator->host->runs_pack_kernel(decorator->next, op)) return BURN_SUPPORT_YES;
  return decorator->next->op_support(decorator->next->self, op) == BURN_SUPPORT_NO ? BURN_SUPPORT_NO : BURN_SUPPORT_YES;
}

/* Reports the first failure since the last sync. */
static BurnStatus BURN_API_CALL decorator_sync(void *self) {
  FusionDecorator *decorator = self;
  burn__fusion_flush_all(decorator, "a sync");
  FusionFailure *failure = atomic_exchange(&decorator->unreported, NULL);
  const BurnStatus status = burn__fusion_failure_status(decorator, failure);
  burn__fusion_failure_release(decorator, failure);
  return status != BURN_OK ? status : decorator->next->sync(decorator->next->self);
}

static uint32_t BURN_API_CALL decorator_dtype_usage(void *self, BurnDType dtype) {
  const BurnBackend *next = ((const FusionDecorator *)self)->next;
  return next->dtype_usage(next->self, dtype);
}

/* What is queued counts as done, as it would without this decorator. */
static BurnStatus BURN_API_CALL decorator_query(void *self, uint32_t key, int64_t *out) {
  FusionDecorator *decorator = self;
  burn__fusion_flush_all(decorator, "a question about memory");
  return decorator->next->query(decorator->next->self, key, out);
}

static BurnStatus BURN_API_CALL decorator_trim(void *self) {
  FusionDecorator *decorator = self;
  burn__fusion_flush_all(decorator, "a trim of memory");
  burn__fusion_cache_clear(decorator, &decorator->cache);
  return decorator->next->trim(decorator->next->self);
}

static void BURN_API_CALL decorator_close(void *self) {
  FusionDecorator *decorator = self;
  for (uint32_t i = 0; i < FUSION_QUEUES; i++) burn__fusion_queue_close(&decorator->queues[i]);
  if (decorator->log) burn__fusion_log_totals(decorator);
  burn__fusion_cache_close(decorator, &decorator->cache);
  (void)pthread_mutex_destroy(&decorator->replays.mutex);
  burn__fusion_failure_release(decorator, atomic_load(&decorator->unreported));
  decorator->host->free(decorator, sizeof *decorator);
}

/* -- the interface "burn.fusion" -------------------------------------------------------------- */

static uint64_t count(const _Atomic uint64_t *value) { return atomic_load_explicit(value, memory_order_relaxed); }

BurnFusionStatistics burn__fusion_statistics(const FusionDecorator *decorator) {
  const FusionStatistics *s = &decorator->statistics;
  return (BurnFusionStatistics){.struct_size = sizeof(BurnFusionStatistics),
                                .ops = count(&s->ops),
                                .flushes = count(&s->flushes),
                                .plans = count(&s->plans),
                                .kernels = count(&s->kernels),
                                .fused_ops = count(&s->fused_ops),
                                .calls = count(&s->calls),
                                .dead_ops = count(&s->dead_ops),
                                .recordings = count(&s->recordings),
                                .replays = count(&s->replays)};
}

static void BURN_API_CALL decorator_statistics(void *self, BurnFusionStatistics *out) {
  burn__fusion_flush_all(self, "a question about what fusion has done");
  const BurnFusionStatistics all = burn__fusion_statistics(self);
  const uint32_t bytes = out->struct_size;
  memcpy(out, &all, bytes < sizeof all ? bytes : sizeof all);
  out->struct_size = bytes;
}

static const BurnFusionInterface fusion_interface = {.struct_size = (uint32_t)sizeof(BurnFusionInterface),
                                                     .version = 1,
                                                     .statistics = decorator_statistics,
                                                     .capture_begin = burn__fusion_capture_begin,
                                                     .capture_end = burn__fusion_capture_end};

static int32_t BURN_API_CALL decorator_get_interface(void *self, const char *name, uint32_t min_version,
                                                     BurnInterface *out) {
  static const BurnCommonInterface offered[] = {{BURN_FUSION_INTERFACE, &fusion_interface}};
  return burn_common_offer(offered, 1, name, min_version, self, out);
}

/* -- options ---------------------------------------------------------------------------------- */

#define FUSION_OPTIONS(X)                                                                          \
  X(MAX_OPS, "max_ops", "1..4096", "", BURN_OPTION_HARMLESS,                                       \
    "ops in a queue before it is run; 1024, or 4096 where what repeats is recorded")               \
  X(MAX_BYTES, "max_bytes", "1..1125899906842624", "", BURN_OPTION_HARMLESS,                       \
    "bytes that a queue may hold on to; 2^30, or 2^40 where what repeats is recorded")             \
  X(PLANS, "plans", "1..1000000", "256", BURN_OPTION_HARMLESS, "groups of ops that stay compiled") \
  X(REPLAY, "replay", "true|false", "true", BURN_OPTION_HARMLESS,                                  \
    "records what repeats and runs it as one, where the backend can")                              \
  X(LOG, "log", "true|false", "false", BURN_OPTION_HARMLESS,                                       \
    "tells on stderr what became of each queue; BURN_FUSION_LOG, too")

enum { FUSION_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };
static const BurnOptionInfo option_rows[] = {FUSION_OPTIONS(BURN_OPTION_ROW)};
static const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(OPTION_COUNT, option_rows);

static bool log_variable(const BurnHost *host) {
  const char *variable = getenv("BURN_FUSION_LOG");
  if (!variable || !*variable || strcmp(variable, "0") == 0) return false;
  if (strcmp(variable, "1") == 0) return true;
  char text[96];
  snprintf(text, sizeof text, "BURN_FUSION_LOG='%.32s' is neither 0 nor 1; ignored", variable);
  host->log(BURN_LOG_WARN, "fusion", text);
  return false;
}

static BurnStatus log_option(const BurnHost *host, const char *text, bool *log) {
  *log = text ? strcmp(text, "true") == 0 : log_variable(host);
  if (!text || *log || strcmp(text, "false") == 0) return BURN_OK;
  return BURN_COMMON_FAIL(host, INVALID_ARGUMENT, "fusion", "log=%.64s is unknown; it is true or false", text);
}

static BurnStatus read_options(FusionDecorator *decorator, const BurnOptions *options, bool *replays) {
  uint64_t max_ops = 0, max_bytes = 0, plans = 256; /* 0: see choose_lengths */
  const char *values[OPTION_COUNT];
  burn_options_ask(decorator->host, options, &options_interface, values);
  const BurnCommonSettings given = {decorator->host, "fusion", &options_interface, values};
  BurnStatus status = burn_common_number(&given, OPTION_MAX_OPS, &max_ops);
  if (status == BURN_OK) status = burn_common_number(&given, OPTION_MAX_BYTES, &max_bytes);
  if (status == BURN_OK) status = burn_common_number(&given, OPTION_PLANS, &plans);
  if (status == BURN_OK) status = burn_common_truth(&given, OPTION_REPLAY, replays);
  if (status == BURN_OK) status = log_option(decorator->host, values[OPTION_LOG], &decorator->log);
  decorator->max_ops = (uint32_t)max_ops;
  decorator->max_bytes = max_bytes;
  burn__fusion_cache_open(&decorator->cache, (uint32_t)plans);
  return status;
}

/* -- open ------------------------------------------------------------------------------------- */

static void find_bodies(FusionDecorator *decorator) {
  BurnInterface found;
  if (!burn_common_ask(decorator->next, BURN_FUSED_INTERFACE, &found)) return;
  burn_struct_copy(&decorator->fused_table, sizeof decorator->fused_table, found.table);
  if (!burn_common_is_fused(&decorator->fused_table)) return;
  decorator->fused = &decorator->fused_table;
  decorator->fused_self = found.self;
}

/* One that runs bodies itself and passes this question on must see the products. */
static void find_epilogues(FusionDecorator *decorator) {
  BurnInterface found;
  if (!decorator->fused || !burn_common_ask(decorator->next, BURN_EPILOGUE_INTERFACE, &found)) return;
  burn_struct_copy(&decorator->epilogue_table, sizeof decorator->epilogue_table, found.table);
  const BurnEpilogueInterface *table = &decorator->epilogue_table;
  const bool is_whole = table->struct_size >= BURN_EPILOGUE_INTERFACE_MIN_BYTES && table->takes && table->compile;
  if (found.self == decorator->fused_self && is_whole) decorator->epilogue = table;
}

/* Only where the level below offers it by itself: one that passes the question on has to see the calls (calls.h). */
static void find_joins(FusionDecorator *decorator) {
  const BurnBackend *next = decorator->next;
  BurnInterface found;
  if (!burn_common_ask(next, BURN_CALLS_INTERFACE, &found) || found.self != next->self) return;
  burn_struct_copy(&decorator->calls_table, sizeof decorator->calls_table, found.table);
  const BurnCallsInterface *table = &decorator->calls_table;
  if (table->struct_size < BURN_CALLS_INTERFACE_MIN_BYTES || !table->joins || !table->submit_many) return;
  decorator->calls = &decorator->calls_table;
  for (uint32_t op = 1; op < BURN_OP_LIMIT; op++) {
    const BurnOpInfo *info = decorator->host->op_info(op);
    if (!info || burn_op_schema(info) != info->since) continue; /* the host cuts attributes for older plugins */
    decorator->joins[op] =
        next->op_support(next->self, op) == BURN_SUPPORT_YES && decorator->calls->joins(next->self, op) != 0;
  }
}

/* Where a queue is cut unless the user says so. What is recorded should be a whole step: parts of one hand their
 * results on in memory that is theirs for good, and there may be more of them than recordings. */
static void choose_lengths(FusionDecorator *decorator) {
  const bool whole = decorator->replay != NULL;
  if (decorator->max_ops == 0) decorator->max_ops = whole ? 4096 : 1024;
  if (decorator->max_bytes == 0) decorator->max_bytes = UINT64_C(1) << (whole ? 40 : 30);
  decorator->min_ops = whole ? 1024 : 128;
}

/* A decorator that only passes the question on goes on seeing every call. */
static void find_replay(FusionDecorator *decorator) {
  BurnInterface found;
  (void)snprintf(decorator->no_replay, sizeof decorator->no_replay, "%.64s has no " BURN_REPLAY_INTERFACE,
                 decorator->next->name);
  if (!burn_common_ask(decorator->next, BURN_REPLAY_INTERFACE, &found) || found.self != decorator->next->self) return;
  burn_struct_copy(&decorator->replay_table, sizeof decorator->replay_table, found.table);
  const BurnReplayInterface *t = &decorator->replay_table;
  const bool records = t->begin && t->mark && t->stand_in && t->slot && t->hold && t->end;
  const bool runs = t->patch_begin && t->patch_end && t->fill && t->run && t->take && t->is_free && t->drop;
  if (t->struct_size < BURN_REPLAY_INTERFACE_MIN_BYTES || !records || !runs || !t->where || !t->statistics) return;
  decorator->replay = t;
  decorator->replay_self = found.self;
}

static void fill_table(FusionDecorator *decorator, BurnBackend *out) {
  out->self = decorator;
  out->name = decorator->name;
  out->close = decorator_close;
  out->op_support = decorator_op_support;
  out->submit = burn__fusion_submit;
  out->create = burn__fusion_create;
  out->read = burn__fusion_read;
  out->retain = burn__fusion_retain;
  out->release = burn__fusion_release;
  out->sync = decorator_sync;
  out->dtype_usage = decorator_dtype_usage;
  out->query = decorator_query;
  out->trim = decorator_trim;
  out->get_interface = decorator_get_interface;
  out->unwrap = burn__fusion_unwrap;
  out->adopt = burn__fusion_adopt;
}

/* What fused.h lets differ between runs of a body. */
static uint32_t varying_attrs(const BurnOpInfo *info) {
  uint32_t bits = 0;
  for (uint32_t i = 0; info && i < info->attr_count; i++) {
    const uint32_t tag = info->attr_tags[i];
    const bool is_seed = tag == BURN_ATTR_I64 && (info->traits & BURN_TRAIT_RANDOM) != 0;
    if (tag == BURN_ATTR_F64 || tag == BURN_ATTR_NUMBER || is_seed) bits |= 1u << i;
  }
  return bits;
}

static BurnStatus BURN_API_CALL decorator_open(const BurnHost *host, const BurnBackend *next,
                                               const BurnOptions *options, uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, "fusion");
  if (checked != BURN_OK) return checked;
  FusionDecorator *decorator = (FusionDecorator *)host->allocate(sizeof *decorator);
  if (!decorator) return BURN_COMMON_FAIL(host, OUT_OF_MEMORY, "fusion", "no memory to open the decorator");
  memset(decorator, 0, sizeof *decorator);
  decorator->host = host;
  decorator->next = next;
  decorator->owner = owner;
  bool replays = true;
  const BurnStatus status = read_options(decorator, options, &replays);
  if (status != BURN_OK) {
    burn__fusion_cache_close(decorator, &decorator->cache);
    host->free(decorator, sizeof *decorator);
    return status;
  }
  (void)snprintf(decorator->name, sizeof decorator->name, "fusion on %.48s", next->name);
  atomic_init(&decorator->out_of_memory.references, 1u);
  decorator->out_of_memory.code = BURN_STATUS_OUT_OF_MEMORY;
  (void)snprintf(decorator->out_of_memory.message, sizeof decorator->out_of_memory.message, "fusion: out of memory");
  for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) decorator->varying[op] = varying_attrs(host->op_info(op));
  for (uint32_t i = 0; i < FUSION_QUEUES; i++) burn__fusion_queue_open(decorator, &decorator->queues[i]);
  (void)pthread_mutex_init(&decorator->replays.mutex, NULL);
  find_bodies(decorator);
  find_epilogues(decorator);
  (void)snprintf(decorator->no_replay, sizeof decorator->no_replay, "fusion was opened with replay=false");
  if (replays) find_replay(decorator);
  choose_lengths(decorator);
  find_joins(decorator);
  burn__fusion_find_mixed(decorator);
  fill_table(decorator, out);
  return BURN_OK;
}

static const BurnDecoratorInterface decorator_interface = {.struct_size = (uint32_t)sizeof(BurnDecoratorInterface),
                                                           .version = 1,
                                                           .wraps_tensors = 1,
                                                           .roles = BURN_ROLE_FUSION,
                                                           .open = decorator_open};

BURN_COMMON_PLUGIN(DECORATOR, "fusion", "0.1.0", "MIT OR Apache-2.0",
                   "queues ops, runs groups of them as one kernel, skips results that are never read",
                   {"burn.decorator", &decorator_interface}, {BURN_OPTIONS_INTERFACE_NAME, &options_interface})
