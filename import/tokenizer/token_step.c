/* token_step.c - lists of steps. */
#include "token_step.h"

#include <stdlib.h>

enum { STEP_LIMIT = 256 };

BurnStatus burn__steps_add(TokenSteps *steps, TokenStep step) {
  TokenStep *list = steps->count < STEP_LIMIT ? realloc(steps->list, (steps->count + 1) * sizeof *list) : NULL;
  if (list == NULL) {
    burn__step_release(&step);
    if (steps->count < STEP_LIMIT) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory for a step");
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "more than %d steps", STEP_LIMIT);
  }
  steps->list = list;
  list[steps->count++] = step;
  return BURN_OK;
}

void burn__step_release(TokenStep *step) {
  free(step->text);
  free(step->match);
  burn__token_pattern_end(step->pattern);
  burn__charsmap_release(&step->map);
}

void burn__steps_release(TokenSteps *steps) {
  for (size_t i = 0; i < steps->count; i++) burn__step_release(&steps->list[i]);
  free(steps->list);
  *steps = (TokenSteps){NULL, 0};
}

static void swap(TokenParts *a, TokenParts *b) {
  const TokenParts kept = *a;
  *a = *b;
  *b = kept;
}

BurnStatus burn__steps_run(const TokenSteps *steps, TokenParts *text, TokenParts *spare) {
  spare->limit = text->limit;
  for (size_t i = 0; i < steps->count && text->status == BURN_OK; i++) {
    burn__parts_clear(spare);
    for (size_t k = 0; k < text->count && spare->status == BURN_OK; k++) {
      const TokenSlice slice = burn__parts_slice(text, k);
      if (text->list[k].id >= 0)
        burn__parts_copy(spare, &slice, 0, slice.count);
      else
        steps->list[i].run(&steps->list[i], &slice, spare);
      burn__parts_cut(spare, text->list[k].id);
    }
    swap(text, spare);
  }
  return text->status;
}

BurnStatus burn__steps_decode(const TokenSteps *steps, TokenParts *text, TokenParts *spare) {
  text->limit = spare->limit = burn__parts_limit(text->used);
  for (size_t i = 0; i < steps->count && text->status == BURN_OK; i++) {
    burn__parts_clear(spare);
    steps->list[i].decode(&steps->list[i], text, spare);
    swap(text, spare);
  }
  return text->status;
}
