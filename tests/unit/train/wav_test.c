/* wav_test.c - sound files: bytes written here by hand, every format there and back, what is refused, and a dataset. */
#include <burn/train.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "file_testing.h"
#include "status_testing.h"

static const char path[] = "wav_test.wav", other_path[] = "wav_test_other.wav";

/* Stereo of 16 bits at 8 kHz: frames (0x0001, 0x8000) and (0x7fff, 0xffff); a chunk of odd size before the samples. */
static const uint8_t stereo[] = {'R', 'I', 'F', 'F', 0,   0,   0,   0,   'W',  'A',  'V', 'E',  'f',  'm',  't',  ' ',
                                 16,  0,   0,   0,   1,   0,   2,   0,   0x40, 0x1f, 0,   0,    0,    0x7d, 0,    0,
                                 4,   0,   16,  0,   'L', 'I', 'S', 'T', 3,    0,    0,   0,    'a',  'b',  'c',  0,
                                 'd', 'a', 't', 'a', 8,   0,   0,   0,   1,    0,    0,   0x80, 0xff, 0x7f, 0xff, 0xff};
enum { STEREO_BYTES = sizeof stereo, FMT = 20, LIST = 36, DATA = 48, SAMPLES = 56 };

static void bytes_become_samples(void **state) {
  (void)state;
  BurnWav sound;
  file_write(path, stereo, sizeof stereo);
  check_status(burn_wav_read(path, &sound));
  assert_true(sound.frames == 2 && sound.channels == 2 && sound.sample_rate == 8000);
  assert_int_equal(sound.format, BURN_WAV_PCM_16);
  const float expected[4] = {1 / 32768.0f, -1, 32767 / 32768.0f, -1 / 32768.0f};
  assert_memory_equal(sound.samples, expected, sizeof expected);
  burn_wav_release(&sound);
  assert_null(sound.samples);
  burn_wav_release(&sound);
}

/* Samples that a format can hold come back; others come back as the nearest one, clamped. */
static void every_format_goes_there_and_back(void **state) {
  (void)state;
  const struct {
    BurnWavFormat format;
    int bits; /* 0: floats */
  } cases[] = {{BURN_WAV_PCM_8, 8},   {BURN_WAV_PCM_16, 16}, {BURN_WAV_PCM_24, 24},
               {BURN_WAV_PCM_32, 32}, {BURN_WAV_F32, 0},     {BURN_WAV_F64, 0}};
  float samples[] = {0, 0.5f, -0.5f, -1, 0.3f, 1, 2, -3, 0.9999f};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (uint32_t channels = 1; channels <= 3; channels += 2) {
      const BurnWav sound = {samples, 9 / channels, channels, 44100, cases[i].format};
      BurnWav read;
      check_status(burn_wav_write(path, &sound));
      check_status(burn_wav_read(path, &read));
      assert_true(read.frames == 9 / channels && read.channels == channels && read.sample_rate == 44100);
      assert_int_equal(read.format, cases[i].format);
      const double step = ldexp(1, 1 - cases[i].bits);
      for (size_t j = 0; j < 9; j++) {
        const double whole = (double)samples[j];
        const double clamped = fmin(fmax(whole, -1), 1 - step);
        const double error = fabs((double)read.samples[j] - (cases[i].bits ? clamped : whole));
        if (error > (cases[i].bits ? fmax(step / 2, 0x1p-24) : 0)) fail_msg("format %zu, sample %zu: %g", i, j, error);
      }
      burn_wav_release(&read);
    }
  }
}

/* The bytes of a file as they have to be, its pad too: three samples of 8 bits. */
static void written_bytes_are_known(void **state) {
  (void)state;
  float samples[] = {-1, 0, 0.5f};
  const uint8_t expected[] = {'R', 'I', 'F', 'F', 40,  0,   0,   0,   'W',  'A',  'V', 'E', 'f',  'm',  't', ' ',
                              16,  0,   0,   0,   1,   0,   1,   0,   0x40, 0x1f, 0,   0,   0x40, 0x1f, 0,   0,
                              1,   0,   8,   0,   'd', 'a', 't', 'a', 3,    0,    0,   0,   0,    128,  192, 0};
  uint8_t bytes[64];
  check_status(burn_wav_write(path, &(BurnWav){samples, 3, 1, 8000, BURN_WAV_PCM_8}));
  FILE *file = fopen(path, "rb");
  assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof expected);
  fclose(file);
  assert_memory_equal(bytes, expected, sizeof expected);
}

