/* validate_report.c - says which promise an op broke, and saves the call: every input as a .npy file, and call.json. */
#include "validate_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#if defined(_WIN32)
#include <direct.h>
#else
#include <sys/stat.h>
#endif

/* In a mode of fopen: programs that are started do not get the file. */
#if defined(_WIN32)
#define NOT_INHERITED "N"
#else
#define NOT_INHERITED "e"
#endif

/* -- texts ------------------------------------------------------------------------------------ */

void validate_add(Text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text->at, text->room, format, arguments);
  va_end(arguments);
  const size_t used = length < 0 || text->room == 0 ? 0 : (size_t)length < text->room ? (size_t)length : text->room - 1;
  text->at += used;
  text->room -= used;
}

void validate_add_desc(Text *text, const BurnTensorDesc *desc) {
  validate_add(text, "%s[", burn_dtype_name(desc->dtype));
  for (uint32_t i = 0; i < desc->rank && i < BURN_MAX_RANK; i++)
    validate_add(text, "%s%" PRId64, i ? "," : "", desc->shape[i]);
  validate_add(text, "]");
}

/* Printed with `format`, with a point in every locale. */
typedef struct Number {
  char text[48];
} Number;

static Number number(const char *format, double value) {
  char written[48];
  Number result = {""};
  size_t used = 0;
  snprintf(written, sizeof written, format, value);
  for (const char *at = written; *at; at++) {
    const bool plain =
        strchr("0123456789+-einfa", *at) != NULL; /* anything else is the locale's point, of one byte or several */
    if (plain || used == 0 || result.text[used - 1] != '.') result.text[used++] = plain ? *at : '.';
  }
  return result;
}

static double half_to_real(uint16_t bits, int fraction_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const int unit = 1 - bias - fraction_bits;
  double size = exponent == 0 ? ldexp(fraction, unit) : ldexp(fraction + (1 << fraction_bits), exponent - 1 + unit);
  if (exponent == 2 * bias + 1) size = fraction ? (double)NAN : (double)INFINITY;
  return bits & 0x8000 ? -size : size;
}

void validate_add_value(Text *text, const Content *content, int64_t i) {
  union {
    uint8_t u8;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint16_t half;
    float f32;
    double f64;
  } value = {0};
  const uint32_t bytes = burn_dtype_bytes(content->desc.dtype);
  memcpy(&value, content->data + i * bytes, bytes);
  switch (content->desc.dtype) {
    case BURN_DTYPE_BOOL:
      validate_add(text, "%s", value.u8 ? "true" : "false");
      break;
    case BURN_DTYPE_U8:
      validate_add(text, "%u", value.u8);
      break;
    case BURN_DTYPE_I8:
      validate_add(text, "%d", value.i8);
      break;
    case BURN_DTYPE_I16:
      validate_add(text, "%d", value.i16);
      break;
    case BURN_DTYPE_I32:
      validate_add(text, "%d", value.i32);
      break;
    case BURN_DTYPE_I64:
      validate_add(text, "%" PRId64, value.i64);
      break;
    case BURN_DTYPE_F16:
      validate_add(text, "%s", number("%.5g", half_to_real(value.half, 10, 15)).text);
      break;
    case BURN_DTYPE_BF16:
      validate_add(text, "%s", number("%.4g", half_to_real(value.half, 7, 127)).text);
      break;
    case BURN_DTYPE_F32:
      validate_add(text, "%s", number("%.9g", (double)value.f32).text);
      break;
    default:
      validate_add(text, "%s", number("%.17g", value.f64).text);
      break;
  }
}

/* "f32[2,3] = 1, 2, 3, 4, .." */
static void add_content(Text *text, const Content *content) {
  enum { MAX = 4 };
  const int64_t count = burn_desc_count(&content->desc);
  validate_add_desc(text, &content->desc);
  if (!content->data) return;
  for (int64_t i = 0; i < count && i < MAX; i++) {
    validate_add(text, i ? ", " : " = ");
    validate_add_value(text, content, i);
  }
  if (count > MAX) validate_add(text, ", ..");
}

