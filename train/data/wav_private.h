/* wav_private.h - what reading a sound and a dataset of sounds share. */
#ifndef BURN_TRAIN_WAV_PRIVATE_H
#define BURN_TRAIN_WAV_PRIVATE_H

#include <burn/train/wav.h>

#include <stdio.h>

/* A file that is open at its first frame. */
typedef struct BurnWavFile {
  FILE *file; /* fclose */
  const char *path;
  uint64_t offset; /* of the first frame */
  size_t frames;   /* all of them are there */
  uint32_t channels, sample_rate;
  BurnWavFormat format;
  size_t sample_bytes;
} BurnWavFile;

/* Opens a file and reads its header; on failure nothing is open. */
BURN_USE_RESULT BurnStatus burn__wav_open(const char *path, BurnWavFile *wav);
/* The next `frames` frames, of those that are there, into samples [frames, channels]. */
BURN_USE_RESULT BurnStatus burn__wav_frames(BurnWavFile *wav, size_t frames, float *samples);

#endif
