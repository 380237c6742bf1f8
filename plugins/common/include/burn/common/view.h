/* view.h - shapes and strides of views: what reshape, permute, expand and slice make of those of their input. Strides
 * count elements and may be 0 or negative. Shapes are those that the host has checked. C99 and C++11, nothing to link.
 */
#ifndef BURN_COMMON_VIEW_H
#define BURN_COMMON_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* Strides of a group of axes of x, [from, end), for the axes [to, to_end) of another shape that have as many elements;
 * false if the group does not lie in memory with one stride. */
static inline bool burn_common_reshape_group(const int64_t *shape, const int64_t *strides, uint32_t from, uint32_t end,
                                             const int64_t *to_shape, int64_t *to_strides, uint32_t to,
                                             uint32_t to_end) {
  int64_t stride = 1, expected = 0; /* stride: of the innermost axis of the group that is longer than 1 */
  bool is_first = true;
  uint32_t i;
  for (i = end; i-- > from;) {
    if (shape[i] == 1) continue;
    if (is_first) stride = strides[i];
    if (!is_first && strides[i] != expected) return false;
    expected = strides[i] * shape[i];
    is_first = false;
  }
  for (i = to_end; i-- > to;) {
    to_strides[i] = stride;
    stride *= to_shape[i];
  }
  return true;
}

/* Strides with which a tensor, read in row-major order, has the shape `to_shape` (of as many elements, at least one);
 * false if there are none and its elements have to be copied. Runs of axes that follow each other in memory are cut
 * into the axes of the new shape. */
static inline bool burn_common_reshape(uint32_t rank, const int64_t *shape, const int64_t *strides, uint32_t to_rank,
                                       const int64_t *to_shape, int64_t *to_strides) {
  uint32_t from = 0, to = 0;
  while (from < rank || to < to_rank) {
    uint32_t end = from, to_end = to;
    int64_t count = 1, to_count = 1;
    do { /* the shortest groups of axes, one on each side, with equally many elements */
      if ((count <= to_count && end < rank) || to_end == to_rank) {
        count *= shape[end++];
      } else {
        to_count *= to_shape[to_end++];
      }
    } while (count != to_count);
    if (!burn_common_reshape_group(shape, strides, from, end, to_shape, to_strides, to, to_end)) return false;
    from = end;
    to = to_end;
  }
  return true;
}

/* Axis i of the result is axis axes[i]: for shapes and for strides. */
static inline void burn_common_permute(uint32_t rank, const int64_t *axes, const int64_t *from, int64_t *to) {
  uint32_t i;
  for (i = 0; i < rank; i++) to[i] = from[axes[i]];
}

/* New axes lead; they and those of length 1 that grow get stride 0. */
static inline void burn_common_expand(uint32_t rank, const int64_t *shape, const int64_t *strides, uint32_t to_rank,
                                      const int64_t *to_shape, int64_t *to_strides) {
  const uint32_t leading = to_rank - rank;
  uint32_t i;
  for (i = 0; i < to_rank; i++)
    to_strides[i] = i < leading || shape[i - leading] != to_shape[i] ? 0 : strides[i - leading];
}

/* Strides of the slice with shape `to_shape` that begins at starts[i] and goes by steps[i]; returns the distance from
 * the first element of the tensor to that of the slice, 0 for an axis without elements. A step that is never taken may
 * be of any size. */
static inline int64_t burn_common_slice(uint32_t rank, const int64_t *strides, const int64_t *starts,
                                        const int64_t *steps, const int64_t *to_shape, int64_t *to_strides) {
  int64_t offset = 0;
  uint32_t i;
  for (i = 0; i < rank; i++) {
    to_strides[i] = to_shape[i] > 1 ? strides[i] * steps[i] : strides[i];
    if (to_shape[i] > 0) offset += starts[i] * strides[i];
  }
  return offset;
}

/* True if the view is the tensor itself: the same shape, walked by the same strides from the same element. */
static inline bool burn_common_is_same(uint32_t rank, const int64_t *shape, const int64_t *strides, uint32_t to_rank,
                                       const int64_t *to_shape, const int64_t *to_strides, int64_t offset) {
  uint32_t i;
  if (rank != to_rank || offset != 0) return false;
  for (i = 0; i < rank; i++)
    if (shape[i] != to_shape[i] || (strides[i] != to_strides[i] && shape[i] != 1)) return false;
  return true;
}

#endif
