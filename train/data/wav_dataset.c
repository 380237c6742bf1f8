/* wav_dataset.c - a sound file per item. Headers are read when the dataset is made, samples by `get`: so memory is that
 * of the paths, and workers read files at once. */
#include "dataset_private.h"
#include "wav_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct WavContext {
  size_t frames; /* of an item */
  uint32_t channels, sample_rate;
  int64_t *labels; /* NULL: none */
  size_t count;
  char *paths[];
} WavContext;

static void wav_destroy(void *context) {
  WavContext *wavs = context;
  for (size_t i = 0; i < wavs->count; i++) free(wavs->paths[i]);
  free(wavs->labels);
  free(wavs);
}

/* Opens a file that is as the others are. */
static BurnStatus file_open(const WavContext *wavs, const char *path, BurnWavFile *wav) {
  const BurnStatus status = burn__wav_open(path, wav);
  if (status != BURN_OK) return status;
  if (wav->channels == wavs->channels && (wavs->sample_rate == 0 || wav->sample_rate == wavs->sample_rate))
    return BURN_OK;
  fclose(wav->file);
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT,
                          "wav: %s: %u channels at %u frames per second, %u at %u expected", path,
                          (unsigned)wav->channels, (unsigned)wav->sample_rate, (unsigned)wavs->channels,
                          (unsigned)(wavs->sample_rate > 0 ? wavs->sample_rate : wav->sample_rate));
}

/* Frames [frames, channels] become [channels, frames] of the item, whose rest is silence. */
static void samples_put(const WavContext *wavs, const float *samples, size_t frames, float *out) {
  memset(out, 0, wavs->frames * wavs->channels * sizeof *out);
  for (size_t channel = 0; channel < wavs->channels; channel++) {
    for (size_t i = 0; i < frames; i++) out[channel * wavs->frames + i] = samples[i * wavs->channels + channel];
  }
}

static BurnStatus wav_get(void *context, size_t index, void *const *columns) {
  const WavContext *wavs = context;
  BurnWavFile wav;
  BurnStatus status = file_open(wavs, wavs->paths[index], &wav);
  if (status != BURN_OK) return status;
  const size_t frames = wav.frames < wavs->frames ? wav.frames : wavs->frames;
  float *samples = malloc((frames * wav.channels + 1) * sizeof *samples);
  status = samples != NULL
               ? burn__wav_frames(&wav, frames, samples)
               : burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "wav: %s: no memory for %zu frames", wav.path, frames);
  fclose(wav.file);
  if (status == BURN_OK) {
    const int64_t length = (int64_t)frames;
    samples_put(wavs, samples, frames, columns[0]);
    memcpy(columns[1], &length, sizeof length);
    if (wavs->labels != NULL) memcpy(columns[2], &wavs->labels[index], sizeof wavs->labels[index]);
  }
  free(samples);
  return status;
}

/* -- making it -------------------------------------------------------------------------------- */

/* Adds a file if its header is right, or is not left out. */
static BurnStatus path_add(WavContext *wavs, const char *path, const int64_t *label, bool skips, BurnSkips *skipped) {
  BurnWavFile wav;
  const BurnStatus status = file_open(wavs, path, &wav);
  const bool out_of_memory = burn_status_code(status) == BURN_STATUS_OUT_OF_MEMORY;
  if (status != BURN_OK && skips && !out_of_memory) {
    burn__skip(skipped, burn_status_message(status));
    return BURN_OK;
  }
  if (status != BURN_OK) return status;
  fclose(wav.file);
  const size_t bytes = strlen(path) + 1;
  char *copy = malloc(bytes);
  if (copy == NULL) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "wav: no memory for a path");
  wavs->paths[wavs->count] = memcpy(copy, path, bytes);
  if (label != NULL) wavs->labels[wavs->count] = *label;
  wavs->count++;
  return BURN_OK;
}

static WavContext *context_create(size_t count, const BurnWavConfig *config) {
  const bool fits = count <= ((size_t)PTRDIFF_MAX - sizeof(WavContext)) / sizeof(int64_t);
  WavContext *wavs = fits ? calloc(1, sizeof *wavs + count * sizeof(char *)) : NULL;
  if (wavs == NULL) return NULL;
  *wavs = (WavContext){config->frames, config->channels > 0 ? config->channels : 1, config->sample_rate, NULL, 0};
  if (config->labels != NULL) wavs->labels = malloc((count + 1) * sizeof *wavs->labels);
  if (config->labels == NULL || wavs->labels != NULL) return wavs;
  free(wavs);
  return NULL;
}

static BurnStatus arguments_check(const char *const *paths, size_t count, const BurnWavConfig *config) {
  if (config == NULL) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: the config is NULL");
  if (paths == NULL && count > 0) return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: the paths are NULL");
  if (config->frames >= 1 && config->frames <= (size_t)INT64_MAX && config->channels <= UINT16_MAX) return BURN_OK;
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: items of %zu frames and %u channels", config->frames,
                          (unsigned)config->channels);
}

BurnDataset *burn_dataset_wav(const char *const *paths, size_t count, const BurnWavConfig *config, BurnStatus *status) {
  BurnSkips skipped = {0};
  BurnStatus result = burn__entry_status(status);
  if (result == BURN_OK) result = arguments_check(paths, count, config);
  WavContext *wavs = result == BURN_OK ? context_create(count, config) : NULL;
  if (result == BURN_OK && wavs == NULL)
    result = burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "wav: no memory for %zu paths", count);
  for (size_t i = 0; result == BURN_OK && i < count; i++)
    result =
        path_add(wavs, paths[i], config->labels != NULL ? &config->labels[i] : NULL, config->read.skip_bad, &skipped);
  if (result != BURN_OK) {
    if (wavs != NULL) wav_destroy(wavs);
    burn__store_status(status, result);
    return NULL;
  }
  burn__skips_end(&skipped, &config->read);
  const BurnColumn columns[] = {
      {"samples", BURN_DTYPE_F32, BURN_SHAPE((int64_t)wavs->channels, (int64_t)config->frames)},
      {"frames", BURN_DTYPE_I64, {0, {0}}},
      {"label", BURN_DTYPE_I64, {0, {0}}}};
  const BurnDatasetInterface interface = {
      config->labels != NULL ? 3 : 2, columns, wavs->count, wav_get, wav_destroy, wavs};
  return burn_dataset_create(&interface, status);
}
