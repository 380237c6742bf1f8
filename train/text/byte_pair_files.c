/* byte_pair_files.c - vocab.json and merges.txt of a tokenizer of pairs: an object of tokens and numbers; after a line
 * with a version a merge per line, its parts apart by a space. Bytes are written as characters (burn__byte_character).
 */
#include "byte_pair.h"
#include "lines.h"
#include "path_check.h"
#include "status_chain.h"
#include "text_builder.h"

#include <burn/file.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 28, MAX_TOKENS = 1 << 22 };

/* Tokens by their texts, sorted, while files are read. */
typedef struct Entry {
  const char *text;
  int32_t id;
} Entry;

typedef struct Files {
  const char *vocab_path, *merges_path;
  cJSON *vocabulary;
  Entry *by_text; /* [count] */
  const char **by_id;
  size_t count;
  BurnBytePairs *pairs;
} Files;

static BurnStatus no_memory(void) { return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "byte_pair: out of memory"); }

static BurnStatus paths_check(const char *vocab_path, const char *merges_path) {
  const BurnStatus status = burn__path_check("byte_pair", vocab_path);
  return status == BURN_OK ? burn__path_check("byte_pair", merges_path) : status;
}

/* -- vocab.json ------------------------------------------------------------------------------- */

static BurnStatus vocabulary_corrupt(const Files *files, const char *what, const char *text) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte_pair: %s: token \"%.60s\" %s", files->vocab_path, text, what);
}

static int by_text(const void *a, const void *b) { return strcmp(((const Entry *)a)->text, ((const Entry *)b)->text); }

static BurnStatus vocabulary_parse(Files *files) {
  uint8_t *bytes = NULL;
  size_t count = 0;
  const BurnStatus status = burn_file_read(files->vocab_path, FILE_LIMIT, &bytes, &count);
  if (status != BURN_OK) return burn_status_annotate(status, "byte_pair: %s", files->vocab_path);
  const bool text = memchr(bytes, '\0', count) == NULL;
  const char *end = NULL;
  files->vocabulary = text ? cJSON_ParseWithOpts((const char *)bytes, &end, true) : NULL;
  const size_t at = end != NULL ? (size_t)(end - (const char *)bytes) : 0;
  free(bytes);
  if (files->vocabulary != NULL && cJSON_IsObject(files->vocabulary)) return BURN_OK;
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte_pair: %s: no JSON object, up to byte %zu", files->vocab_path,
                          at);
}

/* The texts by their numbers, which are 0 .. count-1, each once. */
static BurnStatus numbers_place(Files *files) {
  const cJSON *first = files->vocabulary != NULL ? files->vocabulary->child : NULL;
  for (const cJSON *item = first; item != NULL; item = item->next) files->count++;
  if (files->count < 1 || files->count > MAX_TOKENS)
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte_pair: %s: %zu tokens, 1 to %d expected", files->vocab_path,
                            files->count, MAX_TOKENS);
  files->by_text = calloc(files->count, sizeof *files->by_text);
  files->by_id = calloc(files->count, sizeof *files->by_id);
  if (files->by_text == NULL || files->by_id == NULL) return no_memory();
  size_t at = 0;
  for (const cJSON *item = first; item != NULL; item = item->next, at++) {
    const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(number >= 0 && number < (double)files->count) || number != (double)(int32_t)number)
      return vocabulary_corrupt(files, "has a number that is none below the count of tokens", item->string);
    const int32_t id = (int32_t)number;
    if (files->by_id[id] != NULL) return vocabulary_corrupt(files, "has the number of another one", item->string);
    files->by_id[id] = item->string;
    files->by_text[at] = (Entry){item->string, id};
  }
  qsort(files->by_text, files->count, sizeof *files->by_text, by_text);
  for (size_t i = 1; i < files->count; i++)
    if (strcmp(files->by_text[i - 1].text, files->by_text[i].text) == 0)
      return vocabulary_corrupt(files, "is there twice", files->by_text[i].text);
  return BURN_OK;
}

static int32_t id_of(const Files *files, const char *text) {
  const Entry wanted = {text, 0};
  const Entry *found = bsearch(&wanted, files->by_text, files->count, sizeof *files->by_text, by_text);
  return found != NULL ? found->id : -1;
}

