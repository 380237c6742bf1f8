/* measure.c - one case on every side: our stacks and the peers take turns, so that a slow minute meets all of them. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

double spread_noise(const Spread *time) { return (time->high - time->low) / 2 / time->median; }

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

/* Is there a decorator below autodiff? */
static bool has_decorators(const BurnDevice *device) {
  static const char autodiff[] = "autodiff<";
  const char *name = burn_device_name(device);
  if (strncmp(name, autodiff, sizeof autodiff - 1) == 0) name += sizeof autodiff - 1;
  return strchr(name, '<') != NULL;
}

BurnStatus subject_begin(Subject *s, const Kind *kind, const int64_t *args, BurnDType dtype, const char *stack) {
  memset(s, 0, sizeof *s);
  s->args = args;
  s->dtype = dtype;
  s->loss = (double)NAN;
  s->device = kind->tracked ? burn_device_open_training(stack) : burn_device_open(stack);
  const BurnStatus status = burn_device_status(s->device);
  if (status == BURN_OK) s->defers = has_decorators(s->device);
  return burn_status_annotate(status == BURN_OK ? kind->prepare(s) : status, "%s on %s", kind->name, stack);
}

BurnStatus subject_finish(const Subject *s) {
  if (!s->leaves_work) return burn_device_sync(s->device);
  if (s->defers)
    (void)burn_device_memory(s->device); /* what asks has the queue of a decorator run, and does not wait */
  return BURN_OK;
}

BurnStatus subject_settle(Subject *s) {
  BurnTensor *loss = s->last;
  s->last = NULL;
  if (!loss) return s->leaves_work ? burn_device_sync(s->device) : BURN_OK;
  const BurnStatus status = burn_read_scalar(loss, &s->loss);
  if (status != BURN_OK || isfinite(s->loss)) return status;
  return burn_status_make(BURN_STATUS_INTERNAL, "the loss is %g", s->loss);
}

void subject_end(Subject *s) {
  for (int i = 0; i < MAX_TENSORS; i++) burn_drop(s->t[i]);
  burn_drop(s->last);
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

/* Seconds of `count` repetitions together. */
static BurnStatus time_all(Own *own, size_t count, double *seconds) {
  BurnStatus status = BURN_OK;
  const double begin = system_seconds();
  for (size_t i = 0; i < count && status == BURN_OK; i++) status = own->kind->run(&own->subject);
  if (status == BURN_OK) status = subject_settle(&own->subject);
  *seconds = system_seconds() - begin;
  return status;
}

/* The same without the time in which the device is waited for. */
static BurnStatus time_host(Own *own, size_t count, double *seconds) {
  BurnStatus status = BURN_OK;
  *seconds = 0;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    const double begin = system_seconds();
    status = own->kind->run(&own->subject);
    *seconds += system_seconds() - begin;
    if (status == BURN_OK) status = subject_settle(&own->subject);
  }
  return status;
}

static BurnStatus repeat(Own *own, size_t count) {
  double seconds = 0;
  const BurnStatus status = own->kind->host_only ? time_host(own, count, &seconds) : time_all(own, count, &seconds);
  own->seconds = seconds / (double)count;
  return burn_status_annotate(status, "%s", own->kind->name);
}

/* What compiles for a new shape or records a step does so within these. */
enum { MIN_WARM_UPS = 15 };
#define WARM_UP_SECONDS 0.03
#define MAX_WARM_UP_SECONDS 1.0

