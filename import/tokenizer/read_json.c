/* read_json.c - tokenizer.json of Hugging Face's tokenizers: its sections; steps are read_json_steps.c's. */
#include "read_json.h"

#include <stdlib.h>
#include <string.h>

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a tokenizer"); }

BurnStatus burn__json_unknown(const BurnJson *at, const char *what, const char *name) {
  return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "byte %llu: a %s of type \"%.40s\" is not known",
                          (unsigned long long)(at->offset + at->at), what, name);
}

/* A number of a token; one that no vocabulary can have is refused. */
static int64_t token_number(BurnJson *json) {
  const uint64_t id = burn__json_uint(json);
  if (id < TOKEN_LIMIT) return (int64_t)id;
  burn__json_expected(json, "a token's number, less than 2097152,");
  return 0;
}

/* -- added tokens ----------------------------------------------------------------------------- */

static BurnStatus read_added(BurnTextTokenizer *tokenizer, BurnJson *json) {
  static const char *const names[] = {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"};
  BurnJson found[7];
  burn__json_fields(json, names, 7, found);
  if (json->status != BURN_OK) return json->status;
  if (!burn__json_has(&found[0]) || !burn__json_has(&found[1])) {
    burn__json_expected(json, "an added token with id and content");
    return json->status;
  }
  const TokenAdded added = {.id = token_number(&found[0]),
                            .single_word = burn__json_bool(&found[2], false),
                            .takes_left = burn__json_bool(&found[3], false),
                            .takes_right = burn__json_bool(&found[4], false),
                            .is_normalized = burn__json_bool(&found[5], true),
                            .is_special = burn__json_bool(&found[6], false)};
  char *text = burn__json_text(&found[1]);
  BurnStatus status = found[0].status != BURN_OK ? found[0].status : found[1].status;
  if (status == BURN_OK) status = burn__tokenizer_add(tokenizer, added, text, strlen(text));
  free(text);
  return status;
}

static BurnStatus read_all_added(BurnTextTokenizer *tokenizer, BurnJson json) {
  bool is_first = true;
  BurnStatus status = BURN_OK;
  if (!burn__json_has(&json)) return BURN_OK;
  burn__json_take(&json, '[');
  while (status == BURN_OK && burn__json_more(&json, &is_first, ']')) status = read_added(tokenizer, &json);
  return status == BURN_OK ? json.status : status;
}

/* -- post-processors -------------------------------------------------------------------------- */

/* A pair of a text and a number, as BertProcessing has it: ["[SEP]", 102]. */
static int64_t read_pair_id(BurnJson json) {
  burn__json_take(&json, '[');
  burn__json_skip(&json);
  burn__json_take(&json, ',');
  const int64_t id = token_number(&json);
  return json.status == BURN_OK ? id : -1;
}

static BurnStatus read_bert(BurnTextTokenizer *tokenizer, const BurnJson *json, bool is_roberta) {
  const BurnJson sep = burn__json_field(json, "sep"), cls = burn__json_field(json, "cls");
  if (!burn__json_has(&sep) || !burn__json_has(&cls))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: a post-processor without sep and cls", json->at);
  const int64_t sep_id = read_pair_id(sep), cls_id = read_pair_id(cls);
  if (sep_id < 0 || cls_id < 0)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte %zu: sep and cls of a post-processor are [text, number]",
                            json->at);
  if (!is_roberta) return burn__template_bert(tokenizer, cls_id, sep_id) ? BURN_OK : no_memory();
  const BurnJson trims = burn__json_field(json, "trim_offsets"), prefix = burn__json_field(json, "add_prefix_space");
  const int64_t single[] = {cls_id, TEMPLATE_FIRST, sep_id};
  const int64_t pair[] = {cls_id, TEMPLATE_FIRST, sep_id, sep_id, TEMPLATE_SECOND, sep_id};
  bool made = true;
  for (size_t i = 0; i < 3; i++) made = made && burn__template_add(&tokenizer->single, single[i], 0);
  for (size_t i = 0; i < 6; i++) made = made && burn__template_add(&tokenizer->pair, pair[i], 0);
  tokenizer->trims_offsets = burn__json_bool(&trims, true);
  tokenizer->trims_with_prefix = burn__json_bool(&prefix, true);
  return made ? BURN_OK : no_memory();
}

/* A few items around a text, or two; a file may ask for any number of them, over and over. */
enum { MAX_ITEMS = 64 };

static BurnStatus add_item(TokenTemplate *items, int64_t id, int64_t type_id) {
  if (items->count == MAX_ITEMS)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "a template of more than %d tokens", MAX_ITEMS);
  for (size_t i = 0; i < items->count && id < 0; i++)
    if (items->items[i].id == id)
      return burn_status_make(BURN_STATUS_UNIMPLEMENTED, "a template with the same text twice");
  return burn__template_add(items, id, type_id) ? BURN_OK : no_memory();
}

/* The numbers of a special token of a template. */
static BurnStatus add_special(const BurnJson *specials, const char *name, int64_t type_id, TokenTemplate *items) {
  BurnJson special = burn__json_has(specials) ? burn__json_field(specials, name) : (BurnJson){.status = BURN_OK};
  BurnJson ids = burn__json_has(&special) ? burn__json_field(&special, "ids") : (BurnJson){.status = BURN_OK};
  bool is_first = true;
  if (!burn__json_has(&ids))
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "a template names \"%.40s\", which has no ids", name);
  BurnStatus status = BURN_OK;
  burn__json_take(&ids, '[');
  while (status == BURN_OK && burn__json_more(&ids, &is_first, ']')) {
    const int64_t id = token_number(&ids);
    status = ids.status == BURN_OK ? add_item(items, id, type_id) : ids.status;
  }
  return status == BURN_OK ? ids.status : status;
}

