/* tokenizer.h - texts as numbers and back: by characters, by pairs of bytes (GPT-2), or as a table of your own says. A
 * text is bytes with a length, mostly UTF-8; what is not is kept, byte by byte, where the tokenizer knows bytes.
 *
 *   BurnTokenizer *tokenizer = burn_tokenizer_byte_pair_read("vocab.json", "merges.txt", NULL, &status);
 *   BurnTokenList tokens = {0};
 *   status = burn_tokenizer_encode(tokenizer, text, strlen(text), &tokens);
 *   ... tokens.ids[0 .. tokens.count-1] ...
 *   burn_token_list_release(&tokens);  */
#ifndef BURN_TOKENIZER_H
#define BURN_TOKENIZER_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* Numbers of tokens in a list that grows. Zero-initialised it is empty. */
typedef struct BurnTokenList {
  int64_t *ids; /* [count] */
  size_t count, room;
} BurnTokenList;

/* Adds one. OUT_OF_MEMORY leaves the list as it was. */
BURN_API BURN_USE_RESULT BurnStatus burn_token_list_add(BurnTokenList *tokens, int64_t id);
/* Frees the numbers and leaves the list empty. */
BURN_API void burn_token_list_release(BurnTokenList *tokens);

/* A tokenizer of your own. Functions may be called from several threads at once. */
typedef struct BurnTokenizerInterface {
  size_t vocabulary; /* tokens have the numbers 0 .. vocabulary-1 */
  /* Adds the tokens of a text to the list. */
  BurnStatus (*encode)(void *context, const char *text, size_t length, BurnTokenList *tokens);
  /* The bytes of a token, below the vocabulary: borrowed; their number goes to *length. */
  const char *(*token)(void *context, int64_t id, size_t *length);
  void (*destroy)(void *context); /* NULL: nothing to do */
  void *context;
  /* The text of tokens, as burn_tokenizer_decode gives it; NULL: the bytes of the tokens, one after the other. */
  BurnStatus (*decode)(void *context, const int64_t *ids, size_t count, char **text, size_t *length);
} BurnTokenizerInterface;

typedef struct BurnTokenizer BurnTokenizer;

/* Functions that make a tokenizer return NULL where they fail, with the reason in the status of a chain
 * (burn/error.h). The context is destroyed also on failure. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnTokenizer *burn_tokenizer_create(const BurnTokenizerInterface *tokenizer,
                                                                             BurnStatus *status);
/* Ends it; NULL is allowed. */
BURN_API void burn_tokenizer_destroy(BurnTokenizer *tokenizer);
/* How many tokens there are. */
BURN_API size_t burn_tokenizer_vocabulary(const BurnTokenizer *tokenizer);
/* Adds the tokens of a text to the list; what was added before a failure is taken off again. */
BURN_API BURN_USE_RESULT BurnStatus burn_tokenizer_encode(const BurnTokenizer *tokenizer, const char *text,
                                                          size_t length, BurnTokenList *tokens);
/* The text of tokens: *text is malloc'd, with a zero byte after its *length bytes, the caller's to free, untouched on
 * failure. Tokens of bytes may end within a character. OUT_OF_RANGE names the first that is none. */
BURN_API BURN_USE_RESULT BurnStatus burn_tokenizer_decode(const BurnTokenizer *tokenizer, const int64_t *ids,
                                                          size_t count, char **text, size_t *length);
/* The number of the token with these bytes; -1 if there is none. Looks at one token after the other. */
BURN_API int64_t burn_tokenizer_find(const BurnTokenizer *tokenizer, const char *bytes, size_t length);

/* -- characters ------------------------------------------------------------------------------- */

/* A token for each character (of UTF-8) of a text, numbered in the order of their code points. A character that is not
 * among them is INVALID_ARGUMENT when it is met, with its offset; a text that is not UTF-8 is CORRUPT_DATA. */
BURN_API BURN_CHAINS(3) BURN_USE_RESULT BurnTokenizer *burn_tokenizer_characters(const char *text, size_t length,
                                                                                 BurnStatus *status);

/* -- pairs of bytes --------------------------------------------------------------------------- */

/* Tokens that stand for themselves wherever their texts are found, such as "<|endoftext|>": the longest one first. */
typedef struct BurnSpecialTokens {
  const char *const *texts; /* [count]; copied */
  size_t count;             /* at most 256 */
} BurnSpecialTokens;

/* A byte-level tokenizer of pairs, as GPT-2 has it: texts are cut into words by its regular expression, words are
 * bytes, of which pairs are merged in the order of their list. From a vocab.json (tokens and numbers, which are 0 ..
 * n-1) and a merges.txt. `specials`, or NULL, are in the vocabulary. Files are taken as hostile: CORRUPT_DATA names
 * file and line. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnTokenizer *burn_tokenizer_byte_pair_read(const char *vocab_path,
                                                                                     const char *merges_path,
                                                                                     const BurnSpecialTokens *specials,
                                                                                     BurnStatus *status);

/* How burn_tokenizer_byte_pair_train makes a vocabulary. */
typedef struct BurnBytePairConfig {
  size_t vocabulary;          /* at most so many tokens, at least the 256 bytes and the specials */
  size_t least_count;         /* pairs that are met less often are not merged; 0: 1 */
  BurnSpecialTokens specials; /* get the numbers from 0 on; the 256 bytes come after them */
} BurnBytePairConfig;

/* Learns pairs of a text: again and again the one that is met most is merged; of several the one with the smaller
 * numbers. The same vocabulary as the BpeTrainer of Hugging Face's tokenizers makes with ByteLevel. Takes time in
 * proportion to text times vocabulary: for some thousands of tokens. */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnTokenizer *burn_tokenizer_byte_pair_train(const char *text, size_t length,
                                                                                      const BurnBytePairConfig *config,
                                                                                      BurnStatus *status);
/* Writes the two files of a tokenizer of pairs, each as a whole (burn_file_write); INVALID_ARGUMENT for another kind.
 */
BURN_API BURN_USE_RESULT BurnStatus burn_tokenizer_byte_pair_write(const BurnTokenizer *tokenizer,
                                                                   const char *vocab_path, const char *merges_path);

BURN_EXTERN_C_END

#endif
