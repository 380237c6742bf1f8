/* texts.c - see texts.h. */
#include "texts.h"

#include <burn/file.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- a file ---------------------------------------------------------------- */

/* So many bytes of each are read: more than 512 words have. */
enum { TEXT_BYTES = 4096, BOTH_BYTES = 2 * TEXT_BYTES + 2 };

/* An item of the file, and what reads it. */
typedef struct Item {
  int64_t class;
  char text[TEXT_BYTES], more[TEXT_BYTES]; /* with zeros at the end */
} Item;

static BurnStatus item_get(const BurnDataset *texts, size_t index, Item *item) {
  void *const columns[] = {&item->class, item->text, item->more};
  item->more[0] = '\0';
  return burn_dataset_get(texts, index, columns);
}

/* Both, with a blank between them. */
static void join(const char *text, const char *more, char both[BOTH_BYTES]) {
  snprintf(both, BOTH_BYTES, "%.*s %.*s", (int)TEXT_BYTES, text,
           (int)TEXT_BYTES, more);
}

static BurnStatus check_classes(const char *path, const BurnDataset *texts,
                                size_t class_count) {
  const size_t count = burn_dataset_count(texts);
  BurnStatus status = BURN_OK;
  Item item;
  if (count == 0) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s: there is no text",
                            path);
  }
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    status = item_get(texts, i, &item);
    if (status != BURN_OK) break;
    if (item.class >= 1 && item.class <= (int64_t)class_count) continue;
    status = burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "%s: text %zu: class %lld is not within 1..%zu",
                              path, i + 1, (long long)item.class, class_count);
  }
  return status;
}

/* Rows have two texts, or one; the first row tells. */
static BurnDataset *read_rows(const char *path, BurnStatus *status) {
  const BurnColumn columns[] = {
      {"class", BURN_DTYPE_I64, {0, {0}}},
      {"text", BURN_DTYPE_U8, BURN_SHAPE(TEXT_BYTES)},
      {"more", BURN_DTYPE_U8, BURN_SHAPE(TEXT_BYTES)}};
  const BurnCsvConfig csv = {.no_header = true, .cut_texts = true};
  BurnStatus read = BURN_OK;
  BurnDataset *texts = burn_dataset_csv(path, columns, 3, &csv, &read);
  if (burn_status_code(read) != BURN_STATUS_INVALID_SHAPE) {
    *status = read;
    return texts;
  }
  return burn_dataset_csv(path, columns, 2, &csv, status);
}

BurnDataset *texts_read(const char *path, size_t class_count,
                        BurnStatus *status) {
  if (*status != BURN_OK) return NULL;
  BurnDataset *texts = read_rows(path, status);
  if (!texts) return NULL;
  *status = check_classes(path, texts, class_count);
  if (*status == BURN_OK) return texts;
  burn_dataset_drop(texts);
  return NULL;
}

/* -- words ----------------------------------------------------------------- */

enum { WORD_BYTES = 32 };

typedef struct Word {
  char text[WORD_BYTES]; /* "": a free place */
  size_t count, first;   /* how often, and its place among all words */
  int64_t number;
} Word;

/* A hash table with open addressing, never more than half full. */
struct Vocabulary {
  Word *words; /* [size], a power of 2 */
  size_t size, used;
  size_t count; /* numbers, with those that stand for no word */
};

static size_t hash_of(const char *text) { /* FNV-1a */
  uint64_t hash = 14695981039346656037u;
  for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 1099511628211u;
  return (size_t)hash;
}

static Word *find(const Vocabulary *v, const char *text) {
  size_t at = hash_of(text) & (v->size - 1);
  while (v->words[at].text[0] && strcmp(v->words[at].text, text) != 0) {
    at = (at + 1) & (v->size - 1);
  }
  return &v->words[at];
}

static Vocabulary *vocabulary_new(size_t size) {
  Vocabulary *v = calloc(1, sizeof *v);
  Word *words = calloc(size, sizeof *words);
  if (!v || !words) {
    free(v);
    free(words);
    return NULL;
  }
  *v = (Vocabulary){.words = words, .size = size, .count = WORD_FIRST};
  return v;
}

static bool grow(Vocabulary *v) {
  Vocabulary larger = {.size = 2 * v->size, .used = v->used, .count = v->count};
  larger.words = calloc(larger.size, sizeof *larger.words);
  if (!larger.words) return false;
  for (size_t i = 0; i < v->size; i++) {
    if (v->words[i].text[0]) *find(&larger, v->words[i].text) = v->words[i];
  }
  free(v->words);
  *v = larger;
  return true;
}

/* The place of a word, made if missing; NULL when out of memory. */
static Word *place_of(Vocabulary *v, const char *text) {
  if (2 * (v->used + 1) > v->size && !grow(v)) return NULL;
  Word *word = find(v, text);
  if (word->text[0]) return word;
  *word = (Word){.first = v->used++, .number = WORD_UNKNOWN};
  memcpy(word->text, text, strlen(text) + 1);
  return word;
}

/* The next word at *text, cut where it is too long; false if there is none. */
static bool next_word(const char **text, char word[WORD_BYTES]) {
  size_t length = 0;
  while (**text && !isalnum((unsigned char)**text)) (*text)++;
  for (; isalnum((unsigned char)**text); (*text)++) {
    if (length == WORD_BYTES - 1) continue;
    word[length++] = (char)tolower((unsigned char)**text);
  }
  word[length] = '\0';
  return length > 0;
}

