/* validate_header.c - the header of a result, and the memory that it names.
 *
 * Nothing in a header is believed before it is checked, and memory is read only through validate_copy: a backend that
 * lies about addresses, strides or sizes is named, and does not crash the check. */
#include "validate_internal.h"

#include <inttypes.h>
#include <string.h>

#define PROMISE(...) validate_broken(check, "promises", BURN_STATUS_INTERNAL, __VA_ARGS__)

/* -- where elements lie ----------------------------------------------------------------------- */

/* The elements that strides reach below and above the first one; false if they are absurdly many. */
static bool reach(const BurnTensorDesc *desc, const int64_t *strides, int64_t *below, int64_t *above) {
  const int64_t limit = INT64_C(1) << 56;
  *below = *above = 0;
  for (uint32_t i = 0; i < desc->rank; i++) {
    const int64_t steps = desc->shape[i] - 1, stride = strides[i];
    if (steps <= 0) continue;
    if (stride > limit / steps || stride < -(limit / steps)) return false;
    *(stride < 0 ? below : above) += stride * steps;
  }
  return *below >= -limit && *above <= limit;
}

/* Elements from the first one of element k in row-major order. */
static int64_t place_of(const BurnTensorDesc *desc, const int64_t *strides, int64_t k) {
  int64_t place = 0;
  for (uint32_t axis = desc->rank; axis-- > 0; k /= desc->shape[axis]) place += k % desc->shape[axis] * strides[axis];
  return place;
}

static const char *address_of(const Memory *memory, int64_t place) {
  const int64_t bytes = burn_dtype_bytes(memory->desc.dtype);
  /* In integers: the sum may leave the address space. */
  return (const char *)((uintptr_t)memory->buffer + (uintptr_t)(memory->byte_offset + place * bytes));
}

/* " (f32[2,2], strides 2,1, byte_offset 0, buffer 0x55..)": for messages. */
static const char *layout_text(const Memory *memory, char *room, size_t bytes) {
  Text text = {room, bytes};
  validate_add(&text, "(");
  validate_add_desc(&text, &memory->desc);
  validate_add(&text, ", strides ");
  for (uint32_t i = 0; i < memory->desc.rank; i++)
    validate_add(&text, i ? ",%" PRId64 : "%" PRId64, memory->strides[i]);
  validate_add(&text, ", byte_offset %" PRId64 ", buffer 0x%" PRIxPTR ")", memory->byte_offset,
               (uintptr_t)memory->buffer);
  return room;
}

/* The two outermost elements can be read. */
static bool check_ends(Check *check, uint32_t i, const Memory *memory, int64_t below, int64_t above) {
  const int64_t ends[] = {0, below, above};
  static const char *const names[] = {"first", "lowest", "highest"};
  char element[8], text[256];
  for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
    if (k > 0 && ends[k] == 0) continue; /* it is the first */
    const char *address = address_of(memory, ends[k]);
    if (validate_copy(element, address, burn_dtype_bytes(memory->desc.dtype))) continue;
    return PROMISE("result %u: no memory can be read at 0x%" PRIxPTR ", where its %s element should lie %s", i,
                   (uintptr_t)address, names[k], layout_text(memory, text, sizeof text));
  }
  return true;
}

static bool check_memory(Check *check, uint32_t i, const BurnPrimitive *header, Memory *memory) {
  const int64_t bytes = burn_dtype_bytes(header->dtype);
  int64_t below, above;
  char text[256];
  if (!(header->flags & BURN_PRIMITIVE_HOST_MEMORY) || burn_desc_count(&memory->desc) == 0) return true;
  if (!header->strides) return PROMISE("result %u says HOST_MEMORY but has no strides", i);
  if (!header->buffer) return PROMISE("result %u says HOST_MEMORY but has no buffer", i);
  if (!validate_copy(memory->strides, header->strides, header->rank * sizeof memory->strides[0])) {
    return PROMISE("result %u: its strides cannot be read, they should lie at 0x%" PRIxPTR, i,
                   (uintptr_t)header->strides);
  }
  memory->buffer = header->buffer;
  memory->byte_offset = header->byte_offset;
  if (header->byte_offset < 0 || header->byte_offset % bytes != 0) {
    return PROMISE("result %u begins at byte %lld of its buffer, which is not a place for a %s", i,
                   (long long)header->byte_offset, burn_dtype_name(header->dtype));
  }
  if (!reach(&memory->desc, memory->strides, &below, &above)) {
    return PROMISE("result %u has strides that no memory could hold %s", i, layout_text(memory, text, sizeof text));
  }
  if (below < -(header->byte_offset / bytes)) {
    return PROMISE("result %u has strides that reach %lld elements before the start of its buffer %s", i,
                   (long long)(-below - header->byte_offset / bytes), layout_text(memory, text, sizeof text));
  }
  memory->is_host = true;
  return check_ends(check, i, memory, below, above);
}

/* -- the header ------------------------------------------------------------------------------- */

