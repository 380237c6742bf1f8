/* tokenize_command.c - burn tokenize: texts as the tokens of a pretrained model's tokenizer, and back. */
#include "command.h"

#include <burn/text.h>
#include <burn/text_tokenizer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Tokenizing {
  const BurnTextTokenizer *tokenizer;
  BurnEncodeOptions options;
  bool decode, json, keep_special, count;
} Tokenizing;

static int fail(BurnStatus status) { return command_fail("tokenize", status); }

/* -- tokens of a text ------------------------------------------------------------------------- */

static void print_lines(const Tokenizing *with, const BurnEncoding *encoding) {
  for (size_t i = 0; i < encoding->count; i++) {
    size_t length = 0;
    const char *token = burn_text_tokenizer_token(with->tokenizer, encoding->ids[i], &length);
    char *shown = calloc(length + 1, 1);
    if (shown != NULL && token != NULL) memcpy(shown, token, length);
    printf("%7lld  %4zu-%-4zu  %s\n", (long long)encoding->ids[i], encoding->begins[i], encoding->ends[i],
           shown != NULL ? burn_text_clean(shown) : "");
    free(shown);
  }
}

static bool add_numbers(cJSON *tree, const char *name, const int64_t *numbers, const size_t *sizes, size_t count) {
  cJSON *array = cJSON_AddArrayToObject(tree, name);
  bool made = array != NULL;
  for (size_t i = 0; made && i < count; i++)
    made = cJSON_AddItemToArray(array, cJSON_CreateNumber(numbers != NULL ? (double)numbers[i] : (double)sizes[i]));
  return made;
}

/* One line per text. */
static bool print_json(const Tokenizing *with, const BurnEncoding *encoding) {
  cJSON *tree = cJSON_CreateObject();
  bool made = tree != NULL && add_numbers(tree, "ids", encoding->ids, NULL, encoding->count) &&
              add_numbers(tree, "type_ids", encoding->type_ids, NULL, encoding->count) &&
              add_numbers(tree, "begins", NULL, encoding->begins, encoding->count) &&
              add_numbers(tree, "ends", NULL, encoding->ends, encoding->count);
  cJSON *tokens = made ? cJSON_AddArrayToObject(tree, "tokens") : NULL;
  made = tokens != NULL;
  for (size_t i = 0; made && i < encoding->count; i++) {
    size_t length = 0;
    const char *token = burn_text_tokenizer_token(with->tokenizer, encoding->ids[i], &length);
    made = cJSON_AddItemToArray(tokens, cJSON_CreateString(token != NULL ? token : ""));
  }
  char *text = made ? cJSON_PrintUnformatted(tree) : NULL;
  if (text != NULL) puts(text);
  cJSON_free(text);
  cJSON_Delete(tree);
  return text != NULL;
}

static BurnStatus encode(const Tokenizing *with, const char *text, size_t length) {
  BurnEncoding encoding = {.count = 0};
  BurnStatus status = burn_text_tokenizer_encode(with->tokenizer, text, length, &with->options, &encoding);
  if (status == BURN_OK && with->count)
    printf("%zu\n", encoding.count);
  else if (status == BURN_OK && !with->json)
    print_lines(with, &encoding);
  if (status == BURN_OK && with->json && !with->count && !print_json(with, &encoding))
    status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for %zu tokens as JSON", encoding.count);
  burn_encoding_release(&encoding);
  return status;
}

/* -- the text of tokens ----------------------------------------------------------------------- */

/* Numbers with spaces, commas or brackets between them, as lists have them. */
static BurnStatus parse_ids(const char *text, size_t length, BurnTokenList *ids) {
  static const char between[] = " ,[]\t\r\n";
  BurnStatus status = BURN_OK;
  for (size_t at = 0; at < length && status == BURN_OK;) {
    const size_t begin = at;
    int64_t id = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9' && id <= INT32_MAX; at++) id = 10 * id + (text[at] - '0');
    const bool ends = at == length || (text[at] != '\0' && strchr(between, text[at]));
    if (!ends || id > INT32_MAX) {
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                              "byte %zu: a number of a token is expected, 0 to %d, with spaces or commas between them",
                              begin, INT32_MAX);
    }
    if (at > begin) status = burn_token_list_add(ids, id);
    at += at < length;
  }
  return status;
}

