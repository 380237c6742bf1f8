/* texts.h - labelled texts of a CSV file, and their words as numbers. */
#ifndef TEXT_CLASSIFICATION_TEXTS_H
#define TEXT_CLASSIFICATION_TEXTS_H

#include <burn/train.h>

/* Texts and their classes, from 0. */
typedef struct Texts {
  size_t count;
  char **texts; /* [count] */
  int64_t *classes;
} Texts;

/* A file as AG News has them, plain or with gzip: "class","title","text", with
 * any number of texts, which are joined by blanks; classes from 1. What is
 * wrong is told with file and line. The caller ends them, also on failure. */
BurnStatus texts_read(const char *path, size_t class_count, Texts *texts);
void texts_release(Texts *texts);

/* Numbers that stand for no word. */
enum { WORD_PAD = 0, WORD_UNKNOWN = 1, WORD_FIRST = 2 };

typedef struct Vocabulary Vocabulary;

/* The most frequent words of texts, up to `limit` with the two above, each at
 * least twice there. A word is a run of letters and digits, in lower case. NULL
 * when out of memory. */
Vocabulary *vocabulary_make(const Texts *texts, size_t limit);
/* One word a line, in the order of their numbers. */
BurnStatus vocabulary_save(const Vocabulary *vocabulary, const char *path);
Vocabulary *vocabulary_load(const char *path, BurnStatus *status);
size_t vocabulary_count(const Vocabulary *vocabulary);
void vocabulary_destroy(Vocabulary *vocabulary);

/* The first `length` words of a text, with pads after them. */
void words_of(const Vocabulary *vocabulary, const char *text, size_t length,
              int64_t *words);

/* Texts `first` .. `end` - 1 as a dataset: "words" i64 [length], "class" i64.
 * NULL with the reason in *status. */
BurnDataset *texts_dataset(const Texts *texts, size_t first, size_t end,
                           const Vocabulary *vocabulary, size_t length,
                           BurnStatus *status);

#endif
