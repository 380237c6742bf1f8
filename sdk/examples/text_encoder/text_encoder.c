/* text_encoder.c - which text is nearest in meaning? A pretrained encoder and
 * its tokenizer tell.
 *
 *   text_encoder --model model.onnx --tokenizer tokenizer.json QUERY TEXT...
 *   text_encoder --split --model sentences.onnx TEXT...
 *
 * Any encoder in ONNX will do, with the tokenizer that it was trained with:
 * tokens go in, a vector for each comes out; their mean stands for the text
 * (embed.c). With --split a network whose tokens are bytes cuts texts into
 * sentences (sentences.c). */
#include "embed.h"
#include "sentences.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/numpy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 256 };

typedef struct Options {
  const char *model, *tokenizer, *output_name, *pooling, *output, *backend;
  const char *texts[MAX_TEXTS]; /* NULL after the last */
  size_t max_length;
  double threshold;
  bool split, json;
} Options;

static size_t text_count(const Options *options) {
  size_t count = 0;
  while (count < MAX_TEXTS && options->texts[count]) count++;
  return count;
}

/* -- the nearest text ------------------------------------------------------ */

/* A text and how near it is to the first: the cosine of their angle. */
typedef struct Near {
  const char *text;
  double cosine;
} Near;

static int by_nearness(const void *a, const void *b) {
  const double left = ((const Near *)a)->cosine;
  const double right = ((const Near *)b)->cosine;
  return (left < right) - (left > right);
}

/* Cosines of all rows with the first; rows have length 1. */
static BurnStatus measure(const Options *options, BurnTensor *vectors,
                          Near *near, size_t count) {
  float cosines[MAX_TEXTS];
  BurnTensor *first = burn_transpose(burn_narrow(burn_clone(vectors), 0, 0, 1));
  const BurnStatus status =
      burn_read_f32(burn_matmul(vectors, first), cosines, count);
  if (status != BURN_OK) return status;
  for (size_t i = 0; i < count; i++) {
    near[i] = (Near){options->texts[i], (double)cosines[i]};
  }
  qsort(near + 1, count - 1, sizeof *near, by_nearness);
  return BURN_OK;
}

static void print_near(const Options *options, const Near *near) {
  if (options->json) {
    printf("{\"event\":\"text\",\"cosine\":%s,\"text\":%s}\n",
           json_number(near->cosine).text, json_text(near->text).text);
  } else {
    printf("%7.4f  %s\n", near->cosine, near->text);
  }
}

static BurnStatus compare_by(const Options *options, const Encoder *encoder) {
  const size_t count = text_count(options);
  BurnStatus status = BURN_OK;
  size_t tokens = 0;
  Near near[MAX_TEXTS];
  BurnTensor *vectors =
      embed_texts(encoder, options->texts, count, &tokens, &status);
  if (!vectors) return status;
  const long long width = (long long)burn_dim(vectors, 1);
  if (options->output) {
    status = burn_npy_write(options->output, burn_clone(vectors));
  }
  if (status != BURN_OK) {
    burn_drop(vectors);
    return status;
  }
  status = measure(options, vectors, near, count);
  if (status != BURN_OK) return status;
  for (size_t i = 1; i < count; i++) print_near(options, &near[i]);
  printf(
      "%s\"backend\":%s,\"texts\":%zu,\"tokens\":%zu,\"width\":%lld,"
      "\"cosine\":%s,\"nearest\":%s}\n",
      result_begin(options->json),
      json_text(burn_device_name(encoder->device)).text, count, tokens, width,
      json_number(near[1].cosine).text, json_text(near[1].text).text);
  return BURN_OK;
}

static BurnStatus compare_on(const Options *options, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  Encoder encoder = {.device = device,
                     .output = options->output_name,
                     .max_length = options->max_length,
                     .pooling = strcmp(options->pooling, "first") == 0
                                    ? EMBED_FIRST
                                    : EMBED_MEAN};
  encoder.tokenizer = burn_text_tokenizer_open(options->tokenizer, &status);
  if (!encoder.tokenizer) return status;
  encoder.graph = burn_onnx_load(options->model, device, &status);
  if (encoder.graph) status = compare_by(options, &encoder);
  burn_graph_release(encoder.graph);
  burn_text_tokenizer_destroy(encoder.tokenizer);
  return status;
}

/* -- sentences ------------------------------------------------------------- */

