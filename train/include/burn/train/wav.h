/* wav.h - sound files: RIFF WAVE with uncompressed samples. A dataset of them is burn_dataset_wav (dataset.h).
 *
 *   BurnWav sound;
 *   BurnStatus status = burn_wav_read("yes.wav", &sound);
 *   ...
 *   burn_wav_release(&sound); */
#ifndef BURN_TRAIN_WAV_H
#define BURN_TRAIN_WAV_H

#include <burn/burn.h>

BURN_EXTERN_C_BEGIN

/* How a file holds a sample. Integers of n bits are whole multiples of 2^(1-n). */
typedef enum BurnWavFormat {
  BURN_WAV_PCM_16 = 0,
  BURN_WAV_PCM_8 = 1,
  BURN_WAV_PCM_24 = 2,
  BURN_WAV_PCM_32 = 3,
  BURN_WAV_F32 = 4,
  BURN_WAV_F64 = 5
} BurnWavFormat;

/* A sound in memory. */
typedef struct BurnWav {
  float *samples; /* [frames, channels], in -1 .. 1; of a float file whatever it holds */
  size_t frames;
  uint32_t channels;    /* 1 .. 65535 */
  uint32_t sample_rate; /* frames per second */
  BurnWavFormat format; /* in the file */
} BurnWav;

/* Reads a file; the sound is released by burn_wav_release. On failure it is empty: CORRUPT_DATA for what is no such
 * file, is cut off or holds compressed samples, with the path and the byte. */
BURN_API BURN_USE_RESULT BurnStatus burn_wav_read(const char *path, BurnWav *sound);
/* Frees the samples of burn_wav_read and leaves the sound empty. */
BURN_API void burn_wav_release(BurnWav *sound);
/* Writes a file as a whole (burn_file_write). Samples beyond -1 .. 1 are clamped to what the integers of the format can
 * hold; NaN is INVALID_ARGUMENT there. */
BURN_API BURN_USE_RESULT BurnStatus burn_wav_write(const char *path, const BurnWav *sound);

BURN_EXTERN_C_END

#endif
