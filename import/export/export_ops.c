/* export_ops.c - export_ops.def as a table by op. */
#include "export.h"

static const ExportRow rows[] = {
#define EXPORT(op, map, Operator) {BURN_OP_##op, export_##map, #Operator, false},
#define EXPORT_SIZED(op, map, Operator) {BURN_OP_##op, export_##map, #Operator, true},
#include "export_ops.def"
};

const ExportRow *export_rows(size_t *count) {
  *count = sizeof rows / sizeof rows[0];
  return rows;
}

const ExportRow *export_row(uint32_t op) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].op == op) return &rows[i];
  }
  return NULL;
}
