/* print.c - tensors as Burn prints them: nested brackets from the first column on, then shape, device, kind and dtype.
 * Options are those of the process; who sets them while another thread prints may see some of the old ones there. */
#include "core_internal.h"
#include "null_check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PRECISION = 30 };

static atomic_size_t threshold = 1000, edge_items = 3;
static atomic_int precision = -1;

BurnStatus burn_set_print_options(BurnPrintOptions options) {
  if (options.edge_items < 1 || options.precision < -1 || options.precision > MAX_PRECISION) {
    return BURN_FAIL(INVALID_ARGUMENT,
                     "print options: edge_items %zu and precision %d; 1 or more and -1 .. %d are possible",
                     options.edge_items, options.precision, MAX_PRECISION);
  }
  threshold = options.threshold;
  edge_items = options.edge_items;
  precision = options.precision;
  return BURN_OK;
}

typedef struct Printer {
  FILE *file;
  const double *values;    /* of float and bool tensors */
  const int64_t *integers; /* of int tensors */
  BurnShape shape;
  BurnDType dtype;
  uint64_t edge_items; /* UINT64_MAX: nothing is left out */
  int precision;
} Printer;

/* -- numbers as Rust writes them: the fewest digits that read back as the same number, whatever the locale -- */

enum { MAX_DIGITS = 17 };

/* d1 d2 .. dn of d1.d2..dn * 10^exponent */
typedef struct Decimal {
  char digits[MAX_DIGITS + 1];
  int count, exponent;
} Decimal;