/* As much of the header as both sides know. */
static bool copy_header(Check *check, uint32_t i, const BurnPrimitive *x, BurnPrimitive *header) {
  uint32_t size = 0;
  memset(header, 0, sizeof *header);
  if (!validate_copy(&size, x, sizeof size)) {
    return PROMISE("result %u is the address 0x%" PRIxPTR ", where no header can be read", i, (uintptr_t)x);
  }
  if (size < BURN_PRIMITIVE_MIN_BYTES)
    return PROMISE("result %u has a header of %u bytes, %u are needed", i, size, (unsigned)BURN_PRIMITIVE_MIN_BYTES);
  if (validate_copy(header, x, size < sizeof *header ? size : sizeof *header)) return true;
  return PROMISE("result %u has a header of %u bytes at 0x%" PRIxPTR ", which cannot be read to its end", i, size,
                 (uintptr_t)x);
}

/* A decorator that differentiates marks what depends on tracked inputs, and nobody marks anything else. */
static bool check_flags(Check *check, uint32_t i, uint32_t flags) {
  if (!(flags & BURN_PRIMITIVE_TRACKED)) return true;
  for (uint32_t k = 0; k < check->call->input_count; k++) {
    if (check->call->inputs[k] && check->call->inputs[k]->flags & BURN_PRIMITIVE_TRACKED) return true;
  }
  return PROMISE("result %u has the flags 0x%x: it says TRACKED though no input is", i, flags);
}

static bool check_shape(Check *check, uint32_t i, const BurnPrimitive *header, const BurnTensorDesc *expected) {
  BurnTensorDesc desc = {header->dtype, header->rank, {0}};
  char room[256];
  Text text = {room, sizeof room};
  if (header->dtype != expected->dtype) {
    return PROMISE("result %u is %s, not %s (dtype %u, not %u)", i, burn_dtype_name(header->dtype),
                   burn_dtype_name(expected->dtype), header->dtype, expected->dtype);
  }
  if (header->rank != expected->rank) return PROMISE("result %u has rank %u, not %u", i, header->rank, expected->rank);
  if (!header->shape || !validate_copy(desc.shape, header->shape, desc.rank * sizeof desc.shape[0])) {
    return PROMISE("result %u: its shape cannot be read, it should lie at 0x%" PRIxPTR, i, (uintptr_t)header->shape);
  }
  if (memcmp(desc.shape, expected->shape, desc.rank * sizeof desc.shape[0]) == 0) return true;
  validate_add_desc(&text, &desc);
  validate_add(&text, ", not ");
  validate_add_desc(&text, expected);
  return PROMISE("result %u is %s", i, room);
}

bool validate_header(Check *check, uint32_t i, BurnPrimitive **x, const BurnTensorDesc *expected, Memory *memory) {
  const uint32_t owner = check->validate->next->owner;
  BurnPrimitive header;
  memset(memory, 0, sizeof *memory);
  memory->desc = *expected;
  const bool is_tensor = copy_header(check, i, *x, &header);
  if (is_tensor && header.owner != owner)
    PROMISE("result %u carries the owner number %u, not %u", i, header.owner, owner);
  if (!is_tensor || header.owner != owner) {
    *x = NULL; /* nobody knows what it is, or whose: to release it might crash */
    return false;
  }
  return check_shape(check, i, &header, expected) && check_flags(check, i, header.flags) &&
         check_memory(check, i, &header, memory);
}

/* -- what lies there -------------------------------------------------------------------------- */

/* Elements that lie one after the other are compared in one go. */
static bool compare_run(Check *check, uint32_t i, const Memory *memory, const Content *content, int64_t first,
                        int64_t count) {
  enum { ROOM = 4096 };
  const int64_t bytes = burn_dtype_bytes(memory->desc.dtype);
  unsigned char found[ROOM];
  char text[256], values[96];
  for (int64_t at = 0; at < count; at += ROOM / bytes) {
    const int64_t some = count - at < ROOM / bytes ? count - at : ROOM / bytes;
    const char *address = address_of(memory, place_of(&memory->desc, memory->strides, first + at));
    const unsigned char *expected = content->data + (first + at) * bytes;
    if (!validate_copy(found, address, (uint64_t)(some * bytes))) {
      return PROMISE("result %u: no memory can be read at 0x%" PRIxPTR ", where element %lld should lie %s", i,
                     (uintptr_t)address, (long long)(first + at), layout_text(memory, text, sizeof text));
    }
    if (memcmp(found, expected, (size_t)(some * bytes)) == 0) continue;
    int64_t k = 0;
    while (memcmp(found + k * bytes, expected + k * bytes, (size_t)bytes) == 0) k++;
    const Content there = {memory->desc, found, sizeof found};
    Text both = {values, sizeof values};
    validate_add_value(&both, &there, k);
    validate_add(&both, ", not ");
    validate_add_value(&both, content, first + at + k);
    return PROMISE("result %u: what lies at the address of element %lld is not what read() gives: %s %s", i,
                   (long long)(first + at + k), values, layout_text(memory, text, sizeof text));
  }
  return true;
}

/* Elements of the innermost axes that lie one after the other. */
static int64_t run_length(const Memory *memory) {
  int64_t run = 1;
  for (uint32_t axis = memory->desc.rank; axis-- > 0; run *= memory->desc.shape[axis]) {
    if (memory->desc.shape[axis] > 1 && memory->strides[axis] != run) break;
  }
  return run;
}

bool validate_addresses(Check *check, uint32_t i, const Memory *memory, const Content *content) {
  const int64_t count = burn_desc_count(&memory->desc);
  if (!memory->is_host || count == 0) return true;
  const int64_t run = run_length(memory);
  for (int64_t first = 0; first < count; first += run) {
    if (!compare_run(check, i, memory, content, first, run)) return false;
  }
  return true;
}
