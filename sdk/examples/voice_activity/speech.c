/* speech.c - see speech.h. */
#include "speech.h"

#include <stdbool.h>

/* What the windows so far have come to. */
typedef struct Listening {
  const SpeechRule *rule;
  bool speaks;
  size_t begin; /* of the speech */
  size_t pause; /* where it may have ended; 0: nowhere */
  Stretch *stretches;
  size_t count, capacity;
} Listening;

static void keep(Listening *l, size_t end) {
  if (end - l->begin > l->rule->least_speech && l->count < l->capacity) {
    l->stretches[l->count++] = (Stretch){l->begin, end};
  }
}

static void listen(Listening *l, size_t at, double probability) {
  if (probability >= l->rule->threshold) {
    l->pause = 0;
    if (!l->speaks) l->begin = at;
    l->speaks = true;
    return;
  }
  if (!l->speaks || probability >= l->rule->threshold - 0.15) return;
  if (l->pause == 0) l->pause = at;
  if (at - l->pause < l->rule->least_silence) return;
  keep(l, l->pause);
  l->speaks = false;
  l->pause = 0;
}

/* Both sides get the margin; two that would touch share what is between. */
static void widen(Stretch *stretches, size_t count, size_t margin,
                  size_t samples) {
  for (size_t i = 0; i < count; i++) {
    Stretch *s = &stretches[i];
    if (i == 0) s->begin = s->begin > margin ? s->begin - margin : 0;
    const size_t next = i + 1 < count ? stretches[i + 1].begin : samples;
    const size_t silence = next - s->end;
    const bool last = i + 1 == count;
    const size_t room = last ? silence : silence / 2;
    const size_t wider = room < margin ? room : margin;
    s->end += wider;
    if (!last) stretches[i + 1].begin -= wider;
  }
}

size_t speech_stretches(const SpeechRule *rule, const float *probabilities,
                        size_t count, size_t samples, Stretch *stretches,
                        size_t capacity) {
  Listening l = {.rule = rule, .stretches = stretches, .capacity = capacity};
  for (size_t i = 0; i < count; i++) {
    listen(&l, i * rule->window, (double)probabilities[i]);
  }
  if (l.speaks) keep(&l, samples);
  widen(stretches, l.count, rule->margin, samples);
  return l.count;
}
