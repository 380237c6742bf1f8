/* text_tokenizer.h - the tokenizers of pretrained models: texts as the numbers that a model was trained on, and back.
 *
 *   BurnStatus status = BURN_OK;
 *   BurnTextTokenizer *tokenizer = burn_text_tokenizer_open("tokenizer.json", &status);
 *   BurnEncoding encoding = {0};
 *   status = burn_text_tokenizer_encode(tokenizer, text, strlen(text), NULL, &encoding);
 *   ... encoding.ids[0 .. encoding.count-1] ...
 *   burn_encoding_release(&encoding);
 *   burn_text_tokenizer_destroy(tokenizer);
 *
 * Read are tokenizer.json of Hugging Face (WordPiece, WordLevel, BPE, Unigram), .model of SentencePiece (BPE, unigram),
 * the tokenizer in the metadata of a GGUF file, and vocab.txt of BERT; what a file is tells its content. Files are read
 * as hostile: sizes are checked, and messages say file and offset. A tokenizer is not changed by its use, so threads
 * may share one. This part of the library needs utf8proc when it is built. */
#ifndef BURN_TEXT_TOKENIZER_H
#define BURN_TEXT_TOKENIZER_H

#include <burn/tokenizer.h>

BURN_EXTERN_C_BEGIN

typedef struct BurnTextTokenizer BurnTextTokenizer;

/* Opens the tokenizer of a file. NULL on failure with the reason in *status: NOT_FOUND or IO of the file, CORRUPT_DATA
 * with an offset, UNIMPLEMENTED for a part of a tokenizer that is not known, with its name. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnTextTokenizer *burn_text_tokenizer_open(const char *path,
                                                                                    BurnStatus *status);
/* The same from memory, which is not needed afterwards. `label` names it in messages; NULL: "tokenizer". */
BURN_API BURN_CHAINS(4) BURN_USE_RESULT BurnTextTokenizer *burn_text_tokenizer_read(const void *bytes, size_t count,
                                                                                    const char *label,
                                                                                    BurnStatus *status);
/* Ends it; NULL is allowed. */
BURN_API void burn_text_tokenizer_destroy(BurnTextTokenizer *tokenizer);

/* The kind of its model: "WordPiece", "WordLevel", "BPE" or "Unigram". */
BURN_API const char *burn_text_tokenizer_model(const BurnTextTokenizer *tokenizer);
/* One more than the largest number of a token, those that were added included: rows of an embedding. */
BURN_API size_t burn_text_tokenizer_vocabulary(const BurnTextTokenizer *tokenizer);
/* The number of a token as the file writes it ("##ing", "\u0120the", "[CLS]"); -1 if there is none. */
BURN_API int64_t burn_text_tokenizer_id(const BurnTextTokenizer *tokenizer, const char *token, size_t length);
/* The token of a number as the file writes it, borrowed, its bytes to *length; NULL if there is none. */
BURN_API const char *burn_text_tokenizer_token(const BurnTextTokenizer *tokenizer, int64_t id, size_t *length);
/* Whether a token is a special one: of the model's format, not of a text ("[CLS]", "<s>"). */
BURN_API bool burn_text_tokenizer_is_special(const BurnTextTokenizer *tokenizer, int64_t id);

/* -- texts to tokens -------------------------------------------------------------------------- */

/* Tokens of a text, or of a pair of texts, each with where it comes from. Zero-initialised it is empty. */
typedef struct BurnEncoding {
  int64_t *ids;      /* [count] */
  int64_t *type_ids; /* [count]; which of the two texts, as the model wants it: token_type_ids */
  size_t *begins;    /* [count]; bytes [begin, end) of its text; both 0 for special tokens */
  size_t *ends;      /* [count] */
  uint8_t *special;  /* [count]; 1: added by the format, not found in a text */
  size_t count, room;
} BurnEncoding;

/* Frees what it holds and leaves it empty. */
BURN_API void burn_encoding_release(BurnEncoding *encoding);

/* How a text becomes tokens. Zeros are the defaults. */
typedef struct BurnEncodeOptions {
  bool no_special;    /* without the tokens that the format adds, such as [CLS] and [SEP] */
  const char *pair;   /* the second text; NULL: there is none */
  size_t pair_length; /* of it, in bytes */
  size_t
      max_length; /* tokens at most, special ones included; the longer of two texts is cut first, at its end; 0: all */
} BurnEncodeOptions;

/* The tokens of a text, in place of what *encoding held. Bytes that are not UTF-8 are read as U+FFFD each. On failure
 * *encoding is empty. OUT_OF_RANGE: max_length leaves no room for the special tokens. */
BURN_API BURN_USE_RESULT BurnStatus burn_text_tokenizer_encode(const BurnTextTokenizer *tokenizer, const char *text,
                                                               size_t length, const BurnEncodeOptions *options,
                                                               BurnEncoding *encoding);

/* Several texts of equal length in tokens: what a model takes as input_ids, attention_mask and token_type_ids. */
typedef struct BurnEncodedBatch {
  int64_t *ids, *mask, *type_ids; /* [count, length]; mask is 0 for padding */
  size_t count, length;
} BurnEncodedBatch;

/* Encodes `count` texts of UTF-8 that end with a zero byte. Each is padded on the right to the longest with the pad
 * token of the file, else with [PAD] or <pad>, else with 0. On failure *batch is empty. */
BURN_API BURN_USE_RESULT BurnStatus burn_text_tokenizer_encode_batch(const BurnTextTokenizer *tokenizer,
                                                                     const char *const *texts, size_t count,
                                                                     const BurnEncodeOptions *options,
                                                                     BurnEncodedBatch *batch);
/* Frees what it holds and leaves it empty. */
BURN_API void burn_encoded_batch_release(BurnEncodedBatch *batch);

/* -- tokens to texts -------------------------------------------------------------------------- */

/* The text of tokens: *text is malloc'd, with a zero byte after its *length bytes, the caller's to free, untouched on
 * failure. It is valid UTF-8. OUT_OF_RANGE names the first number that is not a token. */
BURN_API BURN_USE_RESULT BurnStatus burn_text_tokenizer_decode(const BurnTextTokenizer *tokenizer, const int64_t *ids,
                                                               size_t count, bool skip_special, char **text,
                                                               size_t *length);

/* Tokens that come one by one, as a model generates them. Zero-initialised it is at the beginning. */
typedef struct BurnDecodeStream {
  BurnTokenList tokens; /* that the text of the next depends on */
  size_t first;         /* of them whose text was given */
} BurnDecodeStream;

/* The text that a token adds: *text is malloc'd, with a zero byte after its *length bytes, and empty while a character
 * is not complete. Special tokens are skipped. */
BURN_API BURN_USE_RESULT BurnStatus burn_decode_stream_next(const BurnTextTokenizer *tokenizer,
                                                            BurnDecodeStream *stream, int64_t id, char **text,
                                                            size_t *length);
/* Frees what it holds and leaves it at the beginning. */
BURN_API void burn_decode_stream_release(BurnDecodeStream *stream);

/* -- for data --------------------------------------------------------------------------------- */

/* The tokenizer, which is taken, for code that is written for those of tokenizer.h: it encodes without special tokens.
 * NULL on failure, with the reason in *status, after which it is destroyed. */
BURN_API BURN_CHAINS(2) BURN_USE_RESULT BurnTokenizer *burn_text_tokenizer_as_tokenizer(BurnTextTokenizer *tokenizer,
                                                                                        BurnStatus *status);

BURN_EXTERN_C_END

#endif
