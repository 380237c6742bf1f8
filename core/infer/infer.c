/* infer.c - the frame of all shape rules: what every op has in common is checked here, then its rule of ops.def runs.
 *
 * Inference happens once, above the stack; every layer and backend below trusts output_descs. So the rules are also the
 * place where users meet their mistakes: messages start with the op's name and hold the shapes. */
#include "infer_internal.h"

/* input_count and presence as ops.def says. */
static BurnStatus check_inputs(const BurnOpInfo *info, const BurnOpCall *call) {
  const uint32_t least = info->takes_list ? 1 : info->input_count;
  if (call->input_count < least || (!info->takes_list && call->input_count > info->input_count)) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %u inputs given, %u expected", info->name, call->input_count,
                     info->input_count);
  }
  const uint32_t required = info->takes_list ? call->input_count : info->input_required;
  for (uint32_t i = 0; i < required; i++) {
    if (call->inputs[i]) continue;
    return BURN_FAIL(INVALID_ARGUMENT, "%s: input %u (%s) is missing", info->name, i,
                     info->input_names[info->takes_list ? 0 : i]);
  }
  if (call->output_count != info->output_count) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: the list of outputs holds %u, %u are needed", info->name,
                     call->output_count, info->output_count);
  }
  return BURN_OK;
}

static bool has_tag(const BurnAttr *attr, uint32_t tag) {
  return attr->tag == tag || (tag == BURN_ATTR_NUMBER && (attr->tag == BURN_ATTR_F64 || attr->tag == BURN_ATTR_I64));
}

static BURN__COLD BurnStatus wrong_tag(const BurnOpInfo *info, uint32_t i, uint32_t tag) {
  const bool is_number = info->attr_tags[i] == BURN_ATTR_NUMBER;
  return BURN_FAIL(INVALID_ARGUMENT, "%s: attribute '%s' has tag %u, expected %u%s", info->name, info->attr_names[i],
                   tag, is_number ? BURN_ATTR_I64 : info->attr_tags[i], is_number ? " or 2" : "");
}

/* Every attribute has the tag of ops.def (the host has filled in defaults). */
static BurnStatus check_attrs(const BurnOpInfo *info, const BurnOpCall *call) {
  if (call->attr_count != info->attr_count) {
    return BURN_FAIL(INVALID_ARGUMENT, "%s: %u attributes given, %u expected", info->name, call->attr_count,
                     info->attr_count);
  }
  for (uint32_t i = 0; i < info->attr_count; i++) {
    const BurnAttr *attr = &call->attrs[i];
    if (!has_tag(attr, info->attr_tags[i])) return wrong_tag(info, i, attr->tag);
    if (attr->tag == BURN_ATTR_I64S && attr->count > 0 && !attr->value.i64s) {
      return BURN_FAIL(INVALID_ARGUMENT, "%s: the %u numbers of '%s' are NULL", info->name, attr->count,
                       info->attr_names[i]);
    }
    if (attr->tag == BURN_ATTR_I64S && attr->count > BURN_MAX_RANK) {
      return BURN_FAIL(INVALID_ARGUMENT, "%s: attribute '%s' has %u entries, at most %u are possible", info->name,
                       info->attr_names[i], attr->count, BURN_MAX_RANK);
    }
  }
  return BURN_OK;
}

static BURN__COLD BurnStatus wrong_kind(const BurnOpInfo *info, BurnDType dtype) {
  return BURN_FAIL(INVALID_DTYPE, "%s: not defined for %s; it takes%s%s%s tensors", info->name, burn_dtype_name(dtype),
                   info->kinds & BURN_KIND_FLOAT ? " float" : "", info->kinds & BURN_KIND_INT ? " int" : "",
                   info->kinds & BURN_KIND_BOOL ? " bool" : "");
}

BURN__INLINE BurnStatus check_kind(const BurnOpInfo *info, BurnDType dtype) {
  return burn_dtype_kind(dtype) & info->kinds ? BURN_OK : wrong_kind(info, dtype);
}

/* An op of a pack may leave the choice of its inputs to the caller. */
BURN__INLINE const BurnPrimitive *first_given(const BurnOpCall *call) {
  uint32_t i = 0;
  while (i < call->input_count - 1 && !call->inputs[i]) i++;
  return call->inputs[i];
}

BurnStatus burn__infer(const BurnOpCall *call, BurnTensorDesc *out) {
  const BurnOpInfo *info = burn__op_info(call->op);
  if (!info) return BURN_FAIL(NOT_FOUND, "there is no op number %u", call->op);
  return burn__infer_as(info, call, out);
}

BurnStatus burn__infer_as(const BurnOpInfo *info, const BurnOpCall *call, BurnTensorDesc *out) {
  BurnStatus status = check_inputs(info, call);
  if (status == BURN_OK) status = check_attrs(info, call);
  const BurnPrimitive *first = call->input_count > 0 ? first_given(call) : NULL;
  if (status == BURN_OK && first) status = check_kind(info, first->dtype);
  if (status != BURN_OK) return status;
  for (uint32_t i = 0; i < info->output_count; i++) out[i] = (BurnTensorDesc){0};
  status = burn__op_infer_rule(call->op)(info, call, out);
  if (status == BURN_OK && call->input_count == 0) status = check_kind(info, out[0].dtype);
  return status;
}

