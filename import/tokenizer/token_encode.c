/* token_encode.c - texts to tokens: cut at added tokens, normalized, cut again, and each part to the model; then what
 * stands around the texts. */
#include "tokenizer_private.h"

#include "null_check.h"
#include "token_unicode.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

/* -- encodings -------------------------------------------------------------------------------- */

static BurnStatus encoding_grow(BurnEncoding *out) {
  const size_t room = out->room > 0 ? 2 * out->room : FIRST_ROOM;
  int64_t *ids = room <= SIZE_MAX / 16 ? realloc(out->ids, room * sizeof *ids) : NULL;
  if (ids != NULL) out->ids = ids;
  int64_t *type_ids = ids != NULL ? realloc(out->type_ids, room * sizeof *type_ids) : NULL;
  if (type_ids != NULL) out->type_ids = type_ids;
  size_t *begins = type_ids != NULL ? realloc(out->begins, room * sizeof *begins) : NULL;
  if (begins != NULL) out->begins = begins;
  size_t *ends = begins != NULL ? realloc(out->ends, room * sizeof *ends) : NULL;
  if (ends != NULL) out->ends = ends;
  uint8_t *special = ends != NULL ? realloc(out->special, room) : NULL;
  if (special == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu tokens", room);
  out->special = special;
  out->room = room;
  return BURN_OK;
}

static BurnStatus add_token(BurnEncoding *out, int64_t id, size_t begin, size_t end, bool special) {
  const BurnStatus status = out->count == out->room ? encoding_grow(out) : BURN_OK;
  if (status != BURN_OK) return status;
  out->ids[out->count] = id;
  out->type_ids[out->count] = 0;
  out->begins[out->count] = begin;
  out->ends[out->count] = end;
  out->special[out->count++] = special;
  return BURN_OK;
}

BurnStatus burn__encoding_add(BurnEncoding *out, int64_t id, const TokenSlice *part, size_t begin, size_t end) {
  if (begin >= end) return add_token(out, id, 0, 0, false);
  return add_token(out, id, part->from[begin], part->to[end - 1], false);
}

void burn_encoding_release(BurnEncoding *encoding) {
  if (!encoding) return;
  free(encoding->ids);
  free(encoding->type_ids);
  free(encoding->begins);
  free(encoding->ends);
  free(encoding->special);
  *encoding = (BurnEncoding){NULL, NULL, NULL, NULL, NULL, 0, 0};
}

/* -- one text --------------------------------------------------------------------------------- */

static void cut_all(const BurnTextTokenizer *tokenizer, bool normalized, TokenParts *text, TokenParts *spare) {
  if (text->status != BURN_OK || tokenizer->found[normalized].node_count <= 1) return;
  burn__parts_clear(spare);
  spare->limit = text->limit;
  for (size_t i = 0; i < text->count; i++) {
    const TokenSlice slice = burn__parts_slice(text, i);
    if (text->list[i].id >= 0) {
      burn__parts_copy(spare, &slice, 0, slice.count);
      burn__parts_cut(spare, text->list[i].id);
    } else {
      burn__tokenizer_cut_added(tokenizer, normalized, &slice, spare);
    }
  }
  const TokenParts kept = *text;
  *text = *spare;
  *spare = kept;
}

static BurnStatus encode_parts(const BurnTextTokenizer *tokenizer, const TokenParts *text, BurnEncoding *out) {
  TokenScratch scratch = {.path = NULL};
  BurnStatus status = text->status;
  for (size_t i = 0; i < text->count && status == BURN_OK; i++) {
    const TokenSlice slice = burn__parts_slice(text, i);
    status = text->list[i].id >= 0 ? burn__encoding_add(out, text->list[i].id, &slice, 0, slice.count)
                                   : tokenizer->model.encode(&tokenizer->model, &slice, &scratch, out);
  }
  burn__scratch_release(&scratch);
  return status;
}

static BurnStatus encode_text(const BurnTextTokenizer *tokenizer, const char *text, size_t length, BurnEncoding *out) {
  TokenParts parts = {.status = BURN_OK}, spare = {.status = BURN_OK};
  burn__parts_take_text(&parts, text, length);
  cut_all(tokenizer, false, &parts, &spare);
  BurnStatus status = burn__steps_run(&tokenizer->normalizers, &parts, &spare);
  cut_all(tokenizer, true, &parts, &spare);
  if (status == BURN_OK) status = burn__steps_run(&tokenizer->cuts, &parts, &spare);
  if (status == BURN_OK) status = encode_parts(tokenizer, &parts, out);
  burn__parts_release(&parts);
  burn__parts_release(&spare);
  return status;
}

/* -- offsets without spaces ------------------------------------------------------------------- */

static bool is_blank(uint32_t code) { return code == 0x120 || burn__is_space(code); }

/* A place so many characters further, and back; not beyond a bound. */
static size_t further(const char *text, size_t at, size_t count, size_t bound) {
  for (; count > 0 && at < bound; count--)
    for (at++; at < bound && !burn__is_boundary(text, bound, at);) at++;
  return at;
}

static size_t back(const char *text, size_t at, size_t count, size_t bound) {
  const size_t end = at;
  for (; count > 0 && at > bound; count--)
    for (at--; at > bound && !burn__is_boundary(text, end, at);) at--;
  return at;
}

/* The spaces that a token begins and ends with are not of its place, but for one that was written before the text. */
static void trim_token(const BurnTextTokenizer *tokenizer, const char *text, BurnEncoding *out, size_t index) {
  size_t length = 0, leading = 0, trailing = 0, size = 0;
  const char *name = burn__tokenizer_text(tokenizer, out->ids[index], &length);
  const TokenSlice token = {name != NULL ? name : "", NULL, NULL, length};
  bool is_leading = true;
  for (size_t at = 0; at < length; at += size) {
    const bool blank = is_blank(burn__character_at(&token, at, &size));
    is_leading = is_leading && blank;
    leading += is_leading;
    trailing = blank ? trailing + 1 : 0;
  }
  size_t *begin = &out->begins[index], *end = &out->ends[index];
  if (leading == 1 && tokenizer->trims_with_prefix && (index == 0 || *begin == 0)) leading = 0;
  *begin = further(text, *begin, leading, *end);
  *end = back(text, *end, trailing, *begin);
}

/* -- around the texts ------------------------------------------------------------------------- */

static size_t special_count(const TokenTemplate *items) {
  size_t count = 0;
  for (size_t i = 0; i < items->count; i++) count += items->items[i].id >= 0;
  return count;
}

/* How much of two texts stays: the longer one is cut first (Hugging Face's longest_first). */
static void truncate(BurnEncoding texts[2], size_t room) {
  size_t *shorter = &texts[0].count, *longer = &texts[1].count;
  if (*shorter + *longer <= room) return;
  if (*shorter > *longer) {
    shorter = &texts[1].count;
    longer = &texts[0].count;
  }
  size_t rest = *shorter > room ? *shorter : room - *shorter;
  if (rest < *shorter) rest = *shorter;
  if (rest < *longer) *longer = rest;
  if (*shorter + *longer <= room) return;
  *shorter = room / 2;
  *longer = room / 2 + room % 2;
}

static BurnStatus put_text(const BurnEncoding *text, int64_t type_id, BurnEncoding *out) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < text->count && status == BURN_OK; i++) {
    status = add_token(out, text->ids[i], text->begins[i], text->ends[i], false);
    if (status == BURN_OK) out->type_ids[out->count - 1] = type_id;
  }
  return status;
}