/* The bytes that a text of characters stands for, in place; false if there is one that stands for none. */
static bool bytes_of(const char *text, const int16_t *byte_of, char *out, size_t *length) {
  const size_t count = strlen(text);
  *length = 0;
  for (size_t at = 0, size = 0; at < count; at += size) {
    uint32_t code = 0;
    size = burn__character(text + at, count - at, &code);
    if (size == 0 || code >= 512 || byte_of[code] < 0) return false;
    out[(*length)++] = (char)(uint8_t)byte_of[code];
  }
  return true;
}

static bool is_special(const BurnSpecialTokens *specials, const char *text) {
  for (size_t i = 0; specials != NULL && i < specials->count; i++)
    if (strcmp(specials->texts[i], text) == 0) return true;
  return false;
}

/* A token that is not a special, or is not written in these characters, is its text. */
static BurnStatus tokens_make(Files *files, const BurnSpecialTokens *specials) {
  int16_t byte_of[512];
  BurnStatus status = BURN_OK;
  for (uint32_t code = 0; code < 512; code++) byte_of[code] = (int16_t)burn__character_byte(code);
  for (size_t id = 0; status == BURN_OK && id < files->count; id++) {
    const char *text = files->by_id[id];
    size_t length = strlen(text);
    char *bytes = malloc(length + 1);
    if (bytes == NULL) return no_memory();
    if (is_special(specials, text) || !bytes_of(text, byte_of, bytes, &length)) {
      length = strlen(text);
      memcpy(bytes, text, length);
    } else if (length == 1) {
      files->pairs->of_byte[(uint8_t)bytes[0]] = (int32_t)id;
    }
    if (!burn__byte_pairs_token(files->pairs, bytes, length)) status = no_memory();
    free(bytes);
  }
  return status;
}

static BurnStatus specials_place(Files *files, const BurnSpecialTokens *specials) {
  int32_t ids[BURN_MAX_SPECIALS];
  const size_t count = specials != NULL ? specials->count : 0;
  for (size_t i = 0; i < count; i++) {
    ids[i] = id_of(files, specials->texts[i]);
    if (ids[i] < 0 || specials->texts[i][0] == '\0')
      return burn_status_make(BURN_STATUS_NOT_FOUND, "byte_pair: %s: there is no special token \"%.60s\"",
                              files->vocab_path, specials->texts[i]);
  }
  return burn__byte_pairs_specials(files->pairs, ids, count) ? BURN_OK : no_memory();
}

/* -- merges.txt ------------------------------------------------------------------------------- */

static BurnStatus line_corrupt(const BurnLines *lines, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "byte_pair: %s: line %zu: %s", lines->path, lines->number, what);
}

/* "left right": both are tokens, and so is what they become. */
static BurnStatus merge_read(Files *files, BurnLines *lines) {
  char *space = strchr(lines->line, ' ');
  if (strlen(lines->line) != lines->length || space == NULL || space == lines->line || space[1] == '\0' ||
      strchr(space + 1, ' ') != NULL)
    return line_corrupt(lines, "no two tokens with a space between them");
  *space = '\0';
  BurnMerge merge = {id_of(files, lines->line), id_of(files, space + 1), -1};
  memmove(space, space + 1, strlen(space + 1) + 1);
  merge.merged = id_of(files, lines->line);
  if (merge.left < 0 || merge.right < 0 || merge.merged < 0)
    return line_corrupt(lines, "a token that is not in the vocabulary");
  if (burn__pair_find(&files->pairs->ranks, burn__pair_key(merge.left, merge.right)) != NULL)
    return line_corrupt(lines, "a merge that was there before");
  return burn__byte_pairs_merge(files->pairs, merge) ? BURN_OK : no_memory();
}

static BurnStatus merges_read(Files *files) {
  BurnLines lines = {.reader = "byte_pair", .path = files->merges_path};
  bool any = true;
  BurnStatus status = burn__lines_open(&lines);
  while (status == BURN_OK) {
    status = burn__lines_next(&lines, &any);
    if (status != BURN_OK || !any) break;
    if (lines.length > 0 && lines.line[lines.length - 1] == '\r') lines.line[--lines.length] = '\0';
    const bool version = lines.number == 1 && strncmp(lines.line, "#version", 8) == 0;
    if (!version && lines.length > 0) status = merge_read(files, &lines);
  }
  burn__lines_close(&lines);
  return status;
}

