/* token_vocabulary.h - texts and their numbers, found by a trie. */
#ifndef BURN_IMPORT_TOKEN_VOCABULARY_H
#define BURN_IMPORT_TOKEN_VOCABULARY_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

/* Numbers are below this: the largest vocabularies have 1,048,576. */
enum { TOKEN_LIMIT = 1 << 21 };

typedef struct TokenTrieNode {
  uint32_t children; /* index of the first; they are in order of their bytes */
  uint32_t depth;    /* bytes that all texts below it begin with */
  int32_t below;     /* one of those texts, which has these bytes */
  int32_t id;        /* that ends here; -1: none does */
  uint16_t count;    /* of children */
  uint8_t byte;      /* that leads here */
} TokenTrieNode;

typedef struct TokenVocabulary {
  char *bytes; /* of all texts, one after the other, each with a zero after it */
  size_t used, room;
  uint32_t *begins, *lengths; /* [count]; begins UINT32_MAX: no text has this number */
  size_t count, id_room;
  TokenTrieNode *nodes; /* after burn__vocabulary_finish */
  size_t node_count;
} TokenVocabulary;

/* Sets the text of a number; OUT_OF_RANGE beyond TOKEN_LIMIT. Of equal texts the last is found. */
BurnStatus burn__vocabulary_set(TokenVocabulary *vocabulary, uint64_t id, const char *text, size_t length);
/* Makes the trie, after which nothing is set. */
BurnStatus burn__vocabulary_finish(TokenVocabulary *vocabulary);
void burn__vocabulary_release(TokenVocabulary *vocabulary);

/* The text of a number; NULL if there is none. */
static inline const char *burn__vocabulary_text(const TokenVocabulary *vocabulary, int64_t id, size_t *length) {
  *length = 0;
  if (id < 0 || (uint64_t)id >= vocabulary->count || vocabulary->begins[id] == UINT32_MAX) return NULL;
  *length = vocabulary->lengths[id];
  return vocabulary->bytes + vocabulary->begins[id];
}
/* The number of a text; -1 if there is none. */
int32_t burn__vocabulary_find(const TokenVocabulary *vocabulary, const char *text, size_t length);

/* A search for the texts that another begins with: zeros, then burn__vocabulary_next until it returns 0. */
typedef struct TokenSearch {
  uint32_t node;
  size_t depth;
  bool is_over;
} TokenSearch;
/* The length of the next longer text that `text` begins with, and its number; 0 at the end. */
size_t burn__vocabulary_next(const TokenVocabulary *vocabulary, TokenSearch *search, const char *text, size_t length,
                             int32_t *id);
/* The length of the longest, of which none ends within a character, and its number; 0 if none. */
size_t burn__vocabulary_longest(const TokenVocabulary *vocabulary, const char *text, size_t length, int32_t *id);

/* Whether a text may be cut here: no character goes on. */
static inline bool burn__is_boundary(const char *text, size_t length, size_t at) {
  return at >= length || ((uint8_t)text[at] & 0xc0) != 0x80;
}

#endif
