/* npy.c - NumPy's format of one array (numpy.lib.format, versions 1.0 to 3.0).
 *
 * A file is a mark, a version, the length of a header, the header, which is a dictionary as Python writes it, and the
 * values. The header is read by hand: three keys, each once, in any order; nothing else of Python is understood. */
#include <burn/file.h>
#include <burn/numpy.h>
#include <burn/ops.h>

#include "null_check.h"
#include "numpy_internal.h"
#include "path_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_BYTES = 6, PREFIX_BYTES = 10, PREFIX_2_BYTES = 12, ALIGNMENT = 64, KEYS = 3 };
static const char mark[] = "\x93NUMPY";

/* What NumPy calls our dtypes; a row a dtype. */
static const struct {
  BurnDType dtype;
  const char *code;
} dtypes[] = {{BURN_DTYPE_BOOL, "b1"}, {BURN_DTYPE_U8, "u1"},  {BURN_DTYPE_I8, "i1"},
              {BURN_DTYPE_I16, "i2"},  {BURN_DTYPE_I32, "i4"}, {BURN_DTYPE_I64, "i8"},
              {BURN_DTYPE_F16, "f2"},  {BURN_DTYPE_F32, "f4"}, {BURN_DTYPE_F64, "f8"}};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* -- the header ------------------------------------------------------------------------------- */

/* Where the reader is in the text of a header. */
typedef struct Text {
  const char *at, *begin, *end;
  BurnNpyHeader *header;
  bool seen[KEYS];
} Text;

static BurnStatus corrupt(const Text *text, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "npy: %s expected at byte %zu of the header", what,
                          (size_t)(text->at - text->begin));
}

/* Passes over spaces and then over `letter`; false if another one is there. */
static bool passes(Text *text, char letter) {
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\n')) text->at++;
  if (text->at == text->end || *text->at != letter) return false;
  text->at++;
  return true;
}

static bool passes_word(Text *text, const char *word) {
  const size_t length = strlen(word);
  (void)passes(text, '\0');
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0) return false;
  text->at += length;
  return true;
}

/* A text in quotes without escapes; false if there is none. */
static bool quoted_read(Text *text, char *out, size_t room) {
  const char quote = passes(text, '\'') ? '\'' : '"';
  if (quote == '"' && !passes(text, '"')) return false;
  const char *end = memchr(text->at, quote, (size_t)(text->end - text->at));
  if (end == NULL || (size_t)(end - text->at) >= room) return false;
  memcpy(out, text->at, (size_t)(end - text->at));
  out[end - text->at] = '\0';
  text->at = end + 1;
  return true;
}

static BurnStatus descr_read(Text *text) {
  char code[32];
  if (!quoted_read(text, code, sizeof code)) return corrupt(text, "a dtype (a struct is not read)");
  const bool ordered = strchr("<>|=", code[0]) != NULL && code[0] != '\0';
  for (size_t i = 0; ordered && i < DTYPES; i++) {
    if (strcmp(code + 1, dtypes[i].code) != 0) continue;
    text->header->dtype = dtypes[i].dtype;
    text->header->swapped = code[0] == '>';
    return BURN_OK;
  }
  return burn_status_make(BURN_STATUS_INVALID_DTYPE,
                          "npy: dtype '%s' is not read; save the array as bool, uint8, int8, int16, int32, int64, "
                          "float16, float32 or float64",
                          code);
}

static BurnStatus order_read(Text *text) {
  text->header->fortran_order = passes_word(text, "True");
  return text->header->fortran_order || passes_word(text, "False") ? BURN_OK : corrupt(text, "True or False");
}

static bool size_read(Text *text, int64_t *size) {
  const char *begin = text->at;
  for (*size = 0; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
    const int64_t digit = *text->at - '0';
    if (*size > (INT64_MAX - digit) / 10) return false;
    *size = *size * 10 + digit;
  }
  return text->at > begin;
}

/* (), (3,), (3, 4), and (3L, 4L) of old */
static BurnStatus shape_read(Text *text) {
  BurnShape *shape = &text->header->shape;
  shape->rank = 0;
  if (!passes(text, '(')) return corrupt(text, "a shape");
  while (!passes(text, ')')) {
    int64_t size = 0;
    (void)passes(text, '\0');
    if (!size_read(text, &size)) return corrupt(text, "the size of an axis");
    if (shape->rank == BURN_MAX_RANK)
      return burn_status_make(BURN_STATUS_INVALID_SHAPE, "npy: more than %u axes", BURN_MAX_RANK);
    shape->dims[shape->rank++] = size;
    (void)passes(text, 'L');
    if (!passes(text, ',') && (text->at == text->end || *text->at != ')')) return corrupt(text, "a comma");
  }
  return BURN_OK;
}

