/* guess.c - the nearest of several words: the edit distance with neighbours swapped (optimal string alignment). */
#include <burn/guess.h>

#include <stdio.h>
#include <string.h>

enum { MAX_LETTERS = 63 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Both are of at most MAX_LETTERS. rows: of the table of distances, that of this letter of a, and of the two before
 * it. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][MAX_LETTERS + 1];
  for (size_t j = 0; j <= b_length; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t *row = rows[i % 3];
    const size_t *before = rows[(i - 1) % 3], *two_before = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      row[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]), 1 + least(before[j], row[j - 1]));
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = least(row[j], two_before[j - 2] + 1);
    }
  }
  return rows[a_length % 3][b_length];
}

BurnGuess burn_guess(const char *word) {
  BurnGuess guess = {word ? word : "", NULL, 0, ""};
  const size_t length = strlen(guess.word);
  /* A word of one or two letters is near to nearly everything. */
  guess.distance = length < 3 || length > MAX_LETTERS ? 0 : length / 3 + 1;
  return guess;
}

void burn_guess_add(BurnGuess *guess, const char *candidate) {
  if (!candidate) return;
  const size_t length = strlen(guess->word), other = strlen(candidate);
  if (guess->distance == 0 || other > MAX_LETTERS) return;
  const bool begins = strncmp(guess->word, candidate, length) == 0;
  const size_t distance = edit_distance(guess->word, length, candidate, other);
  const size_t counted = begins ? least(distance, length / 3) : distance;
  if (counted >= guess->distance) return;
  guess->best = candidate;
  guess->distance = counted;
}

const char *burn_guess_text(BurnGuess *guess) {
  if (guess->best) (void)snprintf(guess->text, sizeof guess->text, " Did you mean '%s'?", guess->best);
  return guess->text;
}
