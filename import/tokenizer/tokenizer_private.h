/* tokenizer_private.h - a tokenizer, and what its readers fill. */
#ifndef BURN_IMPORT_TOKENIZER_PRIVATE_H
#define BURN_IMPORT_TOKENIZER_PRIVATE_H

#include "token_model.h"
#include "token_step.h"

/* A token beside the model's vocabulary, or one of it that stands for itself in texts. */
typedef struct TokenAdded {
  int64_t id;
  bool single_word, takes_left, takes_right /* whitespace beside it */, is_normalized, is_special;
  bool is_control; /* is never found in a text */
} TokenAdded;

/* What stands where around the texts. */
enum { TEMPLATE_FIRST = -1, TEMPLATE_SECOND = -2 };
typedef struct TokenTemplate {
  struct TokenTemplateItem {
    int64_t id; /* or TEMPLATE_* */
    int64_t type_id;
  } * items;
  size_t count;
} TokenTemplate;

struct BurnTextTokenizer {
  TokenModel model;
  TokenVocabulary names; /* numbers of added tokens, as texts are searched for them by name */
  TokenAdded *added;     /* [added_count] */
  size_t added_count;
  TokenVocabulary users;    /* pieces of a user, which SentencePiece does not normalize */
  TokenVocabulary found[2]; /* texts of added tokens, to be searched before normalizing and after; numbers are
                                 indices of `added` */
  TokenSteps normalizers, cuts, decoders;
  TokenTemplate single, pair; /* no items: the texts alone */
  bool trims_offsets, trims_with_prefix;
  bool joins_with_spaces;      /* decoding without a decoder */
  int64_t pad_id;              /* -1: not told */
  const char *unknown_surface; /* what decoding writes for the unknown token; NULL: its text */
};

/* Of models of SentencePiece, whose default it is. */
#define TOKEN_UNKNOWN_SURFACE " \xe2\x81\x87 "

/* Readers fill a tokenizer of zeros; messages begin with "byte 8: ". */
BurnStatus burn__tokenizer_read_json(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count);
BurnStatus burn__tokenizer_read_sentence_piece(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count);
BurnStatus burn__tokenizer_read_gguf(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count);
BurnStatus burn__tokenizer_read_vocab(BurnTextTokenizer *tokenizer, const uint8_t *bytes, size_t count);
/* Whether bytes can be a file of this kind. */
bool burn__tokenizer_is_sentence_piece(const uint8_t *bytes, size_t count);
bool burn__tokenizer_is_vocab(const uint8_t *bytes, size_t count);

/* What functions say that get NULL for a tokenizer. */
BurnStatus burn__no_tokenizer(void);

/* Adds a token with its text. */
BurnStatus burn__tokenizer_add(BurnTextTokenizer *tokenizer, TokenAdded added, const char *text, size_t length);
/* Makes the searches, once model, normalizers and added tokens are there. */
BurnStatus burn__tokenizer_finish(BurnTextTokenizer *tokenizer);
/* Adds an item; false for want of memory. */
bool burn__template_add(TokenTemplate *items, int64_t id, int64_t type_id);
/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP]. */
bool burn__template_bert(BurnTextTokenizer *tokenizer, int64_t cls, int64_t sep);
/* Normalizer, cuts and decoder of BERT. */
BurnStatus burn__tokenizer_bert_steps(BurnTextTokenizer *tokenizer, bool lowercase);
/* All of BERT's but the vocabulary, which is set. */
BurnStatus burn__tokenizer_bert(BurnTextTokenizer *tokenizer);
/* Normalizer and decoders of SentencePiece, with the settings in *step, which is taken; pieces and types are set. */
BurnStatus burn__tokenizer_piece_steps(BurnTextTokenizer *tokenizer, TokenStep *step);

/* Cuts a text at the added tokens: normalized ones or the others. */
void burn__tokenizer_cut_added(const BurnTextTokenizer *tokenizer, bool normalized, const TokenSlice *in,
                               TokenParts *out);
/* The token of a number, added ones first. */
const char *burn__tokenizer_text(const BurnTextTokenizer *tokenizer, int64_t id, size_t *length);

#endif