static BurnStatus pair_read(Text *text) {
  static const struct {
    const char *name;
    BurnStatus (*read)(Text *);
  } keys[KEYS] = {{"descr", descr_read}, {"fortran_order", order_read}, {"shape", shape_read}};
  char name[32];
  if (!quoted_read(text, name, sizeof name)) return corrupt(text, "a key");
  for (size_t i = 0; i < KEYS; i++) {
    if (strcmp(name, keys[i].name) != 0 || text->seen[i]) continue;
    text->seen[i] = true;
    return passes(text, ':') ? keys[i].read(text) : corrupt(text, "a colon");
  }
  return corrupt(text, "one of the keys descr, fortran_order and shape, each once,");
}

static BurnStatus dictionary_read(Text *text) {
  if (!passes(text, '{')) return corrupt(text, "a dictionary");
  while (!passes(text, '}')) {
    const BurnStatus status = pair_read(text);
    if (status != BURN_OK) return status;
    if (!passes(text, ',') && (text->at == text->end || *text->at != '}')) return corrupt(text, "a comma");
  }
  for (size_t i = 0; i < KEYS; i++) {
    if (!text->seen[i]) return corrupt(text, "another key: descr, fortran_order and shape are needed, which");
  }
  return BURN_OK;
}

/* The bytes of the values, which are just what is left of the file. */
static BurnStatus size_check(BurnNpyHeader *header, size_t count) {
  const size_t left = count - header->offset;
  size_t bytes = burn_dtype_bytes(header->dtype);
  bool empty = false, fits = bytes > 0;
  for (uint32_t i = 0; i < header->shape.rank; i++) empty = empty || header->shape.dims[i] == 0;
  for (uint32_t i = 0; i < header->shape.rank && !empty && fits; i++) {
    fits = (uint64_t)header->shape.dims[i] <= left / bytes;
    bytes *= fits ? (size_t)header->shape.dims[i] : 1;
  }
  header->bytes = empty ? 0 : bytes;
  if (fits && header->bytes == left) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "npy: %s of %s, but %zu bytes of values",
                          burn_shape_text(header->shape).text, burn_dtype_name(header->dtype), left);
}

BurnStatus burn_npy_header(const uint8_t *bytes, size_t count, BurnNpyHeader *header) {
  const BurnStatus given = BURN_REQUIRED(header, "a BurnNpyHeader");
  if (given != BURN_OK) return given;
  memset(header, 0, sizeof *header);
  if (!bytes || count < PREFIX_2_BYTES || memcmp(bytes, mark, MARK_BYTES) != 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "npy: no NumPy file: its mark is missing");
  const unsigned version = bytes[6];
  if (version < 1 || version > 3)
    return burn_status_make(BURN_STATUS_INCOMPATIBLE, "npy: version %u, 1 to 3 expected", version);
  const size_t prefix = version == 1 ? PREFIX_BYTES : PREFIX_2_BYTES;
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > count - prefix)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "npy: a header of %zu bytes in a file of %zu", length, count);
  const char *begin = (const char *)bytes + prefix;
  Text text = {begin, begin, begin + length, header, {false}};
  const BurnStatus status = dictionary_read(&text);
  if (status != BURN_OK) return status;
  header->offset = prefix + length;
  return size_check(header, count);
}

/* -- values ----------------------------------------------------------------------------------- */

/* From an array whose first axis runs fastest to one whose last does. */
static void axes_turn(const BurnNpyHeader *header, const uint8_t *values, uint8_t *out) {
  const size_t size = burn_dtype_bytes(header->dtype), count = header->bytes / size;
  size_t steps[BURN_MAX_RANK], index[BURN_MAX_RANK] = {0}, from = 0;
  for (size_t axis = 0, step = 1; axis < header->shape.rank; axis++) {
    steps[axis] = step;
    step *= (size_t)header->shape.dims[axis];
  }
  for (size_t i = 0; i < count; i++) {
    memcpy(out + i * size, values + from * size, size);
    for (size_t axis = header->shape.rank; axis-- > 0;) {
      from += steps[axis];
      if (++index[axis] < (size_t)header->shape.dims[axis]) break;
      from -= index[axis] * steps[axis];
      index[axis] = 0;
    }
  }
}

static void bytes_swap(uint8_t *values, size_t bytes, size_t size) {
  for (size_t i = 0; i < bytes; i += size) {
    for (size_t j = 0; j < size / 2; j++) {
      const uint8_t kept = values[i + j];
      values[i + j] = values[i + size - 1 - j];
      values[i + size - 1 - j] = kept;
    }
  }
}