BurnStatus burn__infer_check_dim(const BurnOpInfo *info, const BurnPrimitive *x, int64_t dim) {
  if (dim >= 0 && dim < (int64_t)x->rank) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(OUT_OF_RANGE, "%s: dim %lld is outside a tensor of shape %s", info->name, (long long)dim,
                   burn__shape_text(&text, x->rank, x->shape));
}

BurnStatus burn__infer_same_dtype(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first, uint32_t second) {
  const BurnDType lhs = call->inputs[first]->dtype, rhs = call->inputs[second]->dtype;
  if (lhs == rhs) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: %s is %s and %s is %s; convert one with burn_cast", info->name,
                   info->input_names[first], burn_dtype_name(lhs), info->input_names[second], burn_dtype_name(rhs));
}

BurnStatus burn__infer_same_shape(const BurnOpInfo *info, const BurnOpCall *call, uint32_t first, uint32_t second) {
  const BurnPrimitive *lhs = call->inputs[first], *rhs = call->inputs[second];
  if (burn__infer_are_alike(lhs, rhs)) return BURN_OK;
  BURN_TRY(burn__infer_same_dtype(info, call, first, second));
  BurnShapeText l, r;
  return BURN_FAIL(INVALID_SHAPE, "%s: shapes %s and %s differ", info->name,
                   burn__shape_text(&l, lhs->rank, lhs->shape), burn__shape_text(&r, rhs->rank, rhs->shape));
}

BurnStatus burn__infer_kind(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t kinds,
                            const char *what) {
  if (burn_dtype_kind(call->inputs[input]->dtype) & kinds) return BURN_OK;
  return BURN_FAIL(INVALID_DTYPE, "%s: %s must be %s, not %s", info->name, info->input_names[input], what,
                   burn_dtype_name(call->inputs[input]->dtype));
}

BurnStatus burn__infer_rank(const BurnOpInfo *info, const BurnOpCall *call, uint32_t input, uint32_t rank) {
  const BurnPrimitive *x = call->inputs[input];
  if (x->rank == rank) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(INVALID_SHAPE, "%s: %s has shape %s, rank %u expected", info->name, info->input_names[input],
                   burn__shape_text(&text, x->rank, x->shape), rank);
}

BurnStatus burn__infer_broadcast(const BurnOpInfo *info, const BurnPrimitive *lhs, const BurnPrimitive *rhs,
                                 BurnTensorDesc *out) {
  BurnShapeText l, r;
  if (lhs->rank != rhs->rank) {
    return BURN_FAIL(INVALID_SHAPE, "%s: %s and %s have different ranks; add axes with burn_unsqueeze", info->name,
                     burn__shape_text(&l, lhs->rank, lhs->shape), burn__shape_text(&r, rhs->rank, rhs->shape));
  }
  out->rank = lhs->rank;
  for (uint32_t i = 0; i < lhs->rank; i++) {
    const int64_t a = lhs->shape[i], b = rhs->shape[i];
    if (a != b && a != 1 && b != 1) {
      return BURN_FAIL(INVALID_SHAPE, "%s: %s and %s do not broadcast: axis %u is %lld and %lld", info->name,
                       burn__shape_text(&l, lhs->rank, lhs->shape), burn__shape_text(&r, rhs->rank, rhs->shape), i,
                       (long long)a, (long long)b);
    }
    out->shape[i] = a == 1 ? b : a;
  }
  return burn__infer_count(info, out);
}

BurnStatus burn__infer_count(const BurnOpInfo *info, const BurnTensorDesc *desc) {
  int64_t count = 1;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const int64_t size = desc->shape[i];
    /* Only a count or a size of 2^29 or more can be too much; the others are spared the division. */
    if (((count | size) >> 29) != 0 && (size < 0 || (size > 0 && count > INT64_MAX / 16 / size))) {
      BurnShapeText text;
      return BURN_FAIL(INVALID_SHAPE, "%s: a tensor of shape %s is not possible", info->name,
                       burn__shape_text(&text, desc->rank, desc->shape));
    }
    count *= size ? size : 1;
  }
  return BURN_OK;
}

/* Elements start, start + step, .. (count of them) lie within an axis of `size`. */
static bool range_fits(int64_t start, int64_t count, int64_t step, int64_t size) {
  if (count < 0 || step == 0) return false;
  if (count == 0) return true;
  if (start < 0 || start >= size) return false;
  const int64_t room = step > 0 ? (size - 1 - start) / step : -(start / step);
  return count - 1 <= room;
}

BurnStatus burn__infer_range(const BurnOpInfo *info, const BurnPrimitive *x, uint32_t axis, int64_t start,
                             int64_t count, int64_t step) {
  if (range_fits(start, count, step, x->shape[axis])) return BURN_OK;
  BurnShapeText text;
  return BURN_FAIL(OUT_OF_RANGE, "%s: %lld elements from %lld with step %lld do not fit into axis %u of %s", info->name,
                   (long long)count, (long long)start, (long long)step, axis,
                   burn__shape_text(&text, x->rank, x->shape));
}