/* Frequent words first, of equal ones that which came first. */
static int by_count(const void *a, const void *b) {
  const Word *x = *(Word *const *)a, *y = *(Word *const *)b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* Numbers for the most frequent ones. */
static bool number_words(Vocabulary *v, size_t limit) {
  Word **order = malloc((v->used + 1) * sizeof *order);
  size_t found = 0;
  if (!order) return false;
  for (size_t i = 0; i < v->size; i++) {
    if (v->words[i].text[0]) order[found++] = &v->words[i];
  }
  qsort(order, found, sizeof *order, by_count);
  for (size_t i = 0; i < found && v->count < limit && order[i]->count > 1;
       i++) {
    order[i]->number = (int64_t)v->count++;
  }
  free(order);
  return true;
}

/* Counts the words of a text; false when out of memory. */
static bool count_words(Vocabulary *v, const char *text) {
  char word[WORD_BYTES];
  while (next_word(&text, word)) {
    Word *place = place_of(v, word);
    if (!place) return false;
    place->count++;
  }
  return true;
}

Vocabulary *vocabulary_make(const BurnDataset *texts, size_t limit,
                            BurnStatus *status) {
  if (*status != BURN_OK) return NULL;
  Vocabulary *v = vocabulary_new(1 << 12);
  bool sound = v != NULL;
  Item item;
  char both[BOTH_BYTES];
  for (size_t i = 0; i < burn_dataset_count(texts) && sound; i++) {
    *status = item_get(texts, i, &item);
    if (*status != BURN_OK) break;
    join(item.text, item.more, both);
    sound = count_words(v, both);
  }
  if (*status == BURN_OK && !(sound && number_words(v, limit))) {
    *status =
        burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for the words");
  }
  if (*status == BURN_OK) return v;
  vocabulary_destroy(v);
  return NULL;
}

BurnStatus vocabulary_save(const Vocabulary *v, const char *path) {
  const char **lines = calloc(v->count, sizeof *lines);
  FILE *file = lines ? fopen(path, "wb") : NULL;
  bool written = file != NULL;
  for (size_t i = 0; lines && i < v->size; i++) {
    const Word *word = &v->words[i];
    if (word->text[0] && word->number >= WORD_FIRST) {
      lines[word->number] = word->text;
    }
  }
  for (size_t i = WORD_FIRST; i < v->count && written; i++) {
    written = fprintf(file, "%s\n", lines[i]) > 0;
  }
  if (file && fclose(file) != 0) written = false;
  free((void *)lines);
  if (written) return BURN_OK;
  return burn_status_make(BURN_STATUS_IO, "%s: cannot write", path);
}

static BurnStatus read_words(Vocabulary *v, const char *text,
                             const char *path) {
  char word[WORD_BYTES];
  for (size_t line = 1; *text; line++) {
    const size_t length = strcspn(text, "\n");
    const char *at = text;
    if (!next_word(&at, word) || at != text + length || length >= WORD_BYTES ||
        find(v, word)->text[0]) {
      return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                              "%s:%zu: one word that is new expected", path,
                              line);
    }
    Word *place = place_of(v, word);
    if (!place) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
    place->number = (int64_t)v->count++;
    text += length + (text[length] == '\n');
  }
  return BURN_OK;
}

Vocabulary *vocabulary_load(const char *path, BurnStatus *status) {
  uint8_t *text = NULL;
  size_t bytes = 0;
  *status = burn_status_annotate(burn_file_read(path, 1 << 26, &text, &bytes),
                                 "%s", path);
  if (*status != BURN_OK) return NULL;
  Vocabulary *v = vocabulary_new(1 << 12);
  if (!v) *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  if (v) *status = read_words(v, (const char *)text, path);
  free(text);
  if (*status == BURN_OK) return v;
  vocabulary_destroy(v);
  return NULL;
}

size_t vocabulary_count(const Vocabulary *v) { return v->count; }

void vocabulary_destroy(Vocabulary *v) {
  if (v) free(v->words);
  free(v);
}

void words_of(const Vocabulary *v, const char *text, size_t length,
              int64_t *words) {
  char word[WORD_BYTES];
  size_t found = 0;
  while (found < length && next_word(&text, word)) {
    const Word *known = find(v, word);
    words[found++] = known->text[0] ? known->number : WORD_UNKNOWN;
  }
  while (found < length) words[found++] = WORD_PAD;
}

/* -- texts as numbers ------------------------------------------------------ */

typedef struct Numbering {
  const Vocabulary *vocabulary;
  size_t length;
  bool has_more; /* a second text */
} Numbering;

static BurnStatus number_item(void *context, const void *const *in,
                              void *const *out) {
  const Numbering *numbering = context;
  char both[BOTH_BYTES];
  join(in[1], numbering->has_more ? in[2] : "", both);
  words_of(numbering->vocabulary, both, numbering->length, out[0]);
  *(int64_t *)out[1] = *(const int64_t *)in[0] - 1;
  return BURN_OK;
}

BurnDataset *texts_words(BurnDataset *texts, const Vocabulary *vocabulary,
                         size_t length, BurnStatus *status) {
  const BurnColumn columns[] = {
      {"words", BURN_DTYPE_I64, BURN_SHAPE((int64_t)length)},
      {"class", BURN_DTYPE_I64, {0, {0}}}};
  if (!texts) return NULL; /* for a reason that is in *status */
  Numbering *numbering = malloc(sizeof *numbering);
  if (!numbering) {
    burn_dataset_drop(texts);
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
    return NULL;
  }
  *numbering =
      (Numbering){vocabulary, length, burn_dataset_column_count(texts) == 3};
  const BurnMapInterface map = {.column_count = 2,
                                .columns = columns,
                                .map = number_item,
                                .destroy = free,
                                .context = numbering};
  return burn_dataset_map(texts, &map, status);
}
