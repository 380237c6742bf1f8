/* fuzz_wav.c - WAV files: read, as an item of a dataset, and what was read written and read again.
 *
 * Input: the file. */
#include "fuzz_target.h"

#include <burn/train.h>

#include <math.h>

enum { FRAMES = 7 };

static void dataset_check(const BurnWav *sound) {
  const char *const paths[] = {"in.wav", "in.wav"};
  BurnStatus status = BURN_OK;
  const BurnWavConfig config = {.frames = FRAMES, .channels = sound->channels};
  BurnDataset *data = burn_dataset_wav(paths, 2, &config, &status);
  FUZZ_REQUIRE(fuzz_ok(status), "a file that is read is not an item: %s", burn_status_message(status));
  float *samples = calloc(FRAMES, sound->channels * sizeof *samples);
  int64_t frames = -1;
  status = burn_dataset_get(data, 1, (void *const[]){samples, &frames});
  FUZZ_REQUIRE(fuzz_ok(status) && frames >= 0 && frames <= FRAMES, "an item of %lld frames", (long long)frames);
  for (size_t i = 0; i < (size_t)frames * sound->channels; i++) {
    const float one = samples[i % sound->channels * FRAMES + i / sound->channels], other = sound->samples[i];
    FUZZ_REQUIRE(memcmp(&one, &other, sizeof one) == 0, "sample %zu of the item is another", i);
  }
  free(samples);
  burn_dataset_drop(data);
}

static void write_check(const BurnWav *sound) {
  BurnWav again;
  FUZZ_REQUIRE(fuzz_ok(burn_wav_write("out.wav", sound)) && fuzz_ok(burn_wav_read("out.wav", &again)),
               "what was read is not written");
  FUZZ_REQUIRE(again.frames == sound->frames && again.channels == sound->channels && again.format == sound->format,
               "the sound is another: %zu frames", again.frames);
  for (size_t i = 0; i < again.frames * again.channels; i++) {
    const float one = again.samples[i], other = sound->samples[i];
    FUZZ_REQUIRE(one == other || (isnan(one) && isnan(other)), "sample %zu is another", i);
  }
  burn_wav_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const FuzzInput input = {bytes, count};
  BurnWav sound;
  fuzz_scratch_clear();
  fuzz_file_write("in.wav", input);
  const BurnStatus status = burn_wav_read("in.wav", &sound);
  FUZZ_REQUIRE(fuzz_ok(status) == (sound.samples != NULL), "a sound and a failure, or neither");
  if (sound.samples != NULL) {
    FUZZ_REQUIRE(sound.frames <= count && sound.channels > 0, "%zu frames of %zu bytes", sound.frames, count);
    dataset_check(&sound);
    write_check(&sound);
  }
  burn_wav_release(&sound);
  return 0;
}