BurnTokenizer *burn_tokenizer_byte_pair_read(const char *vocab_path, const char *merges_path,
                                             const BurnSpecialTokens *specials, BurnStatus *status) {
  if (burn__entry_status(status) != BURN_OK) return NULL;
  Files files = {.vocab_path = vocab_path, .merges_path = merges_path, .pairs = burn__byte_pairs_create()};
  BurnStatus result = files.pairs != NULL ? paths_check(vocab_path, merges_path) : no_memory();
  if (result == BURN_OK && specials != NULL) result = burn__specials_check(specials);
  if (result == BURN_OK) result = vocabulary_parse(&files);
  if (result == BURN_OK) result = numbers_place(&files);
  if (result == BURN_OK) result = tokens_make(&files, specials);
  if (result == BURN_OK) result = specials_place(&files, specials);
  if (result == BURN_OK) result = merges_read(&files);
  cJSON_Delete(files.vocabulary);
  free(files.by_text);
  free(files.by_id);
  if (result == BURN_OK) return burn__byte_pairs_tokenizer(files.pairs, status);
  burn__byte_pairs_destroy(files.pairs);
  return burn__tokenizer_refused(status, result);
}

/* -- writing ---------------------------------------------------------------------------------- */

/* A token's bytes as characters, after the text. */
static void characters_add(BurnTextBuilder *text, const BurnPiece *piece) {
  for (size_t i = 0; i < piece->length; i++) {
    const uint32_t code = burn__byte_character((uint8_t)piece->bytes[i]);
    const char one = (char)code, two[] = {(char)(0xc0 | code >> 6), (char)(0x80 | (code & 0x3f))};
    if (code < 0x80)
      burn__text_add_bytes(text, &one, 1);
    else
      burn__text_add_bytes(text, two, sizeof two);
  }
}

static bool is_special_id(const BurnBytePairs *pairs, size_t id) {
  for (size_t i = 0; i < pairs->special_count; i++)
    if ((size_t)pairs->specials[i] == id) return true;
  return false;
}

/* Takes the text. */
static BurnStatus text_write(BurnTextBuilder *text, const char *path) {
  const BurnStatus status = text->failed ? no_memory() : burn_file_write(path, text->text, text->length);
  burn__text_release(text);
  return burn_status_annotate(status, "byte_pair: %s", path);
}

/* A special is its text, another token its bytes as characters. */
static BurnStatus vocabulary_write(const BurnBytePairs *pairs, const char *path) {
  BurnTextBuilder text = BURN_TEXT_BUILDER, token = BURN_TEXT_BUILDER;
  burn__text_add(&text, "{");
  for (size_t id = 0; id < pairs->token_count; id++) {
    const BurnPiece *piece = &pairs->tokens[id];
    token.length = 0;
    if (is_special_id(pairs, id))
      burn__text_add_bytes(&token, piece->bytes, piece->length);
    else
      characters_add(&token, piece);
    if (id > 0) burn__text_add(&text, ",");
    burn__text_add_json(&text, token.text, token.length);
    burn__text_addf(&text, ":%zu", id);
  }
  burn__text_add(&text, "}");
  text.failed = text.failed || token.failed;
  burn__text_release(&token);
  return text_write(&text, path);
}

static BurnStatus merges_write(const BurnBytePairs *pairs, const char *path) {
  BurnTextBuilder text = BURN_TEXT_BUILDER;
  burn__text_add(&text, "#version: 0.2\n");
  for (size_t i = 0; i < pairs->merge_count; i++) {
    characters_add(&text, &pairs->tokens[pairs->merges[i].left]);
    burn__text_add(&text, " ");
    characters_add(&text, &pairs->tokens[pairs->merges[i].right]);
    burn__text_add(&text, "\n");
  }
  return text_write(&text, path);
}

BurnStatus burn_tokenizer_byte_pair_write(const BurnTokenizer *tokenizer, const char *vocab_path,
                                          const char *merges_path) {
  const BurnBytePairs *pairs = burn__byte_pairs_of(tokenizer);
  if (pairs == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: another kind of tokenizer");
  BurnStatus status = paths_check(vocab_path, merges_path);
  if (status == BURN_OK) status = vocabulary_write(pairs, vocab_path);
  return status == BURN_OK ? merges_write(pairs, merges_path) : status;
}
