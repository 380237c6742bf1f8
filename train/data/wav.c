/* wav.c - RIFF WAVE files.
 *
 * A file is "RIFF", a size, "WAVE", then chunks: a name of four letters, a size, as many bytes, and one more if that is
 * odd. "fmt " says what a sample is, "data" holds them, others are passed over. All numbers are little-endian and
 * taken as hostile: what they promise is compared with the size of the file before memory is asked for. The size of the
 * RIFF chunk is not looked at, as recorders that were stopped leave it wrong. */
#include "null_check.h"
#include "path_check.h"
#include "wav_private.h"

#include "learner_internal.h"

#include <burn/file.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_PCM = 1, FORMAT_FLOAT = 3, FORMAT_EXTENSIBLE = 0xfffe, FMT_BYTES = 40, HEADER_BYTES = 44 };

static const struct {
  uint16_t code, bits;
} formats[] = {
    [BURN_WAV_PCM_16] = {FORMAT_PCM, 16}, [BURN_WAV_PCM_8] = {FORMAT_PCM, 8},  [BURN_WAV_PCM_24] = {FORMAT_PCM, 24},
    [BURN_WAV_PCM_32] = {FORMAT_PCM, 32}, [BURN_WAV_F32] = {FORMAT_FLOAT, 32}, [BURN_WAV_F64] = {FORMAT_FLOAT, 64},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* -- numbers ---------------------------------------------------------------------------------- */

static uint64_t number_at(const uint8_t *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

static void number_put(uint8_t *bytes, size_t count, uint64_t value) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static float sample_at(BurnWavFormat format, const uint8_t *bytes) {
  float narrow;
  double wide;
  const uint32_t bits = formats[format].bits;
  const uint64_t word = number_at(bytes, bits / 8);
  const uint32_t low = (uint32_t)word;
  if (format == BURN_WAV_F32) return memcpy(&narrow, &low, sizeof narrow), narrow;
  if (format == BURN_WAV_F64) return memcpy(&wide, &word, sizeof wide), (float)wide;
  /* Samples of 8 bits are the only ones without a sign: 128 is silence. */
  const double middle = ldexp(1, (int)bits - 1), value = (double)word;
  if (format == BURN_WAV_PCM_8) return (float)((value - middle) / middle);
  return (float)((value < middle ? value : value - 2 * middle) / middle);
}

static void sample_put(BurnWavFormat format, float sample, uint8_t *bytes) {
  uint32_t low;
  uint64_t word;
  const double wide = (double)sample;
  const uint32_t bits = formats[format].bits;
  if (format == BURN_WAV_F32) {
    memcpy(&low, &sample, sizeof low);
    word = low;
  } else if (format == BURN_WAV_F64) {
    memcpy(&word, &wide, sizeof word);
  } else {
    const double middle = ldexp(1, (int)bits - 1);
    double value = nearbyint(wide * middle);
    value = value < -middle ? -middle : value > middle - 1 ? middle - 1 : value;
    word = (uint64_t)(int64_t)(format == BURN_WAV_PCM_8 ? value + middle : value);
  }
  number_put(bytes, bits / 8, word);
}

/* -- reading ---------------------------------------------------------------------------------- */

static BurnStatus corrupt(const BurnWavFile *wav, uint64_t offset, const char *what) {
  return burn_status_make(BURN_STATUS_CORRUPT_DATA, "wav: %s: %s at byte %llu", wav->path, what,
                          (unsigned long long)offset);
}

/* Reads exactly `count` bytes at wav->offset, which moves on. */
static BurnStatus bytes_read(BurnWavFile *wav, uint8_t *bytes, size_t count) {
  errno = 0;
  const size_t got = fread(bytes, 1, count, wav->file);
  if (got < count && ferror(wav->file)) {
    char text[128];
    return burn_status_make(BURN_STATUS_IO, "wav: %s: %s", wav->path, burn__train_errno_text(errno, text, sizeof text));
  }
  if (got < count) return corrupt(wav, wav->offset + got, "cut off");
  wav->offset += count;
  return BURN_OK;
}

static BurnStatus bytes_skip(BurnWavFile *wav, uint64_t count) {
  if (count > LONG_MAX) return corrupt(wav, wav->offset, "a chunk that is too large");
  if (fseek(wav->file, (long)count, SEEK_CUR) != 0) return corrupt(wav, wav->offset, "a chunk that is not there");
  wav->offset += count;
  return BURN_OK;
}

/* The format by what the file says; FORMATS: none of ours. */
static BurnWavFormat format_of(uint64_t code, uint64_t bits) {
  for (int i = 0; i < FORMATS; i++) {
    if (formats[i].code == code && formats[i].bits == bits) return (BurnWavFormat)i;
  }
  return (BurnWavFormat)FORMATS;
}

static BurnStatus fmt_read(BurnWavFile *wav, uint64_t size) {
  uint8_t fmt[FMT_BYTES] = {0};
  const uint64_t begin = wav->offset;
  if (size < 16) return corrupt(wav, begin, "a format that is too short");
  const size_t there = size < FMT_BYTES ? (size_t)size : FMT_BYTES;
  BurnStatus status = bytes_read(wav, fmt, there);
  if (status == BURN_OK) status = bytes_skip(wav, size - there + size % 2);
  if (status != BURN_OK) return status;
  uint64_t code = number_at(fmt, 2);
  if (code == FORMAT_EXTENSIBLE && there == FMT_BYTES) code = number_at(fmt + 24, 2); /* the GUID begins with it */
  wav->format = format_of(code, number_at(fmt + 14, 2));
  wav->channels = (uint32_t)number_at(fmt + 2, 2);
  wav->sample_rate = (uint32_t)number_at(fmt + 4, 4);
  if (wav->format == (BurnWavFormat)FORMATS)
    return corrupt(wav, begin, "samples that are not PCM of 8, 16, 24 or 32 bits, nor floats of 32 or 64");
  wav->sample_bytes = formats[wav->format].bits / 8;
  if (wav->channels < 1 || wav->sample_rate < 1) return corrupt(wav, begin, "no channels, or no sample rate,");
  if (number_at(fmt + 12, 2) != wav->channels * wav->sample_bytes)
    return corrupt(wav, begin + 12, "frames of another size than channels and bits give");
  return BURN_OK;
}

static BurnStatus data_check(BurnWavFile *wav, uint64_t size, uint64_t file_bytes) {
  const uint64_t left = file_bytes - wav->offset, frame = wav->channels * wav->sample_bytes;
  if (wav->channels == 0) return corrupt(wav, wav->offset, "samples before their format");
  if (size > left) return corrupt(wav, file_bytes, "cut off");
  if (size % frame != 0) return corrupt(wav, wav->offset + size, "half a frame");
  if (size / frame > (uint64_t)PTRDIFF_MAX / sizeof(float) / wav->channels)
    return corrupt(wav, wav->offset, "more samples than memory");
  wav->frames = (size_t)(size / frame);
  return BURN_OK;
}

/* Chunks up to the samples. */
static BurnStatus header_read(BurnWavFile *wav, uint64_t file_bytes) {
  uint8_t bytes[12];
  BurnStatus status = bytes_read(wav, bytes, 12);
  if (status == BURN_OK && (memcmp(bytes, "RIFF", 4) != 0 || memcmp(bytes + 8, "WAVE", 4) != 0))
    return corrupt(wav, 0, "no RIFF WAVE file");
  while (status == BURN_OK) {
    status = bytes_read(wav, bytes, 8);
    if (status != BURN_OK) break;
    const uint64_t size = number_at(bytes + 4, 4);
    if (memcmp(bytes, "data", 4) == 0) return data_check(wav, size, file_bytes);
    const bool is_format = memcmp(bytes, "fmt ", 4) == 0;
    if (is_format && wav->channels > 0) return corrupt(wav, wav->offset, "a second format");
    status = is_format ? fmt_read(wav, size) : bytes_skip(wav, size + size % 2);
  }
  return status;
}

BurnStatus burn__wav_open(const char *path, BurnWavFile *wav) {
  uint64_t file_bytes = 0;
  *wav = (BurnWavFile){.path = path};
  BurnStatus status = burn__path_check("wav", path);
  if (status != BURN_OK) return status;
  status = burn_status_annotate(burn_file_open(path, &wav->file, &file_bytes), "wav: %s", path);
  if (status != BURN_OK) return status;
  status = header_read(wav, file_bytes);
  if (status != BURN_OK) fclose(wav->file);
  return status;
}

BurnStatus burn__wav_frames(BurnWavFile *wav, size_t frames, float *samples) {
  const size_t count = frames * wav->channels, bytes = count * wav->sample_bytes;
  uint8_t *raw = malloc(bytes + 1);
  if (raw == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "wav: %s: no memory for %zu frames", wav->path, frames);
  const BurnStatus status = bytes_read(wav, raw, bytes);
  for (size_t i = 0; status == BURN_OK && i < count; i++)
    samples[i] = sample_at(wav->format, raw + i * wav->sample_bytes);
  free(raw);
  return status;
}

BurnStatus burn_wav_read(const char *path, BurnWav *sound) {
  BurnWavFile wav;
  BurnStatus status = BURN_REQUIRED(sound, "a BurnWav");
  if (status != BURN_OK) return status;
  *sound = (BurnWav){0};
  status = burn__wav_open(path, &wav);
  if (status != BURN_OK) return status;
  float *samples = malloc((wav.frames * wav.channels + 1) * sizeof *samples);
  status = samples != NULL
               ? burn__wav_frames(&wav, wav.frames, samples)
               : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "wav: %s: no memory for %zu frames", path, wav.frames);
  fclose(wav.file);
  if (status == BURN_OK)
    *sound = (BurnWav){samples, wav.frames, wav.channels, wav.sample_rate, wav.format};
  else
    free(samples);
  return status;
}

void burn_wav_release(BurnWav *sound) {
  if (!sound) return;
  free(sound->samples);
  *sound = (BurnWav){0};
}

/* -- writing ---------------------------------------------------------------------------------- */

static BurnStatus sound_check(const char *path, const BurnWav *sound, uint64_t *bytes) {
  if (sound == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: %s: no sound", path);
  if ((unsigned)sound->format >= FORMATS || sound->channels < 1 || sound->channels > UINT16_MAX ||
      sound->sample_rate < 1)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: %s: format %d, %u channels, sample rate %u", path,
                            (int)sound->format, (unsigned)sound->channels, (unsigned)sound->sample_rate);
  const uint64_t frame = (uint64_t)sound->channels * (formats[sound->format].bits / 8);
  if (frame > UINT16_MAX || sound->frames > (UINT32_MAX - HEADER_BYTES) / frame)
    return burn_status_make(BURN_STATUS_OUT_OF_RANGE, "wav: %s: %zu frames of %u channels are more than a file holds",
                            path, sound->frames, (unsigned)sound->channels);
  if (sound->frames > 0 && sound->samples == NULL)
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: %s: %zu frames without samples", path, sound->frames);
  *bytes = sound->frames * frame;
  for (size_t i = 0; i < sound->frames * sound->channels && formats[sound->format].code == FORMAT_PCM; i++) {
    if (isnan(sound->samples[i]))
      return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: %s: sample %zu is not a number", path, i);
  }
  return BURN_OK;
}

static void header_put(const BurnWav *sound, uint64_t data_bytes, uint8_t *bytes) {
  const uint32_t bits = formats[sound->format].bits, frame = sound->channels * (bits / 8);
  memcpy(bytes, "RIFF", 4);
  number_put(bytes + 4, 4, HEADER_BYTES - 8 + data_bytes + data_bytes % 2);
  memcpy(bytes + 8, "WAVEfmt ", 8);
  number_put(bytes + 16, 4, 16);
  number_put(bytes + 20, 2, formats[sound->format].code);
  number_put(bytes + 22, 2, sound->channels);
  number_put(bytes + 24, 4, sound->sample_rate);
  number_put(bytes + 28, 4, (uint64_t)sound->sample_rate * frame);
  number_put(bytes + 32, 2, frame);
  number_put(bytes + 34, 2, bits);
  memcpy(bytes + 36, "data", 4);
  number_put(bytes + 40, 4, data_bytes);
}

BurnStatus burn_wav_write(const char *path, const BurnWav *sound) {
  uint64_t data_bytes = 0;
  BurnStatus status = burn__path_check("wav", path);
  if (status == BURN_OK) status = sound_check(path, sound, &data_bytes);
  if (status != BURN_OK) return status;
  const size_t count = HEADER_BYTES + (size_t)data_bytes + data_bytes % 2, size = formats[sound->format].bits / 8;
  uint8_t *bytes = calloc(1, count);
  if (bytes == NULL)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "wav: %s: no memory for %zu bytes", path, count);
  header_put(sound, data_bytes, bytes);
  for (size_t i = 0; i < sound->frames * sound->channels; i++)
    sample_put(sound->format, sound->samples[i], bytes + HEADER_BYTES + i * size);
  status = burn_status_annotate(burn_file_write(path, bytes, count), "wav: %s", path);
  free(bytes);
  return status;
}
