/* read_sentence_piece.c - .model files of SentencePiece: a message of protocol buffers (sentencepiece_model.proto), of
 * which three parts matter: pieces, the trainer's settings, the normalizer's. They are read in their place, instead of
 * by protobuf-c, which makes some 60 bytes of two bytes of a hostile file. */
#include "tokenizer_private.h"

#include <stdlib.h>
#include <string.h>

/* Fields of the three messages, as the format numbers them. */
enum { MODEL_PIECES = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_TYPE = 3, TRAINER_SUFFIX = 24, TRAINER_BYTES = 35 };
enum { NORMALIZER_MAP = 2, NORMALIZER_PREFIX = 3, NORMALIZER_EXTRA = 4, NORMALIZER_ESCAPE = 5 };
enum { WIRE_NUMBER = 0, WIRE_FIXED_64 = 1, WIRE_BYTES = 2, WIRE_FIXED_32 = 5 };
enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

/* A message in the file. */
typedef struct Message {
  const uint8_t *bytes;
  size_t at, end;
  BurnStatus status;
} Message;

/* A field: its number, and a number or bytes [at, at + count). */
typedef struct Field {
  uint64_t number, value;
  uint32_t wire;
  size_t at, count;
} Field;

static uint64_t read_varint(Message *message) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
    const uint8_t byte = message->bytes[message->at++];
    value |= (uint64_t)(byte & 0x7fu) << shift;
    if (byte < 0x80) return value;
  }
  if (message->status == BURN_OK)
    message->status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: a number that does not end", message->at);
  return 0;
}

/* The next field; false at the end, or on failure. */
static bool next_field(Message *message, Field *field) {
  if (message->status != BURN_OK || message->at == message->end) return false;
  const size_t start = message->at;
  const uint64_t tag = read_varint(message);
  *field = (Field){.number = tag >> 3, .wire = (uint32_t)(tag & 7)};
  const bool is_bytes = field->wire == WIRE_BYTES;
  if (field->wire == WIRE_NUMBER || is_bytes) field->value = read_varint(message);
  const size_t left = message->end - message->at;
  const uint64_t count = is_bytes                       ? field->value
                         : field->wire == WIRE_FIXED_32 ? 4
                         : field->wire == WIRE_FIXED_64 ? 8
                                                        : 0;
  if (message->status == BURN_OK && (count > left || field->number == 0 || (field->wire > WIRE_BYTES && count == 0)))
    message->status =
        burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: field %llu of %llu bytes, of which %zu are there", start,
                         (unsigned long long)field->number, (unsigned long long)count, left);
  if (message->status != BURN_OK) return false;
  field->at = message->at;
  field->count = (size_t)count;
  message->at += field->count;
  return true;
}

static Message inside(const Message *message, const Field *field) {
  return (Message){message->bytes, field->at, field->at + field->count, BURN_OK};
}