void burn_npy_values(const BurnNpyHeader *header, const uint8_t *bytes, void *out) {
  uint8_t *values = out;
  if (header->fortran_order && header->shape.rank > 1)
    axes_turn(header, bytes + header->offset, values);
  else if (header->bytes > 0)
    memcpy(values, bytes + header->offset, header->bytes);
  if (header->swapped) bytes_swap(values, header->bytes, burn_dtype_bytes(header->dtype));
  /* NumPy's bools are bytes, and any other than 0 is true there. */
  for (size_t i = 0; header->dtype == BURN_DTYPE_BOOL && i < header->bytes; i++) values[i] = values[i] != 0;
}

/* -- files ------------------------------------------------------------------------------------ */

BurnTensor *burn__npy_tensor(BurnDevice *device, const BurnNpyHeader *header, const uint8_t *bytes) {
  void *values = malloc(header->bytes + 1);
  if (values == NULL)
    return burn_tensor_failed(
        burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "npy: no memory for %zu bytes", header->bytes));
  burn_npy_values(header, bytes, values);
  const BurnShape shape = header->shape.rank > 0 ? header->shape : BURN_SHAPE(1);
  BurnTensor *x = burn_tensor_from(device, values, header->dtype, shape);
  free(values);
  return x;
}

BurnTensor *burn_npy_read(BurnDevice *device, const char *path) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnNpyHeader header;
  BurnStatus status = burn__path_check("npy", path);
  if (status != BURN_OK) return burn_tensor_failed(status);
  status = burn_file_read(path, PTRDIFF_MAX - 1, &bytes, &count);
  if (status == BURN_OK) status = burn_npy_header(bytes, count, &header);
  BurnTensor *x = status == BURN_OK ? burn__npy_tensor(device, &header, bytes)
                                    : burn_tensor_failed(burn_status_annotate(status, "npy: %s", path));
  free(bytes);
  return x;
}

/* (3, 4); of one axis (3,); of none () */
static void shape_text(BurnShape shape, char *text, size_t room) {
  size_t used = (size_t)snprintf(text, room, "(");
  for (uint32_t i = 0; i < shape.rank; i++)
    used += (size_t)snprintf(text + used, room - used, i > 0 ? ", %lld" : "%lld", (long long)shape.dims[i]);
  (void)snprintf(text + used, room - used, shape.rank == 1 ? ",)" : ")");
}

/* What comes before the values, filled up with spaces so that those are aligned; its length. */
static size_t prefix_make(BurnDType dtype, BurnShape shape, uint8_t *prefix, size_t room) {
  char axes[32 * BURN_MAX_RANK];
  const char *code = "";
  for (size_t i = 0; i < DTYPES; i++) code = dtypes[i].dtype == dtype ? dtypes[i].code : code;
  shape_text(shape, axes, sizeof axes);
  char *header = (char *)prefix + PREFIX_BYTES;
  size_t length =
      (size_t)snprintf(header, room - PREFIX_BYTES, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }",
                       code[1] == '1' ? '|' : '<', code, axes);
  while ((PREFIX_BYTES + length + 1) % ALIGNMENT != 0) header[length++] = ' ';
  header[length++] = '\n';
  memcpy(prefix, mark, MARK_BYTES);
  prefix[6] = 1;
  prefix[7] = 0;
  prefix[8] = (uint8_t)length;
  prefix[9] = (uint8_t)(length >> 8);
  return PREFIX_BYTES + length;
}

BurnStatus burn__npy_make(BurnTensor *x, uint8_t **bytes, size_t *count) {
  uint8_t prefix[1024];
  if (burn_tensor_status(x) == BURN_OK && burn_dtype(x) == BURN_DTYPE_BF16) x = burn_cast(x, BURN_DTYPE_F32);
  const BurnStatus before = burn_tensor_status(x);
  if (before != BURN_OK) {
    burn_drop(x);
    return before;
  }
  const BurnShape shape = burn_shape(x);
  const size_t length = prefix_make(burn_dtype(x), shape, prefix, sizeof prefix);
  size_t values = burn_dtype_bytes(burn_dtype(x));
  for (uint32_t i = 0; i < shape.rank; i++) values *= (size_t)shape.dims[i];
  uint8_t *made = malloc(length + values);
  if (made == NULL) {
    burn_drop(x);
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "npy: no memory for %zu bytes", length + values);
  }
  memcpy(made, prefix, length);
  const BurnStatus status = burn_read(x, made + length, values);
  if (status != BURN_OK) {
    free(made);
    return status;
  }
  *bytes = made;
  *count = length + values;
  return BURN_OK;
}

BurnStatus burn_npy_write(const char *path, BurnTensor *x) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  BurnStatus status = burn__path_check("npy", path);
  if (status != BURN_OK) {
    burn_drop(x);
    return status;
  }
  status = burn__npy_make(x, &bytes, &count);
  if (status == BURN_OK) status = burn_file_write(path, bytes, count);
  free(bytes);
  return burn_status_annotate(status, "npy: %s", path);
}
