/* headers.c - a tensor as others see it: what its public header says must be true, and where that names addresses, the
 * elements must lie there as read() gives them. A wild address crashes the child, which is then said so. */
#include "conform.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Says so in why; false. */
#define WRONG(...) (snprintf(why, why_bytes, __VA_ARGS__), false)

static bool fields_are_right(const BurnTensor *x, const BurnTensorDesc *desc, bool may_be_tracked, char *why,
                             size_t why_bytes) {
  const BurnPrimitive *header = burn_tensor_primitive(x);
  const uint32_t owner = burn_device_backend(burn_tensor_device(x))->owner;
  if (!header) return WRONG("there is no primitive");
  if (header->struct_size < BURN_PRIMITIVE_MIN_BYTES)
    return WRONG("struct_size is %u, the header has %u bytes", header->struct_size, (unsigned)BURN_PRIMITIVE_MIN_BYTES);
  if (header->owner != owner) return WRONG("owner is %u, the instance has number %u", header->owner, owner);
  if (header->dtype != desc->dtype)
    return WRONG("dtype is %u, not %u (%s)", header->dtype, desc->dtype, burn_dtype_name(desc->dtype));
  if (header->rank != desc->rank) return WRONG("rank is %u, not %u", header->rank, desc->rank);
  if (!header->shape) return WRONG("shape is NULL");
  for (uint32_t i = 0; i < desc->rank; i++) {
    if (header->shape[i] != desc->shape[i])
      return WRONG("shape[%u] is %" PRId64 ", not %" PRId64, i, header->shape[i], desc->shape[i]);
  }
  if ((header->flags & BURN_PRIMITIVE_TRACKED) && !may_be_tracked)
    return WRONG("flags are 0x%x: TRACKED, though no input is", header->flags);
  return true;
}

/* Where elements lie, for messages. */
static void describe_layout(const BurnPrimitive *x, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "strides ");
  for (uint32_t i = 0; i < x->rank && used < bytes; i++)
    used += (size_t)snprintf(text + used, bytes - used, i ? ",%" PRId64 : "%" PRId64, x->strides[i]);
  if (used < bytes) snprintf(text + used, bytes - used, ", byte_offset %" PRId64, x->byte_offset);
}

static const char *element_at(const BurnPrimitive *x, int64_t i, size_t bytes) {
  int64_t place = 0;
  for (uint32_t axis = x->rank; axis-- > 0; i /= x->shape[axis]) place += i % x->shape[axis] * x->strides[axis];
  return (const char *)x->buffer + x->byte_offset + place * (int64_t)bytes;
}

static bool memory_is_right(const BurnPrimitive *x, const void *data, char *why, size_t why_bytes) {
  const size_t bytes = burn_dtype_bytes(x->dtype);
  const int64_t count = burn_primitive_count(x);
  char layout[256];
  if (!(x->flags & BURN_PRIMITIVE_HOST_MEMORY) || count == 0 || bytes == 0) return true;
  if (!x->buffer) return WRONG("flags have HOST_MEMORY, and buffer is NULL");
  if (!x->strides) return WRONG("flags have HOST_MEMORY, and strides is NULL");
  describe_layout(x, layout, sizeof layout);
  if (x->byte_offset < 0 || x->byte_offset % (int64_t)bytes != 0)
    return WRONG("byte_offset is %" PRId64 ", no place for a %s", x->byte_offset, burn_dtype_name(x->dtype));
  for (int64_t i = 0; i < count; i++) {
    const char *found = element_at(x, i, bytes), *expected = (const char *)data + (size_t)i * bytes;
    if (memcmp(found, expected, bytes) == 0) continue;
    return WRONG("at the address of element %" PRId64 " (%s) lies %.9g, read() gives %.9g", i, layout,
                 sample_load(x->dtype, found, 0, NULL), sample_load(x->dtype, expected, 0, NULL));
  }
  return true;
}

bool header_is_right(const BurnTensor *x, const BurnTensorDesc *desc, const void *data, bool may_be_tracked, char *why,
                     size_t why_bytes) {
  report_doing("reading a tensor through its public header");
  const bool right = fields_are_right(x, desc, may_be_tracked, why, why_bytes) &&
                     (!data || memory_is_right(burn_tensor_primitive(x), data, why, why_bytes));
  report_doing("");
  return right;
}