static BurnStatus put_template(const TokenTemplate *items, bool no_special, const BurnEncoding texts[2],
                               BurnEncoding *out) {
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < items->count && status == BURN_OK; i++) {
    const int64_t id = items->items[i].id, type_id = items->items[i].type_id;
    if (id < 0) {
      status = put_text(&texts[id == TEMPLATE_SECOND], type_id, out);
    } else if (!no_special) {
      status = add_token(out, id, 0, 0, true);
      if (status == BURN_OK) out->type_ids[out->count - 1] = type_id;
    }
  }
  return status;
}

static BurnStatus assemble(const BurnTextTokenizer *tokenizer, const BurnEncodeOptions *options, BurnEncoding texts[2],
                           BurnEncoding *out) {
  struct TokenTemplateItem alone[] = {{TEMPLATE_FIRST, 0}, {TEMPLATE_SECOND, 1}};
  const bool has_pair = options->pair != NULL;
  TokenTemplate items = has_pair ? tokenizer->pair : tokenizer->single;
  if (items.count == 0) items = (TokenTemplate){alone, has_pair ? 2 : 1};
  const size_t around = options->no_special ? 0 : special_count(&items);
  if (options->max_length > 0 && options->max_length < around)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tokenizer: max_length is %zu, but special tokens are %zu",
                            options->max_length, around);
  if (options->max_length > 0) truncate(texts, options->max_length - around);
  return put_template(&items, options->no_special, texts, out);
}