/* {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}} */
static BurnStatus read_item(BurnJson *json, const BurnJson *specials, TokenTemplate *items) {
  static const char *const kinds[] = {"SpecialToken", "Sequence"}, *const names[] = {"id", "type_id"};
  BurnJson kind[2], found[2];
  burn__json_fields(json, kinds, 2, kind);
  const bool is_special = burn__json_has(&kind[0]);
  if (json->status == BURN_OK && !is_special && !burn__json_has(&kind[1]))
    burn__json_expected(json, "SpecialToken or Sequence");
  if (json->status != BURN_OK) return json->status;
  burn__json_fields(&kind[is_special ? 0 : 1], names, 2, found);
  const BurnJsonName name = burn__json_name(&found[0]);
  const int64_t type_id = burn__json_has(&found[1]) ? token_number(&found[1]) : 0;
  if (found[1].status != BURN_OK) return found[1].status;
  if (is_special) return add_special(specials, name.text, type_id, items);
  const int64_t text = strcmp(name.text, "B") == 0 ? TEMPLATE_SECOND : TEMPLATE_FIRST;
  return add_item(items, text, type_id);
}

static BurnStatus read_template(BurnTextTokenizer *tokenizer, BurnJson *json) {
  static const char *const names[] = {"single", "pair", "special_tokens"};
  BurnJson found[3];
  burn__json_fields(json, names, 3, found);
  BurnStatus status = json->status;
  for (size_t i = 0; i < 2 && status == BURN_OK; i++) {
    TokenTemplate *items = i == 0 ? &tokenizer->single : &tokenizer->pair;
    bool is_first = true;
    free(items->items);
    *items = (TokenTemplate){NULL, 0};
    if (!burn__json_has(&found[i])) continue;
    burn__json_take(&found[i], '[');
    while (status == BURN_OK && burn__json_more(&found[i], &is_first, ']'))
      status = read_item(&found[i], &found[2], items);
    if (status == BURN_OK) status = found[i].status;
  }
  return status;
}

static BurnStatus read_processor(BurnTextTokenizer *tokenizer, BurnJson *json, int depth);

static BurnStatus read_processors(BurnTextTokenizer *tokenizer, const BurnJson *json, int depth) {
  BurnJson list = burn__json_field(json, "processors");
  bool is_first = true;
  BurnStatus status = BURN_OK;
  burn__json_take(&list, '[');
  while (status == BURN_OK && burn__json_more(&list, &is_first, ']'))
    status = read_processor(tokenizer, &list, depth + 1);
  return status == BURN_OK ? list.status : status;
}

static BurnStatus read_processor(BurnTextTokenizer *tokenizer, BurnJson *json, int depth) {
  const BurnJson start = *json;
  BurnJson type = burn__json_field(&start, "type"), copy = start;
  const BurnJsonName name = burn__json_name(&type);
  burn__json_skip(json);
  if (json->status != BURN_OK) return json->status;
  if (strcmp(name.text, "TemplateProcessing") == 0) return read_template(tokenizer, &copy);
  if (strcmp(name.text, "BertProcessing") == 0) return read_bert(tokenizer, &start, false);
  if (strcmp(name.text, "RobertaProcessing") == 0) return read_bert(tokenizer, &start, true);
  if (strcmp(name.text, "Sequence") == 0 && depth < 4) return read_processors(tokenizer, &start, depth);
  if (strcmp(name.text, "ByteLevel") != 0) return burn__json_unknown(&start, "post-processor", name.text);
  const BurnJson trims = burn__json_field(&start, "trim_offsets"),
                 prefix = burn__json_field(&start, "add_prefix_space");
  tokenizer->trims_offsets = burn__json_bool(&trims, true);
  tokenizer->trims_with_prefix = burn__json_bool(&prefix, true);
  return BURN_OK;
}

/* -- the whole -------------------------------------------------------------------------------- */

BurnStatus burn__tokenizer_read_json(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count) {
  enum { MODEL, ADDED, NORMALIZER, CUTTER, PROCESSOR, DECODER, PADDING, SECTIONS };
  static const char *const names[] = {"model",          "added_tokens", "normalizer", "pre_tokenizer",
                                      "post_processor", "decoder",      "padding"};
  BurnJson json = {.bytes = bytes, .end = count, .status = BURN_OK}, found[SECTIONS];
  burn__json_fields(&json, names, SECTIONS, found);
  if (json.status == BURN_OK && !burn__json_has(&found[MODEL]))
    burn__json_expected(&json, "a tokenizer.json, which has a model");
  if (json.status != BURN_OK) return json.status;
  BurnStatus status = burn__json_read_model(tokenizer, &found[MODEL]);
  if (status == BURN_OK) status = read_all_added(tokenizer, found[ADDED]);
  if (status == BURN_OK) status = burn__json_read_steps(&tokenizer->normalizers, &found[NORMALIZER], TOKEN_NORMALIZER);
  if (status == BURN_OK) status = burn__json_read_steps(&tokenizer->cuts, &found[CUTTER], TOKEN_CUTTER);
  if (status == BURN_OK) status = burn__json_read_steps(&tokenizer->decoders, &found[DECODER], TOKEN_DECODER);
  if (status == BURN_OK && burn__json_has(&found[PROCESSOR])) status = read_processor(tokenizer, &found[PROCESSOR], 0);
  tokenizer->joins_with_spaces = !burn__json_has(&found[DECODER]);
  if (status != BURN_OK || !burn__json_has(&found[PADDING])) return status;
  BurnJson pad = burn__json_field(&found[PADDING], "pad_id");
  if (burn__json_has(&pad)) tokenizer->pad_id = token_number(&pad);
  return pad.status;
}