/* What the definition of an op may allow: the log of 0, a cast that overflows, the mean of nothing. */
static bool is_only_told(const Check *check) {
  return strcmp(check->promise, "finite") == 0 && !check->validate->finite_is_strict;
}

static void describe(const Check *check, Text *text) {
  const BurnOpCall *call = check->call;
  if (is_only_told(check)) {
    validate_add(text, "validate: op '%s' made what is not finite: %s; inputs:", check->info->name, check->what);
  } else {
    validate_add(text, "validate: op '%s' broke the promise '%s': %s; inputs:", check->info->name, check->promise,
                 check->what);
  }
  for (uint32_t i = 0; i < call->input_count && i < 4; i++) {
    validate_add(text, i ? "; " : " ");
    if (call->inputs[i]) {
      add_content(text, &check->before[i]);
    } else {
      validate_add(text, "none");
    }
  }
  if (call->input_count == 0) validate_add(text, " none");
  validate_add(text, " -> ");
  for (uint32_t i = 0; i < call->output_count; i++) {
    const Content expected = {call->output_descs[i], NULL, 0};
    validate_add(text, i ? "; " : "");
    add_content(text, check->after[i].data ? &check->after[i] : &expected);
  }
}

/* -- files ------------------------------------------------------------------------------------ */

/* The type codes of NumPy, which has no bf16: its 16 bits are saved as integers. */
static const char *npy_type(BurnDType dtype) {
  switch (dtype) {
    case BURN_DTYPE_BOOL:
      return "b1";
    case BURN_DTYPE_U8:
      return "u1";
    case BURN_DTYPE_I8:
      return "i1";
    case BURN_DTYPE_I16:
      return "i2";
    case BURN_DTYPE_I32:
      return "i4";
    case BURN_DTYPE_I64:
      return "i8";
    case BURN_DTYPE_F16:
      return "f2";
    case BURN_DTYPE_BF16:
      return "u2";
    case BURN_DTYPE_F32:
      return "f4";
    default:
      return "f8";
  }
}

/* NumPy's format, version 1.0: magic, length of the header, a header padded to a multiple of 64 bytes, the elements. */
static bool write_npy(const char *path, const Content *content) {
  const uint16_t probe = 1;
  const bool is_little = *(const unsigned char *)&probe == 1;
  const char order = burn_dtype_bytes(content->desc.dtype) == 1 ? '|' : is_little ? '<' : '>';
  char header[256];
  Text text = {header, sizeof header};
  validate_add(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, npy_type(content->desc.dtype));
  for (uint32_t i = 0; i < content->desc.rank; i++) validate_add(&text, "%" PRId64 ",", content->desc.shape[i]);
  validate_add(&text, "), }");
  while ((10 + strlen(header) + 1) % 64 != 0) validate_add(&text, " ");
  validate_add(&text, "\n");
  const size_t length = strlen(header);
  const unsigned char start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 255), (unsigned char)(length >> 8)};
  FILE *file = fopen(path, "wb" NOT_INHERITED);
  if (!file) return false;
  bool good = fwrite(start, 1, sizeof start, file) == sizeof start && fwrite(header, 1, length, file) == length;
  good = good && fwrite(content->data, 1, (size_t)content->bytes, file) == content->bytes;
  return fclose(file) == 0 && good;
}

static void write_attr(FILE *file, const BurnAttr *attr) {
  switch (attr->tag) {
    case BURN_ATTR_F64:
      if (attr->value.f64 - attr->value.f64 == 0) {
        fputs(number("%.17g", attr->value.f64).text, file);
      } else {
        fprintf(file, "\"%s\"", number("%g", attr->value.f64).text); /* JSON has no word for it */
      }
      break;
    case BURN_ATTR_BOOL:
      fputs(attr->value.i64 ? "true" : "false", file);
      break;
    case BURN_ATTR_DTYPE:
      fprintf(file, "\"%s\"", burn_dtype_name((BurnDType)attr->value.i64));
      break;
    case BURN_ATTR_I64S:
      for (uint32_t i = 0; i < attr->count; i++) fprintf(file, "%s%" PRId64, i ? ", " : "[", attr->value.i64s[i]);
      fputs(attr->count ? "]" : "[]", file);
      break;
    default:
      fprintf(file, "%" PRId64, attr->value.i64);
      break;
  }
}