/* The first repetition, whose loss is reported; then as long as the peer does. */
static BurnStatus warm_up(Own *own, double *loss) {
  BurnStatus status = repeat(own, 1);
  *loss = own->subject.loss;
  const size_t least = own->subject.leaves_work ? MIN_WARM_UPS : 1;
  double total = 0;
  for (size_t count = 1, all = 0; status == BURN_OK && (total < WARM_UP_SECONDS || all < least); count *= 2) {
    status = repeat(own, count);
    total += own->seconds * (double)count;
    all += count;
    if (total > MAX_WARM_UP_SECONDS) break;
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

/* Work there goes to a queue, and waiting for it takes longer than many an op. */
static bool is_gpu(BurnDevice *device) {
  BurnDeviceDescription description = {.struct_size = (uint32_t)sizeof description};
  if (burn_device_describe(device, &description) != BURN_OK) return false;
  return description.kind != BURN_DEVICE_KIND_CPU && description.kind != BURN_DEVICE_KIND_OTHER;
}

static void begin_own(Own *own, const Case *c, const char *stack, Side *side) {
  own->kind = kind_find(c->kind);
  side->known = true;
  BurnStatus status = subject_begin(&own->subject, own->kind, c->args.at, c->dtype, stack);
  own->subject.leaves_work = own->kind->host_only || is_gpu(own->subject.device);
  if (status == BURN_OK) status = warm_up(own, &side->first_loss);
  if (status != BURN_OK) leave(own, side, status);
}

/* A case has a device of its own, so the device's peak is the case's. */
static void end_own(Own *own, Side *side) {
  side->bytes_peak = burn_device_memory(own->subject.device).bytes_peak;
  subject_end(&own->subject);
}

/* The model of the first stack that has one goes to a peer that reads models. False: there is none, or it cannot be
 * written, which the side says. */
static bool hand_over(const Bench *bench, const Own *own, const Result *result, const char *folder, Side *side) {
  size_t i = 0;
  while (i < bench->stack_count && !(result->own[i].known && own[i].subject.infers)) i++;
  if (i == bench->stack_count) return false;
  const BurnStatus status = network_export(&own[i].subject, folder);
  side->lacks = status != BURN_OK;
  if (side->lacks) snprintf(side->problem, sizeof side->problem, "%s", burn_status_message(status));
  return status == BURN_OK;
}

static BurnStatus begin(const Bench *bench, Own *own, const Case *c, Result *result) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < bench->stack_count; i++) begin_own(&own[i], c, bench->stacks[i], &result->own[i]);
  for (size_t i = 0; i < bench->peer_count && status == BURN_OK; i++) {
    const char *folder = peer_folder(bench->peers[i]);
    if (folder && !hand_over(bench, own, result, folder, &result->peer[i])) continue;
    status = peer_case(bench->peers[i], c, &result->peer[i]);
  }
  return status;
}

/* The time in which the GPU copies the bytes of a case; none for what is limited by operations. */
static double copy_seconds(const Bench *bench, const Case *c) {
  const double rate = 1e9 * fmax(bench->device.copy, bench->device.peer_copy); /* fmax: the other one if one is NaN */
  return c->flops == 0 && rate > 0 ? (c->read_bytes + c->write_bytes) / rate : 0;
}

static BurnStatus one_round(const Bench *bench, Own *own, const Case *c, Result *result, size_t round) {
  BurnStatus status = BURN_OK;
  result->limit[round] = bench->device.is_gpu ? copy_seconds(bench, c) : limits_case_seconds(c);
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
    if (status == BURN_OK && result->peer[i].known) status = peer_end(bench->peers[i], &result->peer[i].bytes_peak);
    summarize(&result->peer[i], bench->rounds, c->repeats);
  }
  result->limit_time = spread_of(result->limit, bench->rounds);
  return status;
}

/* -- the device ------------------------------------------------------------------------------- */

/* Elements of what is copied: 1 GiB of f32, less on a small device. */
static int64_t copied_elements(const BurnDeviceDescription *description) {
  const int64_t wanted = INT64_C(1) << 28, fits = description->memory_bytes / 64;
  return fits > 0 && fits < wanted ? fits : wanted;
}

/* The best of some samples, in GB/s; NaN for what has none. */
static double best_copy(const Side *side, size_t rounds, const Case *c) {
  double best = (double)NAN;
  for (size_t r = 0; side->known && r < rounds; r++)
    best = fmax(best, 1e-9 * (c->read_bytes + c->write_bytes) / side->samples[r]);
  return best;
}

BurnStatus bench_device_open(Bench *bench) {
  static Result result;
  BurnDeviceDescription description = {.struct_size = (uint32_t)sizeof description};
  BurnDevice *device = burn_device_open(bench->stacks[0]);
  BurnStatus status = burn_device_describe(device, &description);
  bench->device = (BenchDevice){
      .is_gpu = is_gpu(device), .memory = description.memory_bytes, .copy = (double)NAN, .peer_copy = (double)NAN};
  burn_device_close(device);
  if (status != BURN_OK || !bench->device.is_gpu) return status;
  snprintf(bench->device.text, sizeof bench->device.text, "%s, %s, %s", description.name, description.architecture,
           description.driver);
  const int64_t count = copied_elements(&description);
  const Case c = {.dtype = BURN_DTYPE_F32,
                  .name = "copy",
                  .kind = "copy",
                  .args = ARGS(count),
                  .repeats = 1,
                  .read_bytes = 4.0 * (double)count,
                  .write_bytes = 4.0 * (double)count};
  Bench both = *bench;
  both.stack_count = 1;
  if (both.peer_count > 1) both.peer_count = 1;
  status = measure(&both, &c, &result);
  bench->device.copy = best_copy(&result.own[0], bench->rounds, &c);
  if (both.peer_count > 0) bench->device.peer_copy = best_copy(&result.peer[0], bench->rounds, &c);
  return status;
}

double case_rate(const Case *c, double seconds, const char **unit) {
  const double bytes = c->read_bytes + c->write_bytes;
  *unit = c->flops > 0 ? "TFLOP/s" : "GB/s";
  if (c->flops > 0) return 1e-12 * c->flops / seconds;
  return bytes > 0 ? 1e-9 * bytes / seconds : (double)NAN;
}
