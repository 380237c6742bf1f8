/* gpu_sort.c - the order of elements along an axis; also for scatter, which takes equal indices together. */
#include "gpu.h"

#include <stdio.h>

enum { SHARED, COUNT, PLACES, SPREAD }; /* variants of kernels/sort.cu */
enum {
  SHARED_THREADS = 512,
  TILE_THREADS = 256,
  TILE_BYTES = 16384, /* of keys */
  DIGITS = 256,
  LONGEST_SHARED = 4096, /* where a group has 48 KiB */
  SHARED_BYTES = 12,     /* of an element: its key and its index */
  FEW = 1024,            /* a single line up to this is sorted sooner by one block than by passes */
  MANY_LINES = 64
};

static BurnStatus start(Gpu *gpu, GpuKernelKey *key, uint32_t variant, int64_t groups, uint32_t threads,
                        const GpuSort *p) {
  GpuFunction *function = NULL;
  key->variant = variant;
  const BurnStatus status = burn__gpu_kernel(gpu, key, NULL, &function);
  return status == BURN_OK ? burn__gpu_launch(gpu, function, (uint64_t)groups, threads, p, sizeof *p) : status;
}

/* The longest line that a group has memory for, as a power of two. */
static int64_t longest_shared(const Gpu *gpu) {
  int64_t longest = LONGEST_SHARED;
  while (longest * SHARED_BYTES > (int64_t)gpu->shared_bytes) longest /= 2;
  return longest;
}

static BurnStatus start_shared(Gpu *gpu, GpuKernelKey *key, const GpuSort *p) {
  const uint32_t threads = gpu->most_threads < SHARED_THREADS ? gpu->most_threads : SHARED_THREADS;
  char definition[80];
  GpuFunction *function = NULL;
  (void)snprintf(definition, sizeof definition, "#define BURN_LONGEST %d\n#define BURN_SORTERS %u\n",
                 (int)longest_shared(gpu), threads);
  key->variant = SHARED;
  const BurnStatus status = burn__gpu_kernel(gpu, key, definition, &function);
  if (status != BURN_OK) return status;
  return burn__gpu_launch(gpu, function, (uint64_t)(p->outer * p->inner), threads, p, sizeof *p);
}

/* One pass over eight bits. A line of one tile needs no other's counts. */
static BurnStatus pass(Gpu *gpu, GpuKernelKey *key, const GpuSort *p) {
  const int64_t lines = p->outer * p->inner;
  BurnStatus status = BURN_OK;
  if (p->tiles > 1) status = start(gpu, key, COUNT, lines * p->tiles, TILE_THREADS, p);
  if (p->tiles > 1 && status == BURN_OK) status = start(gpu, key, PLACES, lines * DIGITS, TILE_THREADS, p);
  return status == BURN_OK ? start(gpu, key, SPREAD, lines * p->tiles, TILE_THREADS, p) : status;
}

/* Rooms for keys and indices between passes, and for the counts. */
typedef struct Rooms {
  BurnPrimitive *keys[2], *indices[2], *counts;
} Rooms;

static BurnStatus make_room(Gpu *gpu, BurnDType dtype, int64_t count, BurnPrimitive **out) {
  const BurnTensorDesc desc = {.dtype = dtype, .rank = 1, .shape = {count}};
  return burn__gpu_new(gpu, &desc, out);
}

static BurnStatus make_rooms(Gpu *gpu, BurnDType key, const GpuSort *p, Rooms *rooms) {
  const int64_t lines = p->outer * p->inner;
  BurnStatus status = make_room(gpu, BURN_DTYPE_I32, lines * DIGITS * (p->tiles + 1), &rooms->counts);
  for (int i = 0; i < 2 && status == BURN_OK; i++) {
    status = make_room(gpu, key, lines * p->size, &rooms->keys[i]);
    if (status == BURN_OK) status = make_room(gpu, BURN_DTYPE_I32, lines * p->size, &rooms->indices[i]);
  }
  return status;
}

static void release_rooms(Gpu *gpu, const Rooms *rooms) {
  burn__gpu_release(gpu, rooms->counts);
  for (int i = 0; i < 2; i++) {
    burn__gpu_release(gpu, rooms->keys[i]);
    burn__gpu_release(gpu, rooms->indices[i]);
  }
}

