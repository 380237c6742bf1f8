/* speech.h - stretches of speech, made of how likely each window is speech. */
#ifndef VOICE_ACTIVITY_SPEECH_H
#define VOICE_ACTIVITY_SPEECH_H

#include <stddef.h>

/* In samples, from the first one to that after the last. */
typedef struct Stretch {
  size_t begin, end;
} Stretch;

/* When speech begins and ends, in samples; what Silero's get_speech_timestamps
 * has as defaults is in brackets, for 16 kHz. */
typedef struct SpeechRule {
  double threshold;     /* speech begins here [0.5] and ends 0.15 below */
  size_t window;        /* samples of a probability [512] */
  size_t least_silence; /* shorter ones are within speech [1600] */
  size_t least_speech;  /* shorter stretches are none [4000] */
  size_t margin;        /* more of the sound on either side [480] */
} SpeechRule;

/* The stretches of a sound of `samples`, of which `count` windows have a
 * probability; as many of them as `capacity` has room for. Returns how many. */
size_t speech_stretches(const SpeechRule *rule, const float *probabilities,
                        size_t count, size_t samples, Stretch *stretches,
                        size_t capacity);

#endif
