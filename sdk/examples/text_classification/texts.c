/* texts.c - see texts.h. */
#include "texts.h"

#include <burn/file.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* -- a file ---------------------------------------------------------------- */

enum { TEXT_BYTES = 1 << 16, MAX_TEXTS = 1 << 24 };

/* Where a reader is. */
typedef struct Reader {
  gzFile file;
  const char *path;
  size_t line, class_count, capacity;
  int next; /* a character read ahead; -1 at the end */
} Reader;

static BurnStatus wrong(const Reader *reader, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "%s:%zu: %s", reader->path,
                          reader->line, what);
}

static void step(Reader *reader) {
  if (reader->next == '\n') reader->line++;
  reader->next = gzgetc(reader->file);
}

/* One field in quotes, where two quotes are one, after what is in `text`. */
static BurnStatus read_field(Reader *reader, char *text, size_t *length) {
  if (reader->next != '"') return wrong(reader, "a field in quotes expected");
  for (step(reader);; step(reader)) {
    if (reader->next == '"') {
      step(reader);
      if (reader->next != '"') break;
    }
    if (reader->next < 0) return wrong(reader, "the file ends in a field");
    if (*length == TEXT_BYTES - 1) return wrong(reader, "a text is too long");
    if (reader->next) text[(*length)++] = (char)reader->next;
  }
  text[*length] = '\0';
  return BURN_OK;
}

static BurnStatus keep(Reader *reader, Texts *texts, int64_t class,
                       const char *text, size_t length) {
  if (texts->count == reader->capacity) {
    const size_t more = reader->capacity ? 2 * reader->capacity : 1024;
    char **lines = realloc(texts->texts, more * sizeof *lines);
    if (lines) texts->texts = lines;
    int64_t *classes = realloc(texts->classes, more * sizeof *classes);
    if (classes) texts->classes = classes;
    if (!lines || !classes || more > MAX_TEXTS) {
      return burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                              "%s: no memory for %zu texts", reader->path,
                              more);
    }
    reader->capacity = more;
  }
  char *copy = malloc(length + 1);
  if (!copy) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  memcpy(copy, text, length + 1);
  texts->texts[texts->count] = copy;
  texts->classes[texts->count++] = class;
  return BURN_OK;
}

static BurnStatus read_class(Reader *reader, char *text, int64_t *class) {
  size_t length = 0;
  char *end = NULL;
  const BurnStatus status = read_field(reader, text, &length);
  if (status != BURN_OK) return status;
  const unsigned long number = strtoul(text, &end, 10);
  if (length == 0 || *end || number < 1 || number > reader->class_count) {
    return burn_status_make(
        BURN_STATUS_CORRUPT_DATA, "%s:%zu: class '%.20s' is not within 1..%zu",
        reader->path, reader->line, text, reader->class_count);
  }
  *class = (int64_t)number - 1;
  return BURN_OK;
}

static BurnStatus read_row(Reader *reader, Texts *texts, char *text) {
  int64_t class = 0;
  size_t length = 0;
  BurnStatus status = read_class(reader, text, &class);
  if (status == BURN_OK && reader->next != ',') {
    status = wrong(reader, "a text after the class expected");
  }
  while (status == BURN_OK && reader->next == ',') {
    step(reader);
    if (length > 0 && length < TEXT_BYTES - 1) text[length++] = ' ';
    status = read_field(reader, text, &length);
  }
  if (status != BURN_OK) return status;
  if (reader->next == '\r') step(reader);
  if (reader->next != '\n' && reader->next >= 0) {
    return wrong(reader, "the end of the line expected");
  }
  step(reader);
  return keep(reader, texts, class, text, length);
}

BurnStatus texts_read(const char *path, size_t class_count, Texts *texts) {
  Reader reader = {.path = path, .line = 1, .class_count = class_count};
  *texts = (Texts){.count = 0};
  errno = 0;
  reader.file = gzopen(path, "rb");
  if (!reader.file) {
    return burn_status_make(BURN_STATUS_IO, "%s: cannot open: %s", path,
                            strerror(errno));
  }
  char *text = malloc(TEXT_BYTES);
  BurnStatus status =
      text ? BURN_OK : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  reader.next = gzgetc(reader.file);
  while (status == BURN_OK && reader.next >= 0) {
    status = read_row(&reader, texts, text);
  }
  int error = Z_OK;
  const char *reason = gzerror(reader.file, &error);
  if (status == BURN_OK && error != Z_OK && error != Z_STREAM_END) {
    status = wrong(&reader, reason);
  }
  if (status == BURN_OK && texts->count == 0) {
    status = wrong(&reader, "there is no text");
  }
  (void)gzclose(reader.file);
  free(text);
  return status;
}

void texts_release(Texts *texts) {
  for (size_t i = 0; i < texts->count; i++) free(texts->texts[i]);
  free(texts->texts);
  free(texts->classes);
  *texts = (Texts){.count = 0};
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

Vocabulary *vocabulary_make(const Texts *texts, size_t limit) {
  Vocabulary *v = vocabulary_new(1 << 12);
  bool sound = v != NULL;
  char word[WORD_BYTES];
  for (size_t i = 0; i < texts->count && sound; i++) {
    for (const char *at = texts->texts[i]; sound && next_word(&at, word);) {
      Word *place = place_of(v, word);
      sound = place != NULL;
      if (sound) place->count++;
    }
  }
  if (sound && number_words(v, limit)) return v;
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

BurnDataset *texts_dataset(const Texts *texts, size_t first, size_t end,
                           const Vocabulary *vocabulary, size_t length,
                           BurnStatus *status) {
  const BurnColumn columns[] = {
      {"words", BURN_DTYPE_I64, BURN_SHAPE((int64_t)length)},
      {"class", BURN_DTYPE_I64, {0, {0}}}};
  if (*status != BURN_OK) return NULL;
  const size_t count = end - first;
  int64_t *words = malloc((count * length + 1) * sizeof *words);
  if (!words) {
    *status = burn_status_make(BURN_STATUS_OUT_OF_MEMORY,
                               "no memory for %zu texts", count);
    return NULL;
  }
  for (size_t i = 0; i < count; i++) {
    words_of(vocabulary, texts->texts[first + i], length, words + i * length);
  }
  const void *const data[] = {words, texts->classes + first};
  BurnDataset *dataset = burn_dataset_memory(columns, 2, data, count, status);
  free(words);
  return dataset;
}
