/* texts.h - labelled texts of a CSV file, and their words as numbers. */
#ifndef TEXT_CLASSIFICATION_TEXTS_H
#define TEXT_CLASSIFICATION_TEXTS_H

#include <burn/train.h>

/* A CSV file as AG News has them, plain or with gzip, without a header: rows
 * "class","text" or "class","title","text", classes from 1. A dataset of these
 * columns; NULL with the reason in *status, by the rules of dataset.h. */
BurnDataset *texts_read(const char *path, size_t class_count,
                        BurnStatus *status);

/* Numbers that stand for no word. */
enum { WORD_PAD = 0, WORD_UNKNOWN = 1, WORD_FIRST = 2 };

typedef struct Vocabulary Vocabulary;

/* The most frequent words of texts, up to `limit` with the two above, each at
 * least twice there. A word is a run of letters and digits, in lower case. NULL
 * with the reason in *status. */
Vocabulary *vocabulary_make(const BurnDataset *texts, size_t limit,
                            BurnStatus *status);
/* One word a line, in the order of their numbers. */
BurnStatus vocabulary_save(const Vocabulary *vocabulary, const char *path);
Vocabulary *vocabulary_load(const char *path, BurnStatus *status);
size_t vocabulary_count(const Vocabulary *vocabulary);
void vocabulary_destroy(Vocabulary *vocabulary);

/* The first `length` words of a text, with pads after them. */
void words_of(const Vocabulary *vocabulary, const char *text, size_t length,
              int64_t *words);

/* Takes texts of texts_read and gives "words" i64 [length], of all texts of a
 * row, and "class" i64, from 0. The vocabulary outlives it. */
BurnDataset *texts_words(BurnDataset *texts, const Vocabulary *vocabulary,
                         size_t length, BurnStatus *status);

#endif