/* Without a point, which strtod would want as the locale has it. */
static bool reads_back(const Decimal *decimal, double value, bool is_f32) {
  char text[MAX_DIGITS + 16];
  (void)snprintf(text, sizeof text, "%se%d", decimal->digits, decimal->exponent - (decimal->count - 1));
  return is_f32 ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* value, which is finite and not negative, rounded to `count` digits. */
static void round_to(double value, int count, Decimal *out) {
  char text[MAX_DIGITS + 16];
  (void)snprintf(text, sizeof text, "%.*e", count - 1, value);
  const char *exponent = strchr(text, 'e');
  out->count = 0;
  for (const char *at = text; at < exponent; at++)
    if (*at >= '0' && *at <= '9') out->digits[out->count++] = *at;
  out->digits[out->count] = '\0';
  out->exponent = atoi(exponent + 1);
}

/* The next larger number of as many digits. */
static void step_up(Decimal *decimal) {
  int i = decimal->count - 1;
  for (; i >= 0 && decimal->digits[i] == '9'; i--) decimal->digits[i] = '0';
  if (i >= 0) decimal->digits[i]++;
  if (i < 0) decimal->digits[0] = '1';
  decimal->exponent += i < 0;
}

/* Above a power of two lie twice as many numbers that read back as below: there the nearest digits may be too low and
 * the next ones right. */
static Decimal shortest(double value, bool is_f32) {
  Decimal decimal = {{0}, 0, 0};
  for (int count = 1; count <= MAX_DIGITS; count++) {
    round_to(value, count, &decimal);
    if (reads_back(&decimal, value, is_f32)) break;
    Decimal above = decimal;
    step_up(&above);
    if (count < MAX_DIGITS && reads_back(&above, value, is_f32)) return above;
  }
  return decimal;
}

static void print_plain(FILE *file, const Decimal *decimal) {
  const int whole = decimal->exponent + 1; /* digits before the point */
  for (int i = 0; i == 0 || i < whole; i++) fputc(whole > 0 && i < decimal->count ? decimal->digits[i] : '0', file);
  fputc('.', file);
  for (int i = whole; i < 0; i++) fputc('0', file);
  fputs(whole < decimal->count ? decimal->digits + (whole > 0 ? whole : 0) : "0", file);
}

/* magnitude, which is finite, with so many digits after the point; what stands for the point is the locale's. */
static void print_rounded(FILE *file, double magnitude, int digits) {
  char text[DBL_MAX_10_EXP + MAX_PRECISION + 16];
  (void)snprintf(text, sizeof text, "%.*f", digits, magnitude);
  fprintf(file, "%.*s", (int)strspn(text, "0123456789"), text);
  if (digits > 0) fprintf(file, ".%s", text + strlen(text) - digits);
}

/* Without a precision below 1e-4 and from 1e16 on with an exponent. Halves are written as the f32 they are. */
static void print_float(FILE *file, double value, bool is_f32, int digits) {
  const double magnitude = fabs(value);
  if (signbit(value) && !isnan(value)) fputc('-', file);
  if (!isfinite(value)) {
    fputs(isnan(value) ? "NaN" : "inf", file);
    return;
  }
  if (digits >= 0) {
    print_rounded(file, magnitude, digits);
    return;
  }
  const Decimal decimal = shortest(magnitude, is_f32);
  const bool tiny = magnitude != 0 && (is_f32 ? (float)magnitude < 1e-4F : magnitude < 1e-4);
  if (!tiny && magnitude < 1e16) {
    print_plain(file, &decimal);
  } else {
    fprintf(file, "%c%s%se%d", decimal.digits[0], decimal.count > 1 ? "." : "", decimal.digits + 1, decimal.exponent);
  }
}

static void print_value(const Printer *p, int64_t index) {
  if (p->integers) {
    fprintf(p->file, "%lld", (long long)p->integers[index]);
  } else if (burn_dtype_kind(p->dtype) == BURN_KIND_BOOL) {
    fputs(p->values[index] != 0 ? "true" : "false", p->file);
  } else {
    print_float(p->file, p->values[index], p->dtype != BURN_DTYPE_F64, p->precision);
  }
}

/* -- layout ----------------------------------------------------------------------------------- */

/* Prints the elements from `offset` on, `step` of them per index of this axis: rows begin on lines of their own. */
static void print_axis(const Printer *p, uint32_t axis, int64_t offset) {
  const int64_t size = p->shape.dims[axis];
  int64_t step = 1;
  for (uint32_t i = axis + 1; i < p->shape.rank; i++) step *= p->shape.dims[i];
  const bool last = axis + 1 == p->shape.rank, shortened = p->edge_items < ((uint64_t)size + 1) / 2;
  const int indent = last ? 0 : (int)axis + 1;
  fputc('[', p->file);
  for (int64_t i = 0; i < size; i++) {
    if (i > 0) fprintf(p->file, last ? ", " : ",\n%*s", indent, "");
    if (shortened && i == (int64_t)p->edge_items) {
      fprintf(p->file, last ? "..., " : "...\n%*s", indent, "");
      i = size - (int64_t)p->edge_items;
    }
    if (last) {
      print_value(p, offset + i);
    } else {
      print_axis(p, axis + 1, offset + i * step);
    }
  }
  fputc(']', p->file);
}

static void print_shape(FILE *file, BurnShape shape) {
  fputs("  shape:  [", file);
  for (uint32_t i = 0; i < shape.rank; i++) fprintf(file, "%s%lld", i > 0 ? ", " : "", (long long)shape.dims[i]);
  fputs("],\n", file);
}

static const char *kind_name(BurnDType dtype) {
  const uint32_t kind = burn_dtype_kind(dtype);
  return kind == BURN_KIND_FLOAT ? "Float" : kind == BURN_KIND_INT ? "Int" : "Bool";
}

static BurnStatus print(FILE *file, const BurnTensor *x) {
  const BurnStatus failed = burn__tensor_check(x, "print");
  if (failed != BURN_OK) return failed;
  const size_t count = (size_t)burn_element_count(x);
  const bool is_int = burn_dtype_kind(burn_dtype(x)) == BURN_KIND_INT;
  void *values = malloc((count ? count : 1) * 8); /* int64_t or double */
  if (!values) return BURN_FAIL(OUT_OF_MEMORY, "print: no memory for %zu values", count);
  const BurnStatus status =
      is_int ? burn_read_i64(burn_clone(x), values, count) : burn_read_f64(burn_clone(x), values, count);
  if (status == BURN_OK) {
    const Printer printer = {.file = file,
                             .values = is_int ? NULL : values,
                             .integers = is_int ? values : NULL,
                             .shape = burn_shape(x),
                             .dtype = burn_dtype(x),
                             .edge_items = count > threshold ? edge_items : UINT64_MAX,
                             .precision = precision};
    fputs("Tensor {\n  data:\n", file);
    if (count > 0) {
      print_axis(&printer, 0, 0);
    } else {
      fputs("[]", file); /* the shape says of what; rows of nothing could be any number */
    }
    fputs(",\n", file);
    print_shape(file, printer.shape);
    fprintf(file, "  device:  %s,\n  kind:  \"%s\",\n  dtype:  \"%s\",\n}\n", burn_device_name(x->device),
            kind_name(printer.dtype), burn_dtype_name(printer.dtype));
  }
  free(values);
  return status;
}

static void show(FILE *file, const BurnTensor *x) {
  const BurnStatus status = print(file, x);
  if (status != BURN_OK) fprintf(file, "Tensor { failed: %s }\n", burn_status_message(status));
}

void burn_show(const BurnTensor *x) { show(stdout, x); }

void burn_print_to(FILE *file, BurnTensor *x) {
  show(file, x);
  burn__tensor_take(x, "print");
}

BurnStatus burn_print_or_fail(FILE *file, BurnTensor *x) {
  BurnStatus status = BURN_REQUIRED(file, "an open FILE");
  if (status == BURN_OK) status = print(file, x);
  burn__tensor_take(x, "print");
  return status;
}

void burn_print(BurnTensor *x) { burn_print_to(stdout, x); }
