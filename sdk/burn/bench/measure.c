/* measure.c - one case on every side: our stacks and the peers take turns, so that a slow minute meets all of them. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Threads that wait by spinning are asleep after this: they do not run into the other side's turn. */
static void rest(void) { nanosleep(&(struct timespec){0, 4000000}, NULL); }

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The value at a share of sorted samples, between neighbours if need be. */
static double quantile(const double *samples, size_t count, double share) {
  const double place = share * (double)(count - 1);
  const size_t below = (size_t)place;
  if (below + 1 >= count) return samples[count - 1];
  return samples[below] + (place - (double)below) * (samples[below + 1] - samples[below]);
}

Spread spread_of(double *samples, size_t count) {
  qsort(samples, count, sizeof *samples, by_value);
  return (Spread){quantile(samples, count, 0.5), quantile(samples, count, 0.25), quantile(samples, count, 0.75)};
}

/* -- our side --------------------------------------------------------------------------------- */

const Kind *kind_find(const char *name) {
  for (size_t i = 0; i < op_kind_count; i++) {
    if (strcmp(op_kinds[i].name, name) == 0) return &op_kinds[i];
  }
  for (size_t i = 0; i < network_kind_count; i++) {
    if (strcmp(network_kinds[i].name, name) == 0) return &network_kinds[i];
  }
  return NULL;
}

BurnStatus subject_begin(Subject *s, const Kind *kind, const int64_t *args, const char *stack) {
  memset(s, 0, sizeof *s);
  s->args = args;
  s->loss = (double)NAN;
  s->device = kind->tracked ? burn_device_open_training(stack) : burn_device_open(stack);
  const BurnStatus status = burn_device_status(s->device);
  return burn_status_annotate(status == BURN_OK ? kind->prepare(s) : status, "%s on %s", kind->name, stack);
}

void subject_end(Subject *s) {
  for (int i = 0; i < MAX_TENSORS; i++) burn_drop(s->t[i]);
  if (s->network) {
    burn_module_release((BurnModule){s->network->type(), &s->valid});
    burn_module_release((BurnModule){s->network->type(), &s->model});
  }
  burn_optimizer_destroy(s->optimizer);
  if (s->device) burn_device_trim(s->device);
  burn_device_close(s->device);
}

typedef struct Own {
  const Kind *kind;
  Subject subject;
  double seconds; /* of a repetition, as last seen */
} Own;

static BurnStatus repeat(Own *own, size_t count) {
  BurnStatus status = BURN_OK;
  const double begin = seconds_now();
  for (size_t i = 0; i < count && status == BURN_OK; i++) status = own->kind->run(&own->subject);
  own->seconds = (seconds_now() - begin) / (double)count;
  return burn_status_annotate(status, "%s", own->kind->name);
}

/* The first repetition, whose loss is told; then as long as the peer does. */
static BurnStatus warm_up(Own *own, double *loss) {
  BurnStatus status = repeat(own, 1);
  *loss = own->subject.loss;
  double total = 0;
  for (size_t count = 1; status == BURN_OK && total < 0.03; count *= 2) {
    status = repeat(own, count);
    total += own->seconds * (double)count;
  }
  return status;
}

static BurnStatus own_run(Own *own, double seconds, double *sample, double *loss) {
  const double count = seconds / own->seconds;
  const BurnStatus status = repeat(own, count > 1 ? (size_t)(count + 0.5) : 1);
  *sample = own->seconds;
  *loss = own->subject.loss;
  return status;
}

/* -- all sides -------------------------------------------------------------------------------- */

/* A stack that cannot go on is out of the case, and says why. */
static void leave(Own *own, Side *side, BurnStatus status) {
  const uint32_t code = burn_status_code(status);
  side->known = false;
  side->lacks = code == BURN_STATUS_UNIMPLEMENTED || code == BURN_STATUS_INVALID_DTYPE;
  snprintf(side->problem, sizeof side->problem, "%s", burn_status_message(status));
  subject_end(&own->subject);
}

static void begin_own(Own *own, const Case *c, const char *stack, Side *side) {
  own->kind = kind_find(c->kind);
  side->known = true;
  BurnStatus status = subject_begin(&own->subject, own->kind, c->args.at, stack);
  if (status == BURN_OK) status = warm_up(own, &side->first_loss);
  if (status != BURN_OK) leave(own, side, status);
}

/* A case has a device of its own, so the device's peak is the case's. */
static void end_own(Own *own, Side *side) {
  side->bytes_peak = burn_device_memory(own->subject.device).bytes_peak;
  subject_end(&own->subject);
}

static BurnStatus begin(const Bench *bench, Own *own, const Case *c, Result *result) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < bench->stack_count; i++) begin_own(&own[i], c, bench->stacks[i], &result->own[i]);
  for (size_t i = 0; i < bench->peer_count && status == BURN_OK; i++) {
    status = peer_case(bench->peers[i], c->kind, &c->args, &result->peer[i].known, &result->peer[i].first_loss);
  }
  return status;
}

static BurnStatus one_round(const Bench *bench, Own *own, const Case *c, Result *result, size_t round) {
  BurnStatus status = BURN_OK;
  result->limit[round] = limits_case_seconds(c);
  for (size_t i = 0; i < bench->stack_count; i++) {
    Side *side = &result->own[i];
    if (!side->known) continue;
    rest();
    const BurnStatus ran = own_run(&own[i], bench->seconds, &side->samples[round], &side->last_loss);
    if (ran != BURN_OK) leave(&own[i], side, ran);
  }
  for (size_t i = 0; i < bench->peer_count && status == BURN_OK; i++) {
    Side *side = &result->peer[i];
    if (!side->known) continue;
    rest();
    status = peer_run(bench->peers[i], bench->seconds, &side->samples[round], &side->last_loss);
  }
  return status;
}

static void summarize(Side *side, size_t rounds, double repeats) {
  if (!side->known) return;
  for (size_t r = 0; r < rounds; r++) side->samples[r] /= repeats;
  side->time = spread_of(side->samples, rounds);
}

BurnStatus measure(const Bench *bench, const Case *c, Result *result) {
  static Own own[MAX_STACKS];
  memset(own, 0, sizeof own);
  memset(result, 0, sizeof *result);
  for (size_t i = 0; i < MAX_PEERS; i++) result->peer[i].bytes_peak = -1;
  BurnStatus status = begin(bench, own, c, result);
  for (size_t r = 0; r < bench->rounds && status == BURN_OK; r++) status = one_round(bench, own, c, result, r);
  for (size_t i = 0; i < bench->stack_count; i++) {
    if (result->own[i].known) end_own(&own[i], &result->own[i]);
    summarize(&result->own[i], bench->rounds, c->repeats);
  }
  for (size_t i = 0; i < bench->peer_count; i++) {
    if (status == BURN_OK && result->peer[i].known) status = peer_end(bench->peers[i]);
    summarize(&result->peer[i], bench->rounds, c->repeats);
  }
  result->limit_time = spread_of(result->limit, bench->rounds);
  return status;
}
