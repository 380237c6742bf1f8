/* token_model.h - models: from a part of a text to tokens. */
#ifndef BURN_IMPORT_TOKEN_MODEL_H
#define BURN_IMPORT_TOKEN_MODEL_H

#include "pair_merge.h"
#include "token_text.h"
#include "token_vocabulary.h"

#include <burn/text_tokenizer.h>

/* Types of SentencePiece's pieces, as its files number them. */
enum { PIECE_NORMAL = 1, PIECE_UNKNOWN, PIECE_CONTROL, PIECE_USER_DEFINED, PIECE_UNUSED, PIECE_BYTE };

typedef struct TokenModel TokenModel;

/* Memory that the parts of a text use one after the other. */
typedef struct TokenScratch {
  BurnMergeWord word;
  struct TokenPath *path; /* [path_room], of the unigram model */
  size_t path_room;
  char *text;
  size_t text_room;
} TokenScratch;

/* Adds the tokens of a part. */
typedef BurnStatus TokenModelEncode(const TokenModel *model, const TokenSlice *part, TokenScratch *scratch,
                                    BurnEncoding *out);

struct TokenModel {
  const char *name;
  TokenModelEncode *encode;
  TokenVocabulary vocabulary;
  int64_t unknown; /* -1: none */
  bool fuses_unknown, falls_back_to_bytes, takes_known_words /* ignore_merges */,
      is_single /* floats as in SentencePiece */;
  int32_t of_byte[256];  /* <0x00> and so on; -1: none */
  char *prefix, *suffix; /* continuing_subword_prefix, end_of_word_suffix; NULL: none */
  size_t prefix_length, suffix_length, max_characters;
  BurnPairMap ranks;
  int32_t *merged; /* by rank */
  size_t merge_count, merge_room;
  double *scores;       /* by number; NULL if the model has none */
  int64_t *score_ranks; /* SentencePiece's BPE: by number, 0 for the highest score */
  uint8_t *types;       /* by number; NULL: all normal */
  double unknown_score, user_score;
};

TokenModelEncode burn__encode_words, burn__encode_word_piece, burn__encode_bpe, burn__encode_unigram,
    burn__encode_piece_pairs;

/* What every model needs once its vocabulary is set: its trie, the tokens of bytes, ranks and bounds of scores. */
BurnStatus burn__model_finish(TokenModel *model);
void burn__model_release(TokenModel *model);
/* Adds a merge after the others; false for want of memory. One that is there already keeps its place. */
bool burn__model_merge(TokenModel *model, int32_t left, int32_t right, int32_t merged);
/* Makes room in scratch->text. */
BurnStatus burn__scratch_text(TokenScratch *scratch, size_t room);
void burn__scratch_release(TokenScratch *scratch);

static inline uint8_t burn__model_type(const TokenModel *model, int64_t id) {
  return model->types != NULL ? model->types[id] : PIECE_NORMAL;
}

/* Adds a token of bytes [begin, end) of a part. */
BurnStatus burn__encoding_add(BurnEncoding *out, int64_t id, const TokenSlice *part, size_t begin, size_t end);

#endif
