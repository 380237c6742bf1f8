/* guess.h - "Did you mean ..?": the word that was meant, for messages about names that do not exist.
 *
 *   BurnGuess guess = burn_guess(name);
 *   for (size_t i = 0; i < count; i++) burn_guess_add(&guess, known[i]);
 *   fprintf(stderr, "there is no command '%s'.%s\n", name, burn_guess_text(&guess)); */
#ifndef BURN_GUESS_H
#define BURN_GUESS_H

#include <burn/error.h>

BURN_EXTERN_C_BEGIN

/* A guess in the making; by value, nothing to free. Use the functions below. */
typedef struct BurnGuess {
  const char *word;
  const char *best; /* NULL: no candidate is near */
  size_t distance;  /* of best; before that one more than is near */
  char text[96];
} BurnGuess;

/* Begins a guess. `word` is borrowed; NULL is like no word. */
BURN_API BurnGuess burn_guess(const char *word);

/* Keeps the candidate (borrowed) if it is nearer than those before it: at most a third of the word's letters, and at
 * least one, are added, left out, replaced or swapped with their neighbour, or it begins with the word. A word of less
 * than 3 letters is near to nearly everything, so nothing is kept for it, nor for one of more than 63. */
BURN_API void burn_guess_add(BurnGuess *guess, const char *candidate);

/* " Did you mean 'ndarray'?", with the space, or "". Lives as long as the guess. */
BURN_API const char *burn_guess_text(BurnGuess *guess);

BURN_EXTERN_C_END

#endif
