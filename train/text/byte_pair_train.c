/* byte_pair_train.c - a vocabulary out of a text, as the BpeTrainer of Hugging Face's tokenizers makes it: words are
 * counted once, the pair that is met most is merged in all of them, of several the one with the smaller numbers. */
#include "byte_pair.h"
#include "hash.h"
#include "null_check.h"
#include "status_chain.h"

#include <burn/text.h>

#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, FIRST_WORDS = 1024, MAX_VOCABULARY = 1 << 24 };

/* A word of the text, as tokens that are less and less. */
typedef struct Word {
  size_t first, length; /* in ids */
  int64_t count;
} Word;

typedef struct Training {
  BurnBytePairs *pairs;
  Word *words;
  size_t word_count, word_room;
  int32_t *ids; /* of all words */
  size_t id_count, id_room;
  const char **texts; /* of each word, in the text */
  size_t *slots;      /* of words by their hash; 0: none, else index + 1 */
  size_t slot_count;
  BurnPairMap *counts; /* of pairs */
} Training;

/* -- words ------------------------------------------------------------------------------------ */

static uint64_t hash_of(const char *text, size_t length) {
  uint64_t hash = BURN__HASH;
  for (size_t i = 0; i < length; i++) hash = burn__hash_byte(hash, (uint8_t)text[i]);
  return hash;
}

static size_t *slot_of(const Training *training, const char *text, size_t length) {
  size_t slot = (size_t)hash_of(text, length) & (training->slot_count - 1);
  for (; training->slots[slot] != 0; slot = (slot + 1) & (training->slot_count - 1)) {
    const size_t word = training->slots[slot] - 1;
    if (training->words[word].length == length && memcmp(training->texts[word], text, length) == 0) break;
  }
  return &training->slots[slot];
}

static bool words_grow(Training *training) {
  const size_t room = training->word_room > 0 ? 2 * training->word_room : FIRST_WORDS;
  Word *words = calloc(room, sizeof *words);
  const char **texts = calloc(room, sizeof *texts);
  size_t *slots = calloc(2 * room, sizeof *slots);
  if (words == NULL || texts == NULL || slots == NULL) {
    free(words);
    free(texts);
    free(slots);
    return false;
  }
  if (training->word_count > 0) {
    memcpy(words, training->words, training->word_count * sizeof *words);
    memcpy(texts, training->texts, training->word_count * sizeof *texts);
  }
  free(training->words);
  free(training->texts);
  free(training->slots);
  training->words = words;
  training->texts = texts;
  training->slots = slots;
  training->slot_count = 2 * room;
  training->word_room = room;
  for (size_t i = 0; i < training->word_count; i++) *slot_of(training, texts[i], words[i].length) = i + 1;
  return true;
}

static bool ids_add(Training *training, const char *text, size_t length) {
  if (training->id_room - training->id_count < length) {
    const size_t room = 2 * (training->id_room + length);
    int32_t *grown = realloc(training->ids, room * sizeof *grown);
    if (grown == NULL) return false;
    training->ids = grown;
    training->id_room = room;
  }
  for (size_t i = 0; i < length; i++) training->ids[training->id_count++] = training->pairs->of_byte[(uint8_t)text[i]];
  return true;
}

static bool word_count(Training *training, const char *text, size_t length) {
  if (training->word_count == training->word_room && !words_grow(training)) return false;
  size_t *slot = slot_of(training, text, length);
  if (*slot != 0) {
    training->words[*slot - 1].count++;
    return true;
  }
  training->words[training->word_count] = (Word){training->id_count, length, 1};
  training->texts[training->word_count++] = text;
  *slot = training->word_count;
  return ids_add(training, text, length);
}

/* -- pairs ------------------------------------------------------------------------------------ */

/* Adds the pairs of a word, or with -1 takes them off. */
static bool pairs_count(BurnPairMap *counts, const int32_t *ids, const Word *word, int64_t sign) {
  for (size_t i = 0; i + 1 < word->length; i++) {
    const uint64_t key = burn__pair_key(ids[i], ids[i + 1]);
    int64_t *count = burn__pair_find(counts, key);
    if (count != NULL)
      *count += sign * word->count;
    else if (!burn__pair_put(counts, key, sign * word->count))
      return false;
  }
  return true;
}

static bool has_pair(const int32_t *ids, size_t length, int32_t left, int32_t right) {
  for (size_t i = 0; i + 1 < length; i++)
    if (ids[i] == left && ids[i + 1] == right) return true;
  return false;
}

/* Merges a pair in all words, and counts the pairs of those that have it anew. */
static bool pair_merge(Training *training, BurnMerge merge) {
  for (size_t i = 0; i < training->word_count; i++) {
    Word *word = &training->words[i];
    int32_t *ids = training->ids + word->first;
    if (!has_pair(ids, word->length, merge.left, merge.right)) continue;
    if (!pairs_count(training->counts, ids, word, -1)) return false;
    size_t kept = 0;
    for (size_t j = 0; j < word->length; kept++) {
      const bool here = j + 1 < word->length && ids[j] == merge.left && ids[j + 1] == merge.right;
      ids[kept] = here ? merge.merged : ids[j];
      j += here ? 2 : 1;
    }
    word->length = kept;
    if (!pairs_count(training->counts, ids, word, 1)) return false;
  }
  return true;
}