BurnStatus burn_text_tokenizer_encode(const BurnTextTokenizer *tokenizer, const char *text, size_t length,
                                      const BurnEncodeOptions *options, BurnEncoding *encoding) {
  const BurnEncodeOptions defaults = {.no_special = false};
  BurnEncoding texts[2] = {{.count = 0}, {.count = 0}};
  if (options == NULL) options = &defaults;
  BurnStatus status = BURN_REQUIRED(encoding, "a BurnEncoding");
  if (status != BURN_OK) return status;
  encoding->count = 0;
  if (tokenizer == NULL) return burn__no_tokenizer();
  if (length > 0) status = BURN_REQUIRED(text, "a text");
  if (status == BURN_OK) status = encode_text(tokenizer, text, length, &texts[0]);
  if (status == BURN_OK && options->pair != NULL)
    status = encode_text(tokenizer, options->pair, options->pair_length, &texts[1]);
  for (size_t i = 0; i < 2 && tokenizer->trims_offsets && status == BURN_OK; i++)
    for (size_t k = 0; k < texts[i].count; k++) trim_token(tokenizer, i == 0 ? text : options->pair, &texts[i], k);
  if (status == BURN_OK) status = assemble(tokenizer, options, texts, encoding);
  burn_encoding_release(&texts[0]);
  burn_encoding_release(&texts[1]);
  if (status != BURN_OK) encoding->count = 0;
  return status;
}

/* -- batches ---------------------------------------------------------------------------------- */

static int64_t pad_of(const BurnTextTokenizer *tokenizer) {
  static const char *const names[] = {"[PAD]", "<pad>"};
  int64_t id = tokenizer->pad_id;
  for (size_t i = 0; i < 2 && id < 0; i++) id = burn_text_tokenizer_id(tokenizer, names[i], strlen(names[i]));
  return id < 0 ? 0 : id;
}

static bool batch_make(BurnEncodedBatch *batch) {
  const size_t cells = batch->count * batch->length;
  batch->ids = calloc(cells + 1, sizeof *batch->ids);
  batch->mask = calloc(cells + 1, sizeof *batch->mask);
  batch->type_ids = calloc(cells + 1, sizeof *batch->type_ids);
  return batch->ids != NULL && batch->mask != NULL && batch->type_ids != NULL;
}

static BurnStatus batch_fill(const BurnTextTokenizer *tokenizer, const BurnEncoding *rows, BurnEncodedBatch *batch) {
  const int64_t pad = pad_of(tokenizer);
  if (batch->length > 0 && batch->count > SIZE_MAX / 16 / batch->length)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "tokenizer: a batch of %zu times %zu tokens", batch->count,
                            batch->length);
  if (!batch_make(batch))
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for a batch of %zu times %zu tokens",
                            batch->count, batch->length);
  for (size_t i = 0; i < batch->count; i++)
    for (size_t k = 0; k < batch->length; k++) {
      const size_t cell = i * batch->length + k;
      batch->mask[cell] = k < rows[i].count;
      batch->ids[cell] = k < rows[i].count ? rows[i].ids[k] : pad;
      batch->type_ids[cell] = k < rows[i].count ? rows[i].type_ids[k] : 0;
    }
  return BURN_OK;
}

BurnStatus burn_text_tokenizer_encode_batch(const BurnTextTokenizer *tokenizer, const char *const *texts, size_t count,
                                            const BurnEncodeOptions *options, BurnEncodedBatch *batch) {
  BurnStatus status = BURN_REQUIRED(batch, "a BurnEncodedBatch");
  if (status == BURN_OK && count > 0) status = BURN_REQUIRED(texts, "a list of texts");
  for (size_t i = 0; i < count && status == BURN_OK; i++)
    status = BURN_REQUIRED_BY("text_tokenizer_encode_batch", texts[i], "a text");
  if (status != BURN_OK) return status;
  BurnEncoding *rows = calloc(count + 1, sizeof *rows);
  status = tokenizer != NULL ? BURN_OK : burn__no_tokenizer();
  *batch = (BurnEncodedBatch){NULL, NULL, NULL, count, 0};
  if (status == BURN_OK && rows == NULL)
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "tokenizer: no memory for %zu texts", count);
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    status = burn_text_tokenizer_encode(tokenizer, texts[i], strlen(texts[i]), options, &rows[i]);
    if (rows[i].count > batch->length) batch->length = rows[i].count;
  }
  if (status == BURN_OK) status = batch_fill(tokenizer, rows, batch);
  for (size_t i = 0; rows != NULL && i < count; i++) burn_encoding_release(&rows[i]);
  free(rows);
  if (status != BURN_OK) burn_encoded_batch_release(batch);
  return status;
}

void burn_encoded_batch_release(BurnEncodedBatch *batch) {
  if (!batch) return;
  free(batch->ids);
  free(batch->mask);
  free(batch->type_ids);
  *batch = (BurnEncodedBatch){NULL, NULL, NULL, 0, 0};
}