static float fixed_float(const Message *message, const Field *field) {
  const uint8_t *at = message->bytes + field->at;
  const uint32_t bits = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* -- pieces ----------------------------------------------------------------------------------- */

static BurnStatus keep_piece(BurnTextTokenizer *tokenizer, size_t id, float score, uint8_t type) {
  TokenModel *model = &tokenizer->model;
  if ((id & (id - 1)) == 0) {
    const size_t room = id > 0 ? 2 * id : 1;
    double *scores = realloc(model->scores, room * sizeof *scores);
    if (scores != NULL) model->scores = scores;
    uint8_t *types = scores != NULL ? realloc(model->types, room) : NULL;
    if (types == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu pieces", room);
    model->types = types;
  }
  model->scores[id] = (double)score;
  model->types[id] = type;
  if (type == PIECE_UNKNOWN) model->unknown = (int64_t)id;
  return BURN_OK;
}

static BurnStatus read_piece(BurnTextTokenizer *tokenizer, Message message) {
  const size_t id = tokenizer->model.vocabulary.count;
  Field field, text = {.count = 0};
  float score = 0;
  uint64_t type = PIECE_NORMAL;
  while (next_field(&message, &field)) {
    if (field.number == PIECE_TEXT && field.wire == WIRE_BYTES) text = field;
    if (field.number == PIECE_SCORE && field.wire == WIRE_FIXED_32) score = fixed_float(&message, &field);
    if (field.number == PIECE_TYPE && field.wire == WIRE_NUMBER) type = field.value;
  }
  if (message.status != BURN_OK) return message.status;
  if (text.count == 0 || type < PIECE_NORMAL || type > PIECE_BYTE || !(score > -1e30f && score < 1e30f))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: piece %zu of %zu bytes, type %llu, score %g",
                            message.at, id, text.count, (unsigned long long)type, (double)score);
  const BurnStatus status =
      burn__vocabulary_set(&tokenizer->model.vocabulary, id, (const char *)message.bytes + text.at, text.count);
  return status == BURN_OK ? keep_piece(tokenizer, id, score, (uint8_t)type) : status;
}

/* -- settings --------------------------------------------------------------------------------- */

static BurnStatus read_trainer(BurnTextTokenizer *tokenizer, Message message, TokenStep *step) {
  TokenModel *model = &tokenizer->model;
  uint64_t kind = MODEL_UNIGRAM;
  Field field;
  while (next_field(&message, &field)) {
    if (field.wire != WIRE_NUMBER) continue;
    if (field.number == TRAINER_TYPE) kind = field.value;
    if (field.number == TRAINER_SUFFIX) step->flags[3] = field.value != 0;
    if (field.number == TRAINER_BYTES) model->falls_back_to_bytes = field.value != 0;
  }
  if (message.status == BURN_OK && kind != MODEL_UNIGRAM && kind != MODEL_BPE)
    return burn_status_make(BURN_STATUS_UNIMPLEMENTED,
                            "a SentencePiece model of type %llu; unigram (1) and BPE (2) are known",
                            (unsigned long long)kind);
  if (kind == MODEL_BPE) {
    model->name = "BPE";
    model->encode = burn__encode_piece_pairs;
  }
  return message.status;
}

static BurnStatus read_normalizer(Message message, TokenStep *step) {
  Field field;
  BurnStatus status = BURN_OK;
  while (status == BURN_OK && next_field(&message, &field)) {
    if (field.number == NORMALIZER_MAP && field.wire == WIRE_BYTES && field.count > 0 && step->map.units == NULL)
      status = burn_status_annotate(burn__charsmap_read(&step->map, message.bytes + field.at, field.count), "byte %zu",
                                    field.at);
    if (field.wire != WIRE_NUMBER) continue;
    if (field.number == NORMALIZER_PREFIX) step->flags[0] = field.value != 0;
    if (field.number == NORMALIZER_EXTRA) step->flags[1] = field.value != 0;
    if (field.number == NORMALIZER_ESCAPE) step->flags[2] = field.value != 0;
  }
  return status == BURN_OK ? message.status : status;
}

/* -- the whole -------------------------------------------------------------------------------- */

static BurnStatus read_fields(BurnTextTokenizer *tokenizer, Message *message, TokenStep *step) {
  Field field;
  BurnStatus status = BURN_OK;
  while (status == BURN_OK && next_field(message, &field)) {
    if (field.wire != WIRE_BYTES) continue;
    if (field.number == MODEL_PIECES) status = read_piece(tokenizer, inside(message, &field));
    if (field.number == MODEL_TRAINER) status = read_trainer(tokenizer, inside(message, &field), step);
    if (field.number == MODEL_NORMALIZER) status = read_normalizer(inside(message, &field), step);
  }
  return status == BURN_OK ? message->status : status;
}

BurnStatus burn__tokenizer_piece_steps(BurnTextTokenizer *tokenizer, TokenStep *step) {
  TokenStep spaces = {.decode = burn__step_decode_sentence_piece, .flags = {step->flags[0], step->flags[1]}};
  TokenModel *model = &tokenizer->model;
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < model->vocabulary.count && status == BURN_OK; i++) {
    size_t length = 0;
    const char *text = burn__vocabulary_text(&model->vocabulary, (int64_t)i, &length);
    if (model->types[i] == PIECE_USER_DEFINED) status = burn__vocabulary_set(&tokenizer->users, i, text, length);
    if (model->types[i] == PIECE_CONTROL)
      status = burn__tokenizer_add(tokenizer, (TokenAdded){.id = (int64_t)i, .is_special = true, .is_control = true},
                                   text, length);
  }
  if (status == BURN_OK) status = burn__vocabulary_finish(&tokenizer->users);
  step->run = burn__step_sentence_piece;
  step->kept = tokenizer->users.count > 0 ? &tokenizer->users : NULL;
  if (status == BURN_OK) {
    status = burn__steps_add(&tokenizer->normalizers, *step);
    *step = (TokenStep){.run = NULL};
  }
  if (status == BURN_OK)
    status =
        burn__steps_add(&tokenizer->decoders, (TokenStep){.decode = burn__step_decode_byte_fallback, .flags = {true}});
  return status == BURN_OK ? burn__steps_add(&tokenizer->decoders, spaces) : status;
}

BurnStatus burn__tokenizer_read_sentence_piece(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count) {
  Message message = {bytes, 0, count, BURN_OK};
  TokenModel *model = &tokenizer->model;
  TokenStep step = {.flags = {true, true, true, false}}; /* the defaults of the format */
  model->name = "Unigram";
  model->encode = burn__encode_unigram;
  model->fuses_unknown = model->is_single = true;
  tokenizer->unknown_surface = TOKEN_UNKNOWN_SURFACE;
  BurnStatus status = read_fields(tokenizer, &message, &step);
  if (status == BURN_OK && model->unknown < 0)
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA, "no piece of type UNKNOWN among %zu", model->vocabulary.count);
  if (status == BURN_OK) status = burn__model_finish(model);
  if (status == BURN_OK) status = burn__tokenizer_piece_steps(tokenizer, &step);
  burn__step_release(&step);
  return status;
}

/* A piece comes first, with a text as its first field. */
bool burn__tokenizer_is_sentence_piece(const uint8_t *bytes, size_t count) {
  Message message = {bytes, 0, count, BURN_OK};
  Field field;
  if (count < 4 || bytes[0] != 0x0a || !next_field(&message, &field) || field.count < 3) return false;
  Message piece = inside(&message, &field);
  return next_field(&piece, &field) && field.number == PIECE_TEXT && field.wire == WIRE_BYTES;
}