/* The pair that is met most; its count, 0 if there is none. */
static int64_t pair_choose(const Training *training, BurnMerge *merge) {
  int64_t most = 0;
  uint64_t chosen = 0;
  for (size_t i = 0; i < training->counts->room; i++) {
    const int64_t count = training->counts->values[i];
    if (count < most || count <= 0 || (count == most && training->counts->keys[i] > chosen)) continue;
    most = count;
    chosen = training->counts->keys[i];
  }
  merge->left = (int32_t)(chosen >> 32);
  merge->right = (int32_t)(chosen & 0xffffffffu);
  return most;
}

/* The token of both; one with the same bytes that is there already is used again. */
static bool merged_make(BurnBytePairs *pairs, BurnMerge *merge) {
  const BurnPiece left = pairs->tokens[merge->left], right = pairs->tokens[merge->right];
  const size_t length = left.length + right.length;
  char *bytes = malloc(length + 1);
  if (bytes == NULL) return false;
  memcpy(bytes, left.bytes, left.length);
  memcpy(bytes + left.length, right.bytes, right.length);
  size_t id = 0;
  while (id < pairs->token_count &&
         (pairs->tokens[id].length != length || memcmp(pairs->tokens[id].bytes, bytes, length) != 0))
    id++;
  const bool good = id < pairs->token_count || burn__byte_pairs_token(pairs, bytes, length);
  merge->merged = (int32_t)id;
  free(bytes);
  return good;
}

/* -- training --------------------------------------------------------------------------------- */

/* Specials, then the bytes in the order of the characters that they are written as. */
static bool alphabet_make(BurnBytePairs *pairs, const BurnSpecialTokens *specials) {
  int32_t ids[BURN_MAX_SPECIALS];
  bool good = true;
  for (size_t i = 0; good && i < specials->count; i++) {
    ids[i] = (int32_t)i;
    good = burn__byte_pairs_token(pairs, specials->texts[i], strlen(specials->texts[i]));
  }
  for (uint32_t code = 0; good && code < 2 * BYTES; code++) {
    const int byte = burn__character_byte(code);
    if (byte < 0) continue;
    const char text = (char)(uint8_t)byte;
    pairs->of_byte[byte] = (int32_t)pairs->token_count;
    good = burn__byte_pairs_token(pairs, &text, 1);
  }
  return good && burn__byte_pairs_specials(pairs, ids, specials->count);
}

static bool vocabulary_learn(Training *training, const char *text, size_t length, const BurnBytePairConfig *config) {
  const int64_t least = config->least_count > 1 ? (int64_t)config->least_count : 1;
  BurnMerge merge = {0, 0, 0};
  bool good = true;
  for (size_t at = 0, size = 0; good && at < length; at += size) {
    size = burn__word(text + at, length - at);
    good = word_count(training, text + at, size);
  }
  for (size_t i = 0; good && i < training->word_count; i++) {
    const Word *word = &training->words[i];
    good = pairs_count(training->counts, training->ids + word->first, word, 1);
  }
  while (good && training->pairs->token_count < config->vocabulary) {
    if (pair_choose(training, &merge) < least) break;
    good = merged_make(training->pairs, &merge) && burn__byte_pairs_merge(training->pairs, merge) &&
           pair_merge(training, merge);
  }
  return good;
}

static BurnStatus config_check(const BurnBytePairConfig *config) {
  const BurnStatus given = burn__specials_check(&config->specials);
  if (given != BURN_OK) return given;
  for (size_t i = 0; i < config->specials.count; i++)
    if (config->specials.texts[i][0] == '\0' || !burn_text_is_clean(config->specials.texts[i]))
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: special token %zu is empty, or no clean text",
                              i);
  if (config->vocabulary >= BYTES + config->specials.count && config->vocabulary <= MAX_VOCABULARY) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "byte_pair: a vocabulary of %zu, %zu to %d expected",
                          config->vocabulary, BYTES + config->specials.count, MAX_VOCABULARY);
}

BurnTokenizer *burn_tokenizer_byte_pair_train(const char *text, size_t length, const BurnBytePairConfig *config,
                                              BurnStatus *status) {
  if (burn__entry_status(status) != BURN_OK) return NULL;
  BurnStatus wrong = config ? config_check(config) : BURN_REQUIRED(config, "a BurnBytePairConfig");
  if (!text && length > 0) wrong = BURN_REQUIRED(text, "length bytes");
  if (wrong != BURN_OK) return burn__tokenizer_refused(status, wrong);
  BurnPairMap counts = {NULL, NULL, 0, 0, 0};
  Training training = {.pairs = burn__byte_pairs_create(), .counts = &counts};
  const bool good = training.pairs != NULL && alphabet_make(training.pairs, &config->specials) &&
                    vocabulary_learn(&training, text, length, config);
  burn__pair_release(&counts);
  free(training.words);
  free(training.texts);
  free(training.slots);
  free(training.ids);
  if (good) return burn__byte_pairs_tokenizer(training.pairs, status);
  burn__byte_pairs_destroy(training.pairs);
  return burn__tokenizer_refused(status, burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "byte_pair: out of memory"));
}
