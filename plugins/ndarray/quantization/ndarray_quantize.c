/* ndarray_quantize.c - quantize and dequantize: runs of elements that have one scale. */
#include "move/ndarray_moves.h"
#include "ndarray_quantization.h"
#include "ndarray_scaling.h"

#include <math.h>

enum {
  MIN_RUN = 16,    /* elements with one scale; shorter runs are left to the ops of the decomposition */
  BLOCK = 4096,    /* elements of a run that are made at a time */
  GRAIN = 1 << 15, /* elements that are worth a thread's while */
};

typedef struct Scaling {
  const NdScaling *loops;
  const NdMoves *moves;
  const NdTensor *x; /* contiguous */
  NdScales scales;
  void *out;
  int64_t count, run; /* elements, and those with one scale that lie side by side */
  float low, high;    /* of quantize */
  bool is_quantize, streams;
} Scaling;

/* The scale of the run that starts at `element`. */
static float scale_at(const Scaling *work, int64_t element) {
  int64_t index[BURN_MAX_RANK];
  for (uint32_t i = work->scales.rank; i-- > 0;) {
    index[i] = element % work->x->shape[i];
    element /= work->x->shape[i];
  }
  return work->scales.data[nd_scale_offset(&work->scales, index, work->scales.rank)];
}

static void quantize_block(const Scaling *work, float scale, int64_t first, int64_t count) {
  const float *x = (const float *)nd_data(work->x) + first;
  int8_t *out = (int8_t *)work->out + first, made[BLOCK];
  if (scale == 0) {
    memset(out, 0, (size_t)count);
    return;
  }
  work->loops->quantize(x, scale, work->low, work->high, work->streams ? made : out, count);
  if (work->streams) work->moves->stream(out, made, count);
}

static void dequantize_block(const Scaling *work, float scale, int64_t first, int64_t count) {
  const int8_t *x = (const int8_t *)nd_data(work->x) + first;
  float *out = (float *)work->out + first, made[BLOCK];
  work->loops->dequantize(x, scale, work->streams ? made : out, count);
  if (work->streams) work->moves->stream(out, made, count * (int64_t)sizeof *made);
}

/* Elements begin .. end - 1. */
static void BURN_API_CALL run_scaling(void *context, int64_t begin, int64_t end) {
  const Scaling *work = (const Scaling *)context;
  for (int64_t i = begin; i < end;) {
    const int64_t stop = nd_min(end, work->scales.rank > 0 ? (i / work->run + 1) * work->run : end);
    const float scale = scale_at(work, i);
    for (; i < stop; i += BLOCK) {
      const int64_t count = nd_min(BLOCK, stop - i);
      if (work->is_quantize)
        quantize_block(work, scale, i, count);
      else
        dequantize_block(work, scale, i, count);
    }
    i = stop;
  }
  if (work->streams) work->moves->stream_end();
}

static BurnStatus scaled(Ndarray *nd, const BurnOpCall *call, const BurnAttr *block, Scaling *work) {
  NdTensor *x = nd_packed(nd, nd_tensor(call->inputs[0])), *out = nd_new(nd, call->output_descs);
  if (x && out) {
    const uint32_t rank = x->header.rank;
    work->loops = nd_scaling(nd);
    work->moves = nd_moves(nd);
    work->x = x;
    work->out = nd_data(out);
    work->count = burn_primitive_count(&x->header);
    work->scales = nd_scales_of(nd_tensor(call->inputs[1]), block, rank);
    work->run = work->scales.rank > 0 ? work->scales.block[rank - 1] : work->count;
    work->streams = work->count * burn_dtype_bytes(call->output_descs->dtype) >= ND_STREAM_BYTES;
    nd_parallel_for(nd, work->count, GRAIN, run_scaling, work);
  }
  const bool done = x && out;
  nd_unpack(nd, call->inputs[0], x);
  if (done) return nd_finish(nd, call, out);
  nd_release(nd, out);
  return nd_out_of_memory(nd, call);
}

BurnStatus nd_quantize(Ndarray *nd, const BurnOpCall *call) {
  const BurnAttrs_quantize *attrs = BURN_ATTRS(quantize, call);
  Scaling work = {.is_quantize = true, .low = (float)attrs->low.value.f64, .high = (float)attrs->high.value.f64};
  return scaled(nd, call, &attrs->block, &work);
}

BurnStatus nd_dequantize(Ndarray *nd, const BurnOpCall *call) {
  Scaling work = {.is_quantize = false};
  return scaled(nd, call, &BURN_ATTRS(dequantize, call)->block, &work);
}

/* -- which calls ------------------------------------------------------------------------------ */

static bool takes(const BurnOpCall *call, const BurnAttr *block, BurnDType from, BurnDType to) {
  const BurnPrimitive *x = call->inputs[0];
  if (x->dtype != from || call->output_descs->dtype != to || call->inputs[1]->dtype != BURN_DTYPE_F32) return false;
  if (x->rank == 0) return false;
  const uint32_t last = x->rank - 1;
  return nd_has_one_scale(block) || block->value.i64s[last] >= MIN_RUN ||
         (block->value.i64s[last] > 1 && block->value.i64s[last] == x->shape[last]);
}

bool nd_takes_quantize(const BurnOpCall *call) {
  const BurnAttrs_quantize *attrs = BURN_ATTRS(quantize, call);
  const double low = attrs->low.value.f64, high = attrs->high.value.f64;
  const bool in_range = low >= INT8_MIN && high <= INT8_MAX && floor(low) == low && floor(high) == high;
  return in_range && takes(call, &attrs->block, BURN_DTYPE_F32, BURN_DTYPE_I8);
}

bool nd_takes_dequantize(const BurnOpCall *call) {
  return takes(call, &BURN_ATTRS(dequantize, call)->block, BURN_DTYPE_I8, BURN_DTYPE_F32);
}