/* One byte of the good file changed, or the file cut. */
static void bad_files_are_refused(void **state) {
  (void)state;
  const struct {
    size_t at;
    uint8_t value;
    size_t bytes; /* of the file */
    const char *message;
  } cases[] = {
      {0, 'r', STEREO_BYTES, "no RIFF WAVE file at byte 0"},
      {8, 'w', STEREO_BYTES, "no RIFF WAVE file at byte 0"},
      {0, 'R', 10, "cut off at byte 10"},
      {0, 'R', FMT + 5, "cut off at byte 25"},
      {0, 'R', DATA, "cut off at byte 48"},
      {0, 'R', STEREO_BYTES - 1, "cut off at byte 63"},
      {FMT - 4, 15, STEREO_BYTES, "a format that is too short at byte 20"},
      {FMT, 2, STEREO_BYTES, "samples that are not PCM of 8, 16, 24 or 32 bits, nor floats of 32 or 64 at byte 20"},
      {FMT + 14, 12, STEREO_BYTES,
       "samples that are not PCM of 8, 16, 24 or 32 bits, nor floats of 32 or 64 at byte 20"},
      {FMT + 2, 0, STEREO_BYTES, "no channels, or no sample rate, at byte 20"},
      {FMT + 12, 2, STEREO_BYTES, "frames of another size than channels and bits give at byte 32"},
      {FMT - 8, 'F', STEREO_BYTES, "samples before their format at byte 56"},
      {DATA + 4, 7, STEREO_BYTES, "half a frame at byte 63"},
      {DATA + 7, 255, STEREO_BYTES, "cut off at byte 64"},
      {LIST + 7, 127, STEREO_BYTES, "cut off at byte 2130706480"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t bytes[STEREO_BYTES];
    char message[256];
    BurnWav sound;
    memcpy(bytes, stereo, sizeof bytes);
    bytes[cases[i].at] = cases[i].value;
    file_write(path, bytes, cases[i].bytes);
    const BurnStatus status = burn_wav_read(path, &sound);
    snprintf(message, sizeof message, "wav: %s: %s", path, cases[i].message);
    assert_int_equal(burn_status_code(status), BURN_STATUS_CORRUPT_DATA);
    assert_string_equal(burn_status_message(status), message);
    assert_null(sound.samples);
  }
  BurnWav sound;
  const BurnStatus status = burn_wav_read("no-such-file.wav", &sound);
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
}

static void bad_sounds_are_not_written(void **state) {
  (void)state;
  float samples[] = {0, (float)NAN};
  const struct {
    BurnWav sound;
    uint32_t code;
    const char *part;
  } cases[] = {
      {{samples, 2, 1, 8000, BURN_WAV_PCM_16}, BURN_STATUS_INVALID_ARGUMENT, "sample 1 is not a number"},
      {{samples, 1, 0, 8000, BURN_WAV_PCM_16}, BURN_STATUS_INVALID_ARGUMENT, "0 channels"},
      {{samples, 1, 1, 0, BURN_WAV_PCM_16}, BURN_STATUS_INVALID_ARGUMENT, "sample rate 0"},
      {{samples, 1, 1, 8000, (BurnWavFormat)6}, BURN_STATUS_INVALID_ARGUMENT, "format 6"},
      {{samples, SIZE_MAX, 1, 8000, BURN_WAV_PCM_16}, BURN_STATUS_OUT_OF_RANGE, "more than a file holds"},
      {{samples, 1, 65535, 8000, BURN_WAV_PCM_16}, BURN_STATUS_OUT_OF_RANGE, "65535 channels"},
      {{NULL, 1, 1, 8000, BURN_WAV_PCM_16}, BURN_STATUS_INVALID_ARGUMENT, "1 frames without samples"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const BurnStatus status = burn_wav_write(path, &cases[i].sound);
    assert_int_equal(burn_status_code(status), cases[i].code);
    assert_non_null(strstr(burn_status_message(status), cases[i].part));
  }
  BurnWav read; /* a file of floats may hold it */
  check_status(burn_wav_write(path, &(BurnWav){samples, 2, 1, 8000, BURN_WAV_F32}));
  check_status(burn_wav_read(path, &read));
  assert_true(isnan(read.samples[1]));
  burn_wav_release(&read);
}

/* -- the dataset ------------------------------------------------------------------------------ */

static void items_are_cut_or_filled_up(void **state) {
  (void)state;
  float five[] = {0.5f, 0.25f, -0.5f, -0.25f, 0.125f};
  const char *const paths[] = {path, other_path};
  const int64_t labels[] = {7, 9};
  BurnStatus status = BURN_OK;
  file_write(path, stereo, sizeof stereo);
  check_status(burn_wav_write(other_path, &(BurnWav){five, 2, 2, 16000, BURN_WAV_F32}));
  BurnDataset *dataset =
      burn_dataset_wav(paths, 2, &(BurnWavConfig){.frames = 3, .channels = 2, .labels = labels}, &status);
  check_status(status);
  float samples[6];
  int64_t frames, label;
  assert_int_equal(burn_dataset_count(dataset), 2);
  check_status(burn_dataset_get(dataset, 1, (void *const[]){samples, &frames, &label}));
  assert_memory_equal(samples, ((const float[]){0.5f, -0.5f, 0, 0.25f, -0.25f, 0}), sizeof samples);
  assert_true(frames == 2 && label == 9);
  burn_dataset_drop(dataset);
  dataset = burn_dataset_wav(paths, 2, &(BurnWavConfig){.frames = 1, .channels = 2}, &status);
  assert_int_equal(burn_dataset_column_count(dataset), 2);
  check_status(burn_dataset_get(dataset, 0, (void *const[]){samples, &frames}));
  assert_true(samples[0] == 1 / 32768.0f && samples[1] == -1 && frames == 1);

  remove(path); /* what has gone since is told by the item */
  status = burn_dataset_get(dataset, 0, (void *const[]){samples, &frames});
  assert_int_equal(burn_status_code(status), BURN_STATUS_NOT_FOUND);
  assert_non_null(strstr(burn_status_message(status), path));
  burn_dataset_drop(dataset);
}

static void bad_files_end_it_or_are_left_out(void **state) {
  (void)state;
  float one[] = {0.5f};
  const char *const paths[] = {other_path, path, "no-such-file.wav", other_path};
  const int64_t labels[] = {1, 2, 3, 4};
  size_t skipped = 99;
  BurnWavConfig config = {.frames = 1, .sample_rate = 16000, .labels = labels};
  BurnStatus status = BURN_OK;
  check_status(burn_wav_write(path, &(BurnWav){one, 1, 1, 8000, BURN_WAV_PCM_16}));
  check_status(burn_wav_write(other_path, &(BurnWav){one, 1, 1, 16000, BURN_WAV_PCM_16}));
  assert_null(burn_dataset_wav(paths, 4, &config, &status));
  assert_string_equal(burn_status_message(status),
                      "wav: wav_test.wav: 1 channels at 8000 frames per second, 1 at 16000 expected");
  status = BURN_OK;
  config.read = (BurnReadConfig){true, &skipped};
  BurnDataset *dataset = burn_dataset_wav(paths, 4, &config, &status);
  check_status(status);
  assert_true(skipped == 2 && burn_dataset_count(dataset) == 2);
  float sample;
  int64_t frames, label;
  check_status(burn_dataset_get(dataset, 1, (void *const[]){&sample, &frames, &label}));
  assert_true(label == 4 && sample == 0.5f);
  burn_dataset_drop(dataset);
  assert_null(burn_dataset_wav(paths, 4, &(BurnWavConfig){.frames = 0}, &status));
  assert_string_equal(burn_status_message(status), "wav: items of 0 frames and 0 channels");
}

static int remove_files(void **state) {
  (void)state;
  remove(path);
  remove(other_path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_become_samples),
      cmocka_unit_test(every_format_goes_there_and_back),
      cmocka_unit_test(written_bytes_are_known),
      cmocka_unit_test(bad_files_are_refused),
      cmocka_unit_test(bad_sounds_are_not_written),
      cmocka_unit_test(items_are_cut_or_filled_up),
      cmocka_unit_test(bad_files_end_it_or_are_left_out),
  };
  return cmocka_run_group_tests_name("wav", tests, NULL, remove_files);
}