static BurnStatus sort_by_digits(Gpu *gpu, GpuKernelKey *key, int bits, GpuSort *p) {
  const bool is_wide = burn_dtype_bytes(key->in[0]) == 8;
  Rooms rooms = {{NULL, NULL}, {NULL, NULL}, NULL};
  if (p->size > INT32_MAX)
    return GPU_FAIL(gpu, INVALID_ARGUMENT, "lines of %lld elements are too long to sort: 2147483647 is the most",
                    (long long)p->size);
  const int64_t tile = TILE_BYTES / (is_wide ? 8 : 4);
  p->tiles = (p->size + tile - 1) / tile;
  BurnStatus status = make_rooms(gpu, is_wide ? BURN_DTYPE_I64 : BURN_DTYPE_I32, p, &rooms);
  if (status == BURN_OK) p->counts = gpu_address(rooms.counts);
  p->totals = p->counts + (uint64_t)(p->outer * p->inner * DIGITS * p->tiles) * sizeof(uint32_t);
  for (int turn = 0; turn * 8 < bits && status == BURN_OK; turn++) {
    const bool is_first = turn == 0, is_last = turn * 8 + 8 >= bits;
    p->shift = turn * 8;
    p->keys_in = is_first ? 0 : gpu_address(rooms.keys[1 - turn % 2]);
    p->indices_in = is_first ? 0 : gpu_address(rooms.indices[1 - turn % 2]);
    p->keys_out = is_last ? 0 : gpu_address(rooms.keys[turn % 2]);
    p->indices_out = is_last ? 0 : gpu_address(rooms.indices[turn % 2]);
    status = pass(gpu, key, p);
  }
  release_rooms(gpu, &rooms);
  return status;
}

/* Keys as kernels/sort.cu makes them have a sign, but those of u8 and bool. */
static uint64_t flip_of(BurnDType dtype, int bits, bool descending) {
  const bool has_sign = dtype != BURN_DTYPE_U8 && dtype != BURN_DTYPE_BOOL;
  const uint64_t sign = has_sign ? UINT64_C(1) << (bits - 1) : 0;
  return descending ? ~sign : sign;
}

static BurnStatus sort(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, int bits, GpuSort *p, BurnPrimitive *out) {
  GpuKernelKey key = {.text = GPU_TEXT_SORT, .out = out->dtype, .in = {x->dtype, x->dtype, x->dtype}};
  const int64_t lines = axis->outer * axis->inner;
  p->out = gpu_address(out);
  p->in = gpu_address(x);
  p->outer = axis->outer;
  p->size = axis->size;
  p->inner = axis->inner;
  if (lines * axis->size == 0) return BURN_OK;
  for (p->padded = 2; p->padded < p->size;) p->padded *= 2;
  const int64_t longest = longest_shared(gpu);
  if (p->padded <= longest && (p->padded <= FEW || lines >= MANY_LINES)) return start_shared(gpu, &key, p);
  return sort_by_digits(gpu, &key, bits, p);
}

BurnStatus burn__gpu_argsort(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, bool descending, BurnPrimitive *out) {
  const int bits = 8 * (int)burn_dtype_bytes(x->dtype);
  GpuSort p = {.descending = descending, .flip = flip_of(x->dtype, bits, descending)};
  return sort(gpu, x, axis, bits, &p, out);
}

BurnStatus burn__gpu_sort_indices(Gpu *gpu, BurnPrimitive *x, const GpuAxis *axis, int64_t limit, BurnPrimitive *out) {
  const int all = 8 * (int)burn_dtype_bytes(x->dtype);
  int bits = 1;
  GpuSort p = {.descending = 0};
  while (bits < all && (limit - 1) >> bits > 0) bits++;
  return sort(gpu, x, axis, bits, &p, out);
}

static BurnStatus argsort(const GpuRun *run) {
  const BurnAttrs_argsort *attrs = BURN_ATTRS(argsort, run->call);
  BurnPrimitive *x = run->call->inputs[0], *rows = NULL;
  const GpuAxis axis = burn__gpu_axis(x, attrs->dim.value.i64);
  BurnStatus status = burn__gpu_output(run, 0);
  if (status == BURN_OK) status = burn__gpu_row_major(run->gpu, x, &rows);
  if (status == BURN_OK)
    status = burn__gpu_argsort(run->gpu, rows, &axis, attrs->descending.value.i64 != 0, run->out[0]);
  burn__gpu_release(run->gpu, rows);
  return status;
}

const GpuRow burn__gpu_sort_rows[] = {{BURN_OP_argsort, argsort, 0}, {0, NULL, 0}};