/* Without the spaces around it; the byte after its end is overwritten. */
static void print_sentence(const Options *options, char *text, size_t length) {
  for (; length > 0 && text[0] == ' '; length--) text++;
  while (length > 0 && text[length - 1] == ' ') length--;
  text[length] = '\0';
  if (options->json) {
    printf("{\"event\":\"sentence\",\"text\":%s}\n", json_text(text).text);
  } else {
    printf("%s\n", text);
  }
}

/* What is left at the end of a text is a sentence, too. */
static BurnStatus print_sentences(const Options *options, const char *text,
                                  const bool *ends, size_t *count) {
  const size_t length = strlen(text);
  char *sentence = malloc(length + 1);
  if (!sentence)
    return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0, begin = 0; i < length; i++) {
    if (!ends[i] && i + 1 < length) continue;
    memcpy(sentence, text + begin, i + 1 - begin);
    print_sentence(options, sentence, i + 1 - begin);
    begin = i + 1;
    ++*count;
  }
  free(sentence);
  return BURN_OK;
}

static BurnStatus split_text(const Options *options, BurnGraph *graph,
                             BurnDevice *device, const char *text,
                             size_t *count) {
  const size_t length = strlen(text);
  bool *ends = calloc(length + 1, sizeof *ends);
  if (!ends) return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "no memory");
  BurnStatus status =
      sentences_find(graph, device, text, length, options->threshold, ends);
  if (status == BURN_OK) status = print_sentences(options, text, ends, count);
  free(ends);
  return status;
}

static BurnStatus split_on(const Options *options, BurnDevice *device) {
  BurnStatus status = BURN_OK;
  size_t sentences = 0;
  BurnGraph *graph = burn_onnx_load(options->model, device, &status);
  for (size_t i = 0; i < text_count(options) && status == BURN_OK; i++) {
    status = split_text(options, graph, device, options->texts[i], &sentences);
  }
  burn_graph_release(graph);
  if (status != BURN_OK) return status;
  printf("%s\"backend\":%s,\"texts\":%zu,\"sentences\":%zu}\n",
         result_begin(options->json), json_text(burn_device_name(device)).text,
         text_count(options), sentences);
  return BURN_OK;
}

/* -- program --------------------------------------------------------------- */

static BurnStatus encode(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) {
    status = options->split ? split_on(options, device)
                            : compare_on(options, device);
  }
  burn_device_close(device);
  return status;
}

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  const bool is_pooling =
      strcmp(o->pooling, "mean") == 0 || strcmp(o->pooling, "first") == 0;
  (void)command;
  if (!o->model) return "give the model with --model";
  if (!is_pooling) return "--pooling is not mean or first";
  if (o->split) {
    if (!o->texts[0]) return "give a text to split";
    return o->threshold > 0 && o->threshold < 1
               ? NULL
               : "--threshold is not between 0 and 1";
  }
  if (!o->tokenizer) return "give the tokenizer with --tokenizer";
  return o->texts[0] && o->texts[1]
             ? NULL
             : "give a text, and one or more to compare it with";
}

int main(int argc, char **argv) {
  Options options = {.pooling = "mean", .max_length = 512, .threshold = 0.5};
  const Argument arguments[] = {
      {"model", ARGUMENT_TEXT, &options.model, "FILE", "the network, in ONNX"},
      {"tokenizer", ARGUMENT_TEXT, &options.tokenizer, "FILE",
       "tokenizer.json, .model, .gguf or vocab.txt"},
      {"max-length", ARGUMENT_SIZE, &options.max_length, "N",
       "tokens of a text at most; 0: all"},
      {"pooling", ARGUMENT_TEXT, &options.pooling, "HOW",
       "mean of the tokens, or first"},
      {"output-name", ARGUMENT_TEXT, &options.output_name, "NAME",
       "the output of the network; default: its first"},
      {"output", ARGUMENT_TEXT, &options.output, "FILE",
       "write the vectors, as .npy"},
      {"split", ARGUMENT_FLAG, &options.split, NULL,
       "cut texts into sentences, by a network over bytes"},
      {"threshold", ARGUMENT_NUMBER, &options.threshold, "X",
       "split: how likely the end of a sentence has to be"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"encode", encode}};
  const Program program = {
      .name = "text_encoder",
      .usage =
          "usage: text_encoder --model FILE --tokenizer FILE [options] QUERY "
          "TEXT...\n"
          "       text_encoder --split --model FILE [options] TEXT...",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of,
      .words = options.texts,
      .word_capacity = MAX_TEXTS};
  return program_main(&program, argc, argv, &options);
}
