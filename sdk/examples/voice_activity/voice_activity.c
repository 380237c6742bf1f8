/* voice_activity.c - when does somebody speak? A pretrained network hears it.
 *
 *   voice_activity --model silero_vad_16k_op15.onnx SOUND.wav
 *
 * The model is Silero VAD for 16 kHz (MIT), an ONNX graph with an LSTM. It
 * hears 32 ms at a time, with the 4 ms before them, and hands its state from
 * one window to the next; what it says of each becomes stretches of speech. */
#define _POSIX_C_SOURCE 200809L
#include "speech.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/burn.h>
#include <burn/numpy.h>
#include <burn/onnx.h>
#include <burn/train/wav.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000, WINDOW = 512, BEFORE = 64, STATE = 128 };

typedef struct Options {
  const char *model, *sound, *output, *backend;
  double threshold;
  bool json;
} Options;

/* -- the network ----------------------------------------------------------- */

/* How likely a window is speech; *state [2, 1, STATE] is taken, and another
 * one given. */
static BurnStatus hear(BurnGraph *graph, BurnDevice *device,
                       const float *samples, BurnTensor **state,
                       float *probability) {
  const int64_t rate = RATE;
  BurnTensor *const inputs[] = {
      burn_tensor_f32(device, samples, BURN_SHAPE(1, BEFORE + WINDOW)), *state,
      burn_tensor_i64(device, &rate, BURN_SHAPE(1))};
  BurnTensor *outputs[2];
  const BurnStatus status = burn_graph_run(graph, inputs, 3, outputs, 2);
  *state = outputs[1];
  return status == BURN_OK ? burn_read_f32(outputs[0], probability, 1) : status;
}

/* All windows of a sound, the last one filled up with zeros. `samples` has
 * BEFORE zeros first and room for a whole last window. */
static BurnStatus hear_all(BurnGraph *graph, BurnDevice *device,
                           const float *samples, float *probabilities,
                           size_t count) {
  BurnTensor *state =
      burn_zeros(device, BURN_SHAPE(2, 1, STATE), BURN_DTYPE_F32);
  BurnStatus status = BURN_OK;
  for (size_t i = 0; i < count && status == BURN_OK; i++) {
    status =
        hear(graph, device, samples + i * WINDOW, &state, &probabilities[i]);
  }
  if (state) burn_drop(state);
  return status;
}

/* -- the sound ------------------------------------------------------------- */

typedef struct Run {
  BurnWav sound;
  size_t windows;
  float *samples;       /* [BEFORE + windows * WINDOW] */
  float *probabilities; /* [windows] */
  Stretch *stretches;   /* [count], of at most `windows` */
  size_t count;
} Run;

static BurnStatus read_sound(const Options *options, Run *run) {
  BurnStatus status = burn_wav_read(options->sound, &run->sound);
  if (status != BURN_OK) return status;
  const BurnWav *sound = &run->sound;
  if (sound->sample_rate != RATE || sound->channels != 1) {
    return burn_status_make(
        BURN_STATUS_INVALID_ARGUMENT,
        "%s: %u Hz and %u channels; the model hears one channel of %d Hz "
        "(sox %s -r 16k -c 1 out.wav)",
        options->sound, (unsigned)sound->sample_rate, (unsigned)sound->channels,
        (int)RATE, options->sound);
  }
  run->windows = (sound->frames + WINDOW - 1) / WINDOW;
  run->samples = calloc(BEFORE + run->windows * WINDOW, sizeof(float));
  run->probabilities = calloc(run->windows + 1, sizeof(float));
  run->stretches = calloc(run->windows + 1, sizeof(Stretch));
  if (!run->samples || !run->probabilities || !run->stretches) {
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  }
  memcpy(run->samples + BEFORE, sound->samples,
         sound->frames * sizeof *sound->samples);
  return BURN_OK;
}

/* -- what came of it ------------------------------------------------------- */

static double seconds_of(size_t samples) {
  return (double)samples / (double)RATE;
}

static void find_stretches(const Options *options, Run *run) {
  const SpeechRule rule = {.threshold = options->threshold,
                           .window = WINDOW,
                           .least_silence = RATE / 10,
                           .least_speech = RATE / 4,
                           .margin = RATE * 3 / 100};
  run->count =
      speech_stretches(&rule, run->probabilities, run->windows,
                       run->sound.frames, run->stretches, run->windows);
}

/* A line for each stretch, in seconds, and the sum of them. */
static void print_stretches(const Options *options, const BurnDevice *device,
                            const Run *run) {
  double spoken = 0;
  for (size_t i = 0; i < run->count; i++) {
    const double begin = seconds_of(run->stretches[i].begin);
    const double end = seconds_of(run->stretches[i].end);
    spoken += end - begin;
    if (options->json) {
      printf("{\"event\":\"speech\",\"begin\":%.3f,\"end\":%.3f}\n", begin,
             end);
    } else {
      printf("speech from %8.3f s to %8.3f s\n", begin, end);
    }
  }
  printf(
      "%s\"backend\":%s,\"seconds\":%.3f,\"spoken\":%.3f,"
      "\"stretches\":%zu}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      seconds_of(run->sound.frames), spoken, run->count);
}

static BurnStatus write_probabilities(const Options *options,
                                      BurnDevice *device, const Run *run) {
  if (!options->output) return BURN_OK;
  const BurnShape shape = BURN_SHAPE((int64_t)run->windows);
  return burn_npy_write(options->output,
                        burn_tensor_f32(device, run->probabilities, shape));
}

static BurnStatus listen_on(const Options *options, BurnDevice *device,
                            Run *run) {
  BurnStatus status = read_sound(options, run);
  if (status != BURN_OK) return status;
  BurnGraph *graph = burn_onnx_load(options->model, device, &status);
  if (!graph) return status;
  status =
      hear_all(graph, device, run->samples, run->probabilities, run->windows);
  burn_graph_release(graph);
  if (status == BURN_OK) status = write_probabilities(options, device, run);
  if (status != BURN_OK) return status;
  find_stretches(options, run);
  print_stretches(options, device, run);
  return BURN_OK;
}

/* -- program --------------------------------------------------------------- */

static BurnStatus listen(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  Run run = {.windows = 0};
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = listen_on(options, device, &run);
  burn_wav_release(&run.sound);
  free(run.samples);
  free(run.probabilities);
  free(run.stretches);
  burn_device_close(device);
  return status;
}

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  (void)command;
  if (!o->sound) return "give a sound, a WAV file";
  if (!o->model) return "give the model with --model";
  return o->threshold > 0 && o->threshold < 1
             ? NULL
             : "--threshold is not between 0 and 1";
}

int main(int argc, char **argv) {
  Options options = {.threshold = 0.5};
  const Argument arguments[] = {
      {"model", ARGUMENT_TEXT, &options.model, "FILE",
       "Silero VAD for 16 kHz, in ONNX"},
      {"threshold", ARGUMENT_NUMBER, &options.threshold, "X",
       "how likely a window has to be speech"},
      {"output", ARGUMENT_TEXT, &options.output, "FILE",
       "write what each window is likely to be, as .npy"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"listen", listen}};
  const Program program = {
      .name = "voice_activity",
      .usage = "usage: voice_activity --model FILE [options] SOUND.wav",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of,
      .words = &options.sound,
      .word_capacity = 1};
  return program_main(&program, argc, argv, &options);
}
