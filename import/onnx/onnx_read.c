/* onnx_read.c - the messages of a file, with limits: protobuf-c follows lengths and nesting wherever they lead. */
#include "onnx_program.h"

#include <stdlib.h>

/* -- nesting ---------------------------------------------------------------------------------- */

/* How deep messages lie in each other. The reader of protobuf-c calls itself for every level, so a file of opening
 * lengths alone would end the stack. Lengths that may be messages are followed by field number, as in onnx.proto. */
enum { MAX_LEVELS = 4 * ONNX_MAX_DEPTH };

typedef struct Cursor {
  const uint8_t *at, *end;
} Cursor;

static bool varint(Cursor *cursor, uint64_t *value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (cursor->at == cursor->end) return false;
    const uint8_t byte = *cursor->at++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

static bool skip(Cursor *cursor, uint64_t bytes) {
  if (bytes > (uint64_t)(cursor->end - cursor->at)) return false;
  cursor->at += bytes;
  return true;
}

/* Graph, node, attribute and type: the messages that may hold each other. Each row: the message, a field of it, and the
 * message in that field. */
typedef enum Kind { MODEL, GRAPH, NODE, ATTRIBUTE, VALUE, TYPE, TYPE_OF, FUNCTION, OTHER } Kind;
static const struct {
  Kind kind;
  uint32_t field;
  Kind holds;
} nested[] = {{MODEL, 7, GRAPH},     {MODEL, 25, FUNCTION},  {GRAPH, 1, NODE},         {GRAPH, 11, VALUE},
              {GRAPH, 12, VALUE},    {GRAPH, 13, VALUE},     {FUNCTION, 7, NODE},      {NODE, 5, ATTRIBUTE},
              {ATTRIBUTE, 6, GRAPH}, {ATTRIBUTE, 11, GRAPH}, {ATTRIBUTE, 14, TYPE},    {ATTRIBUTE, 15, TYPE},
              {VALUE, 2, TYPE},      {TYPE, 4, TYPE_OF},     {TYPE, 5, TYPE_OF},       {TYPE, 9, TYPE_OF},
              {TYPE_OF, 1, TYPE},    {TYPE_OF, 2, TYPE},     {FUNCTION, 11, ATTRIBUTE}};

static Kind held(Kind kind, uint64_t field) {
  for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++) {
    if (nested[i].kind == kind && nested[i].field == field) return nested[i].holds;
  }
  return OTHER;
}

/* The end of a field: of its value, or of its length where it has one, which is then in *length. */
static bool field_value(Cursor *cursor, uint64_t tag, uint64_t *length) {
  uint64_t number;
  *length = 0;
  switch (tag & 7) {
    case 0:
      return varint(cursor, &number);
    case 1:
      return skip(cursor, 8);
    case 2:
      return varint(cursor, length) && *length <= (uint64_t)(cursor->end - cursor->at);
    case 5:
      return skip(cursor, 4);
    default:
      return false;
  }
}

/* Walks over all messages with a stack of its own. NULL if all is well, else what is wrong at *at. */
static const char *check_nesting(const uint8_t *bytes, size_t count, size_t *at) {
  struct {
    const uint8_t *end;
    Kind kind;
  } stack[MAX_LEVELS] = {{bytes + count, MODEL}};
  Cursor cursor = {bytes, bytes + count};
  uint32_t depth = 0;
  while (true) {
    while (depth > 0 && cursor.at == stack[depth].end) depth--;
    if (cursor.at == stack[depth].end) return NULL;
    cursor.end = stack[depth].end;
    *at = (size_t)(cursor.at - bytes);
    uint64_t tag, length;
    if (!varint(&cursor, &tag) || !field_value(&cursor, tag, &length)) return "a field reaches beyond its message";
    const Kind kind = (tag & 7) == 2 ? held(stack[depth].kind, tag >> 3) : OTHER;
    if (kind == OTHER) {
      cursor.at += length;
    } else if (++depth == MAX_LEVELS) {
      return "graphs, attributes and types lie too deep in each other";
    } else {
      stack[depth].end = cursor.at + length;
      stack[depth].kind = kind;
    }
  }
}

/* -- memory ----------------------------------------------------------------------------------- */

/* Two bytes of a file can ask for a message of two hundred: what all messages take is limited by the file's size. */
typedef struct Budget {
  size_t left;
} Budget;

static void *budget_alloc(void *data, size_t bytes) {
  Budget *budget = data;
  if (bytes > budget->left) return NULL;
  budget->left -= bytes;
  return malloc(bytes ? bytes : 1);
}
static void budget_free(void *data, void *pointer) {
  (void)data;
  free(pointer);
}

Onnx__ModelProto *onnx_unpack(const void *bytes, size_t count, const char *label, BurnStatus *status) {
  size_t at = 0;
  const char *wrong = check_nesting(bytes, count, &at);
  if (wrong || count == 0) {
    *status = burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: at byte %zu: %s; is it an ONNX model?", label, at,
                               wrong ? wrong : "the file is empty");
    return NULL;
  }
  Budget budget = {count > (SIZE_MAX >> 3) ? SIZE_MAX : 4 * count + ((size_t)16 << 20)};
  ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
  Onnx__ModelProto *model = onnx__model_proto__unpack(&allocator, count, bytes);
  if (!model || !model->graph) {
    *status =
        burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                         "%s: its %zu bytes are not an ONNX model with a graph, or want more memory than such a file "
                         "should",
                         label, count);
    onnx_free_model(model);
    return NULL;
  }
  *status = BURN_OK;
  return model;
}

void onnx_free_model(Onnx__ModelProto *model) {
  if (model) onnx__model_proto__free_unpacked(model, NULL); /* malloc's own free, as budget_free */
}
