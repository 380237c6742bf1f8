/* print.c - tensors as people read them: nested brackets, then shape, device, kind and dtype, as Burn prints them. */
#include "core_internal.h"

#include <math.h>
#include <stdlib.h>

enum { SUMMARY_THRESHOLD = 1000, EDGE_ITEMS = 3 };

typedef struct Printer {
  FILE *file;
  const double *values;     /* of float and bool tensors */
  const int64_t *integers;  /* of int tensors */
  BurnShape shape;
  BurnDType dtype;
  bool summary;
} Printer;

static void print_value(const Printer *p, int64_t index) {
  if (p->integers) {
    fprintf(p->file, "%lld", (long long)p->integers[index]);
    return;
  }
  const double value = p->values[index];
  if (burn_dtype_kind(p->dtype) == BURN_KIND_BOOL) {
    fputs(value != 0 ? "true" : "false", p->file);
  } else if (isnan(value)) {
    fputs("NaN", p->file); /* without the sign that some platforms print */
  } else if (isfinite(value) && value == floor(value) && fabs(value) < 1e6) {
    fprintf(p->file, "%.1f", value);
  } else {
    fprintf(p->file, p->dtype == BURN_DTYPE_F64 ? "%.10g" : "%.7g", value);
  }
}

/* Prints the elements from `offset` on, `step` of them per index of this axis. */
static void print_axis(const Printer *p, uint32_t axis, int64_t offset) {
  const int64_t size = p->shape.dims[axis];
  int64_t step = 1;
  for (uint32_t i = axis + 1; i < p->shape.rank; i++) step *= p->shape.dims[i];
  const bool last = axis + 1 == p->shape.rank;
  fputc('[', p->file);
  for (int64_t i = 0; i < size; i++) {
    if (i > 0) fprintf(p->file, last ? ", " : ",\n%*s", last ? 0 : (int)axis + 2, "");
    if (p->summary && size > 2 * EDGE_ITEMS && i == EDGE_ITEMS) {
      fputs("...", p->file);
      i = size - EDGE_ITEMS - 1;
      continue;
    }
    if (last) {
      print_value(p, offset + i);
    } else {
      print_axis(p, axis + 1, offset + i * step);
    }
  }
  fputc(']', p->file);
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
  const BurnStatus status = is_int ? burn_read_i64(burn_clone(x), values, count) : burn_read_f64(burn_clone(x), values, count);
  if (status == BURN_OK) {
    const Printer printer = {.file = file,
                             .values = is_int ? NULL : values,
                             .integers = is_int ? values : NULL,
                             .shape = burn_shape(x),
                             .dtype = burn_dtype(x),
                             .summary = count > SUMMARY_THRESHOLD};
    BurnShapeText text;
    fputs("Tensor {\n  data:\n ", file);
    print_axis(&printer, 0, 0);
    fprintf(file, ",\n  shape:  %s,\n  device:  %s,\n  kind:  \"%s\",\n  dtype:  \"%s\",\n}\n",
            burn__shape_text(&text, printer.shape.rank, printer.shape.dims), burn_device_name(x->device), kind_name(printer.dtype),
            burn_dtype_name(printer.dtype));
  }
  free(values);
  return status;
}

void burn_print_to(FILE *file, BurnTensor *x) {
  const BurnStatus status = print(file, x);
  if (status != BURN_OK) fprintf(file, "Tensor { failed: %s }\n", burn_status_message(status));
  burn__tensor_take(x, "print");
}

void burn_print(BurnTensor *x) { burn_print_to(stdout, x); }