static BurnStatus decode(const Tokenizing *with, const char *numbers, size_t count) {
  BurnTokenList ids = {NULL, 0, 0};
  char *text = NULL;
  size_t length = 0;
  BurnStatus status = parse_ids(numbers, count, &ids);
  if (status == BURN_OK)
    status = burn_text_tokenizer_decode(with->tokenizer, ids.ids, ids.count, !with->keep_special, &text, &length);
  cJSON *line = status == BURN_OK && with->json ? cJSON_CreateString(text) : NULL;
  char *quoted = line != NULL ? cJSON_PrintUnformatted(line) : NULL;
  if (status == BURN_OK) puts(quoted != NULL ? quoted : text);
  cJSON_free(quoted);
  cJSON_Delete(line);
  free(text);
  burn_token_list_release(&ids);
  return status;
}

/* -- texts ------------------------------------------------------------------------------------ */

static BurnStatus one(const Tokenizing *with, const char *text, size_t length) {
  return with->decode ? decode(with, text, length) : encode(with, text, length);
}

/* A character more; false for want of memory. */
static bool append(char **text, size_t *length, size_t *room, int byte) {
  if (*length == *room) {
    const size_t more = *room > 0 ? 2 * *room : 4096;
    char *grown = realloc(*text, more);
    if (grown == NULL) return false;
    *text = grown;
    *room = more;
  }
  (*text)[(*length)++] = (char)byte;
  return true;
}

/* Texts of standard input, each up to `end`. */
static BurnStatus all_of_input(const Tokenizing *with, int end) {
  char *text = NULL;
  size_t length = 0, room = 0;
  bool made = true, any = false;
  BurnStatus status = BURN_OK;
  for (int byte = getchar(); byte != EOF && made && status == BURN_OK; byte = getchar()) {
    any = byte != end;
    if (any) {
      made = append(&text, &length, &room, byte);
    } else {
      status = one(with, text != NULL ? text : "", length);
      length = 0;
    }
  }
  if (any && made && status == BURN_OK) status = one(with, text, length);
  if (status == BURN_OK && ferror(stdin))
    status = burn_status_make(BURN_STATUS_IO, "standard input cannot be read to its end");
  free(text);
  return made ? status : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a text of %zu bytes", length);
}

int command_tokenize(int argc, char **argv) {
  static const char usage[] =
      "usage: burn tokenize FILE [TEXT] [options]\n\n"
      "Shows the tokens of a text by the tokenizer of a pretrained model: tokenizer.json, .model of SentencePiece, "
      "GGUF,\n"
      "or vocab.txt: number, bytes of the text, token. Without TEXT, of every line of standard input.";
  const char *positions[2] = {NULL, NULL}, *pair = NULL;
  size_t max_length = 0;
  bool no_special = false, is_zero = false;
  Tokenizing with = {.decode = false};
  const Argument arguments[] = {
      {"pair", ARGUMENT_TEXT, &pair, "TEXT", "a second text after the first"},
      {"max-length", ARGUMENT_SIZE, &max_length, "N", "at most so many tokens"},
      {"no-special", ARGUMENT_FLAG, &no_special, NULL, "without the tokens that the format adds"},
      {"decode", ARGUMENT_FLAG, &with.decode, NULL, "TEXT is numbers of tokens: show their text"},
      {"keep-special", ARGUMENT_FLAG, &with.keep_special, NULL, "decode: with special tokens"},
      {"count", ARGUMENT_FLAG, &with.count, NULL, "only how many tokens there are"},
      {"zero", ARGUMENT_FLAG, &is_zero, NULL, "texts of standard input end with a zero byte, not with a line"},
      {"json", ARGUMENT_FLAG, &with.json, NULL, "a line of JSON per text"}};
  BurnStatus status = BURN_OK;
  int outcome;
  if (!command_parse(argc, argv, usage, arguments, sizeof arguments / sizeof *arguments, positions, 2, &outcome))
    return outcome;
  if (positions[0] == NULL) {
    fprintf(stderr, "burn tokenize: it is 'tokenize FILE [TEXT]'; 'burn tokenize --help' tells more\n");
    return COMMAND_USAGE;
  }
  BurnTextTokenizer *tokenizer = burn_text_tokenizer_open(positions[0], &status);
  if (tokenizer == NULL) return fail(status);
  with.tokenizer = tokenizer;
  with.options = (BurnEncodeOptions){
      .no_special = no_special, .pair = pair, .pair_length = pair != NULL ? strlen(pair) : 0, .max_length = max_length};
  status = positions[1] != NULL ? one(&with, positions[1], strlen(positions[1]))
                                : all_of_input(&with, is_zero ? '\0' : '\n');
  burn_text_tokenizer_destroy(tokenizer);
  return status == BURN_OK ? COMMAND_OK : fail(status);
}