static void write_tensor(FILE *file, const BurnTensorDesc *desc) {
  fprintf(file, "\"dtype\": \"%s\", \"shape\": [", burn_dtype_name(desc->dtype));
  for (uint32_t i = 0; i < desc->rank; i++) fprintf(file, i ? ", %" PRId64 : "%" PRId64, desc->shape[i]);
  fputs("]}", file);
}

/* Names of ops, attributes and dtypes and `what` hold no character that JSON escapes. */
static bool write_json(const char *path, const Check *check) {
  const BurnOpCall *call = check->call;
  FILE *file = fopen(path, "w" NOT_INHERITED);
  if (!file) return false;
  fprintf(file, "{\n  \"op\": \"%s\",\n  \"promise\": \"%s\",\n  \"what\": \"%s\",\n", check->info->name,
          check->promise, check->what);
  fprintf(file, "  \"backend\": \"%s\",\n  \"attributes\": {", check->validate->next->name);
  for (uint32_t i = 0; i < call->attr_count; i++) {
    fprintf(file, "%s\"%s\": ", i ? ", " : "", check->info->attr_names[i]);
    write_attr(file, &call->attrs[i]);
  }
  fputs("},\n  \"inputs\": [", file);
  for (uint32_t i = 0; i < call->input_count; i++) {
    fputs(i ? ",\n    " : "\n    ", file);
    if (call->inputs[i]) {
      fprintf(file, "{\"file\": \"input%u.npy\", \"donated\": %s, ", i,
              i < 64 && call->donate >> i & 1 ? "true" : "false");
      write_tensor(file, &check->before[i].desc);
    } else {
      fputs("null", file);
    }
  }
  fputs("],\n  \"results\": [", file);
  for (uint32_t i = 0; i < call->output_count; i++) {
    fputs(i ? ",\n    {" : "\n    {", file);
    write_tensor(file, &call->output_descs[i]);
  }
  fputs("]\n}\n", file);
  const bool good = !ferror(file);
  return fclose(file) == 0 && good;
}

/* A folder that is there is good, too. */
static bool make_folder(const char *path) {
#if defined(_WIN32)
  return _mkdir(path) == 0 || errno == EEXIST;
#else
  return mkdir(path, 0777) == 0 || errno == EEXIST;
#endif
}

/* Makes SAVE/<number>-<op>/ and fills it; adds where, or why not, to the text. */
static void save(Check *check, Text *text) {
  Validate *validate = check->validate;
  char folder[640], path[704];
  const unsigned number = atomic_fetch_add(&validate->saved, 1u);
  bool good = make_folder(validate->save);
  snprintf(folder, sizeof folder, "%s/%u-%s", validate->save, number, check->info->name);
  good = good && make_folder(folder);
  for (uint32_t i = 0; good && i < check->call->input_count; i++) {
    snprintf(path, sizeof path, "%s/input%u.npy", folder, i);
    if (check->before[i].data) good = write_npy(path, &check->before[i]);
  }
  snprintf(path, sizeof path, "%s/call.json", folder);
  good = good && write_json(path, check);
  validate_add(text, good ? "; saved in %s" : "; could not be saved in %s", folder);
}

BurnStatus validate_report(Check *check) {
  Validate *validate = check->validate;
  const BurnHost *host = validate->host;
  char message[760], where[704] = "";
  const bool told = is_only_told(check), warn = validate->warn || told;
  atomic_bool *before = &(told ? validate->told : validate->warned)[check->call->op % WARNED_SLOTS];
  if (warn && atomic_exchange(before, true)) return BURN_OK;
  Text at_end = {where, sizeof where};
  if (validate->save[0]) save(check, &at_end);
  const size_t kept = strlen(where) < 400 ? strlen(where) : 0; /* the place must not be cut off */
  Text text = {message, sizeof message - kept};
  describe(check, &text);
  text.room += kept;
  if (kept) validate_add(&text, "%s", where);
  if (!warn) return host->fail(check->code, __FILE__, __LINE__, message);
  host->log(BURN_LOG_WARN, "validate", message + strlen("validate: "));
  return BURN_OK;
}
