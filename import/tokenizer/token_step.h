/* token_step.h - the steps of a tokenizer before and after its model: normalizers change a text, pre-tokenizers cut it,
 * decoders change the texts of tokens back. What a step is called in tokenizer.json stands in token_steps.def. */
#ifndef BURN_IMPORT_TOKEN_STEP_H
#define BURN_IMPORT_TOKEN_STEP_H

#include "token_charsmap.h"
#include "token_pattern.h"
#include "token_text.h"
#include "token_vocabulary.h"

/* What becomes of the matches that a text is cut at. */
enum {
  TOKEN_CUT_REMOVED,
  TOKEN_CUT_ISOLATED,
  TOKEN_CUT_MERGED_WITH_PREVIOUS,
  TOKEN_CUT_MERGED_WITH_NEXT,
  TOKEN_CUT_CONTIGUOUS
};

/* When a step writes its text in front. */
enum { TOKEN_PREPEND_ALWAYS, TOKEN_PREPEND_FIRST, TOKEN_PREPEND_NEVER };

typedef struct TokenStep TokenStep;

/* Normalizers and pre-tokenizers write what becomes of one part; a part that is not cut by the step is cut by who
 * calls it. */
typedef void TokenStepRun(const TokenStep *step, const TokenSlice *in, TokenParts *out);
/* Decoders write all texts, each ended by burn__parts_end. */
typedef void TokenStepDecode(const TokenStep *step, const TokenParts *in, TokenParts *out);

/* A step with what it needs; see its function for what each member is there. */
struct TokenStep {
  TokenStepRun *run;
  TokenStepDecode *decode;
  char *text; /* content, prefix, replacement; malloc'd, or NULL */
  size_t text_length;
  char *match; /* what is looked for, where there is no pattern */
  size_t match_length;
  TokenPattern *pattern;
  TokenCharsmap map;
  const TokenVocabulary *kept; /* SentencePiece: pieces that no normalizer changes; the model's */
  size_t left, right;
  uint32_t cut, prepend;
  bool flags[4];
};

typedef struct TokenSteps {
  TokenStep *list;
  size_t count;
} TokenSteps;

/* Adds a step, which is taken; frees all. */
BurnStatus burn__steps_add(TokenSteps *steps, TokenStep step);
void burn__step_release(TokenStep *step);
void burn__steps_release(TokenSteps *steps);
/* All steps on all parts that are not tokens. The result is in *text, *spare is for what comes between. */
BurnStatus burn__steps_run(const TokenSteps *steps, TokenParts *text, TokenParts *spare);
BurnStatus burn__steps_decode(const TokenSteps *steps, TokenParts *text, TokenParts *spare);

#define TOKEN_STEP_RUN(name) TokenStepRun burn__step_##name;
#define TOKEN_STEP_DECODE(name) TokenStepDecode burn__step_##name;
#include "token_steps.def"
#undef TOKEN_STEP_RUN
#undef TOKEN_STEP_DECODE

#endif
