/* text_classification.c - what is a piece of news about? A transformer over the
 * words of AG News.
 *
 *   text_classification --data FOLDER       train, then measure on the test set
 *   text_classification infer --text TEXT   the class of a text, by what was
 *                                           saved
 *
 * FOLDER has a file of training data and one of test data, as texts.h says. A
 * tenth of the training data is for validation; the test set is looked at once,
 * at the end, by an evaluator. */
#define _POSIX_C_SOURCE 200809L
#include "texts.h"

#include "../common/commands.h"
#include "../common/result.h"

#include <burn/nn.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLASSES = 4, MAX_WORDS = 512 };
static const char *const class_names[CLASSES] = {"World", "Sports", "Business",
                                                 "Sci/Tech"};

/* -- model ----------------------------------------------------------------- */

#define CLASSIFIER_CONFIG(REQ, OPT)               \
  REQ(BurnSize, vocabulary, "words")              \
  OPT(BurnSize, length, 64, "words of a text")    \
  OPT(BurnSize, d_model, 64, "size of a word")    \
  OPT(BurnSize, n_layers, 1, "blocks")            \
  OPT(BurnSize, n_heads, 4, "heads of attention") \
  OPT(BurnF64, dropout, 0.5, "share dropped in training")
BURN_CONFIG(ClassifierConfig, CLASSIFIER_CONFIG);

#define CLASSIFIER_FIELDS(X)                            \
  X(BurnEmbedding, words, "words -> d_model")           \
  X(BurnEmbedding, positions, "places -> d_model")      \
  X(BurnDropout, dropout, "after both, and at the end") \
  X(BurnTransformerEncoder, blocks, "words see words")  \
  X(BurnLinear, head, "mean of all words -> classes")
BURN_MODULE(Classifier, CLASSIFIER_FIELDS);

/* Small first values: a rare word, which is met in few steps, says little. */
static BurnEmbedding embedding_of(size_t count, size_t d, BurnDevice *device) {
  BurnEmbeddingConfig config = BurnEmbeddingConfig_defaults(count, d);
  config.initializer = (BurnInitializer)BURN_NORMAL(0, 0.02);
  return burn_embedding_init(&config, device);
}

static Classifier classifier_init(const ClassifierConfig *config,
                                  BurnDevice *device) {
  const size_t d = config->d_model;
  BurnTransformerEncoderConfig blocks = BurnTransformerEncoderConfig_defaults(
      d, 2 * d, config->n_heads, config->n_layers);
  blocks.norm_first = true;
  blocks.dropout = config->dropout;
  return (Classifier){.words = embedding_of(config->vocabulary, d, device),
                      .positions = embedding_of(config->length, d, device),
                      .dropout = burn_dropout_new(config->dropout, device),
                      .blocks = burn_transformer_encoder_init(&blocks, device),
                      .head = burn_linear_new(d, CLASSES, device)};
}

/* The mean of x [batch, length, d] over what is not a pad -> [batch, d]. */
static BurnTensor *mean_of_words(BurnTensor *x, BurnTensor *is_pad) {
  BurnTensor *weight = burn_unsqueeze_dim(burn_float(burn_bool_not(is_pad)), 2);
  BurnTensor *count = burn_sum_dim(burn_clone(weight), 1);
  x = burn_sum_dim(burn_mul(x, weight), 1);
  x = burn_div(x, burn_clamp_min(count, 1));
  return burn_squeeze_dim(x, 1);
}

/* takes words [batch, length] -> scores [batch, CLASSES] */
static BurnTensor *classifier_forward(const Classifier *m, BurnTensor *words) {
  BurnDevice *device = burn_tensor_device(words);
  BurnTensor *is_pad = burn_equal_scalar(burn_clone(words), WORD_PAD);
  BurnTensor *at = burn_arange(device, 0, burn_dim(words, 1), 1);
  at = burn_embedding_forward(&m->positions, burn_unsqueeze(at, 2));
  BurnTensor *x = burn_add(burn_embedding_forward(&m->words, words), at);
  x = burn_dropout_forward(&m->dropout, x);
  const BurnTransformerEncoderInput input = {.tensor = x,
                                             .mask_pad = burn_clone(is_pad)};
  x = mean_of_words(burn_transformer_encoder_forward(&m->blocks, input),
                    is_pad);
  return burn_linear_forward(&m->head, burn_dropout_forward(&m->dropout, x));
}

static BurnStepOutput classifier_step(void *context, const void *model,
                                      BurnBatch *batch) {
  (void)context;
  BurnTensor *targets = burn_batch_take(batch, "class");
  BurnTensor *scores =
      classifier_forward(model, burn_batch_take(batch, "words"));
  BurnTensor *loss =
      burn_cross_entropy(burn_clone(scores), burn_clone(targets));
  return burn_classification_output(loss, scores, targets);
}

/* -- settings -------------------------------------------------------------- */

#define TRAINING_CONFIG(REQ, OPT)                   \
  REQ(ClassifierConfig, model, "the network")       \
  REQ(BurnAdamWConfig, optimizer, "the optimizer")  \
  OPT(BurnSize, epochs, 3, "passes over the texts") \
  OPT(BurnSize, batch_size, 64, "texts a step")     \
  OPT(BurnSize, seed, 1, "of weights and order")    \
  OPT(BurnF64, learning_rate, 1e-3, "the first one")
BURN_CONFIG(TrainingConfig, TRAINING_CONFIG);

typedef struct Options {
  const char *data, *train_file, *test_file, *artifact, *text, *backend;
  size_t epochs, batch_size, length, words, d_model, layers, seed;
  double learning_rate, dropout;
  bool json;
} Options;

/* Everything that a run holds. */
typedef struct Run {
  TrainingConfig config;
  BurnDataset *texts, *test_texts;
  Vocabulary *vocabulary;
  BurnLoader *train, *valid, *test;
  Classifier model;
  BurnLearnerResult result;
  BurnEpochResult test_result;
} Run;

/* -- training -------------------------------------------------------------- */

static BurnStatus read_texts(const Options *options, Run *run) {
  const ProgramPath train = program_path(options->data, options->train_file);
  const ProgramPath test = program_path(options->data, options->test_file);
  BurnStatus status = BURN_OK;
  run->texts = texts_read(train.text, CLASSES, &status);
  run->test_texts = texts_read(test.text, CLASSES, &status);
  run->vocabulary = vocabulary_make(run->texts, options->words, &status);
  return status;
}

/* Of texts `first` to before `end`, which are numbered once and kept. */
static BurnLoader *loader_of(const Run *run, BurnDataset *texts, size_t first,
                             size_t end, bool train, BurnStatus *status) {
  const BurnLoaderConfig config = {.batch_size = run->config.batch_size,
                                   .shuffle = train,
                                   .seed = run->config.seed};
  BurnDataset *part =
      burn_dataset_slice(burn_dataset_clone(texts), first, end, status);
  part = texts_words(part, run->vocabulary, run->config.model.length, status);
  part = burn_dataset_cache(part, status);
  return burn_loader_create(part, &config, status);
}

static BurnStatus make_loaders(Run *run) {
  BurnStatus status = BURN_OK;
  const size_t count = burn_dataset_count(run->texts);
  const size_t learned = count - count / 10;
  const size_t tested = burn_dataset_count(run->test_texts);
  run->train = loader_of(run, run->texts, 0, learned, true, &status);
  run->valid = loader_of(run, run->texts, learned, count, false, &status);
  run->test = loader_of(run, run->test_texts, 0, tested, false, &status);
  return status;
}

static void config_of(const Options *options, Run *run) {
  ClassifierConfig model =
      ClassifierConfig_defaults(vocabulary_count(run->vocabulary));
  model.length = options->length;
  model.d_model = options->d_model;
  model.n_layers = options->layers;
  model.dropout = options->dropout;
  BurnAdamWConfig adamw = BurnAdamWConfig_defaults();
  adamw.weight_decay = 0.05;
  run->config = TrainingConfig_defaults(model, adamw);
  run->config.epochs = options->epochs;
  run->config.batch_size = options->batch_size;
  run->config.seed = options->seed;
  run->config.learning_rate = options->learning_rate;
}

/* The newest checkpoint stays, and the best by validation. */
static BurnStatus fit(const Options *options, BurnDevice *device, Run *run) {
  const TrainingConfig *config = &run->config;
  const BurnModule module = burn_module(Classifier, &run->model);
  BurnCosineAnnealingConfig cosine = BurnCosineAnnealingConfig_defaults(
      config->learning_rate,
      config->epochs * burn_loader_batch_count(run->train));
  const size_t newest = 1;
  const BurnKeepBest best = {"Accuracy", BURN_SPLIT_VALID, true, 1};
  const BurnCheckpointStrategy kept[] = {burn_keep_last(&newest),
                                         burn_keep_best(&best)};
  const BurnKeepAny any = {kept, 2};
  const BurnNoImprovement stalled = {"Accuracy", BURN_SPLIT_VALID, true, 3, 0};
  const BurnLearnerConfig learner = {
      .artifact_dir = options->artifact,
      .epochs = config->epochs,
      .schedule = burn_schedule_cosine_annealing(&cosine),
      .checkpoints = burn_keep_any(&any),
      .early_stopping = burn_stop_without_improvement(&stalled),
      .config = burn_config(TrainingConfig, &run->config),
      .quiet = options->json};
  BurnOptimizer *optimizer = burn_adamw_create(&config->optimizer);
  const BurnTask task = {classifier_step, NULL};
  const BurnStatus status =
      burn_learner_fit(&learner, &task, device, module, optimizer, run->train,
                       run->valid, &run->result);
  burn_optimizer_destroy(optimizer);
  return status;
}

/* The test set, with its logs in test/ag-news of the artifact folder. */
static BurnStatus test(const Options *options, BurnDevice *device, Run *run) {
  Classifier valid = Classifier_valid(&run->model);
  const BurnFBetaConfig f1 = BurnFBetaConfig_defaults();
  const BurnEvaluatorConfig evaluator = {
      .artifact_dir = options->artifact,
      .metrics = BURN_METRICS(burn_metric_accuracy(), burn_metric_f_beta(&f1))};
  const BurnTask task = {classifier_step, NULL};
  const BurnStatus status = burn_evaluator_eval(
      &evaluator, &task, burn_device_inner(device),
      burn_module(Classifier, &valid), run->test, "AG News", &run->test_result);
  Classifier_release(&valid);
  return status;
}

static void print_result(const Options *options, const BurnDevice *device,
                         const Run *run, double seconds) {
  const BurnEpochResult *last = &run->result.last, *test = &run->test_result;
  printf(
      "%s\"command\":\"train\",\"backend\":%s,\"seed\":%zu,\"texts\":%zu,"
      "\"words\":%zu,\"epochs\":%zu,\"seconds\":%.1f,"
      "\"processor_seconds\":%.1f,\"valid_accuracy\":%s,"
      "\"test_accuracy\":%s,\"test_f1\":%s,\"artifact\":%s}\n",
      result_begin(options->json), json_text(burn_device_name(device)).text,
      options->seed, burn_loader_item_count(run->train),
      vocabulary_count(run->vocabulary), run->result.epochs_done, seconds,
      program_processor_seconds(),
      json_number(burn_epoch_metric(last, "Accuracy", BURN_SPLIT_VALID)).text,
      json_number(burn_epoch_metric(test, "Accuracy", BURN_SPLIT_TEST)).text,
      json_number(burn_epoch_metric(test, "FBetaScore", BURN_SPLIT_TEST)).text,
      json_text(options->artifact).text);
}

static BurnStatus save(const Options *options, Run *run) {
  const ProgramPath model = program_path(options->artifact, "model");
  const ProgramPath words = program_path(options->artifact, "vocabulary.txt");
  const BurnStatus status = vocabulary_save(run->vocabulary, words.text);
  if (status != BURN_OK) return status;
  return burn_record_save(burn_module(Classifier, &run->model), model.text,
                          NULL);
}

static BurnStatus train_on(const Options *options, BurnDevice *device,
                           Run *run) {
  const double begin = program_seconds();
  BurnStatus status = read_texts(options, run);
  if (status != BURN_OK) return status;
  config_of(options, run);
  status = make_loaders(run);
  if (status != BURN_OK) return status;
  burn_device_seed(device, options->seed);
  run->model = classifier_init(&run->config.model, device);
  status = burn_module_status(burn_module(Classifier, &run->model));
  if (status == BURN_OK) status = fit(options, device, run);
  if (status == BURN_OK) status = save(options, run);
  if (status == BURN_OK) status = test(options, device, run);
  if (status == BURN_OK) {
    print_result(options, device, run, program_seconds() - begin);
  }
  return status;
}

static BurnStatus train(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open_training(options->backend);
  Run run;
  memset(&run, 0, sizeof run);
  BurnStatus status = burn_device_status(device);
  if (status == BURN_OK) status = train_on(options, device, &run);
  burn_loader_destroy(run.train);
  burn_loader_destroy(run.valid);
  burn_loader_destroy(run.test);
  Classifier_release(&run.model);
  vocabulary_destroy(run.vocabulary);
  burn_dataset_drop(run.texts);
  burn_dataset_drop(run.test_texts);
  burn_device_close(device);
  return status;
}

/* -- inference ------------------------------------------------------------- */

static BurnStatus load(const Options *options, BurnDevice *device, Run *run) {
  const ProgramPath config = program_path(options->artifact, "config.json");
  const ProgramPath model = program_path(options->artifact, "model");
  const ProgramPath words = program_path(options->artifact, "vocabulary.txt");
  BurnStatus status =
      burn_config_load(burn_config(TrainingConfig, &run->config), config.text);
  if (status == BURN_OK) run->vocabulary = vocabulary_load(words.text, &status);
  if (status != BURN_OK) return status;
  run->model = classifier_init(&run->config.model, device);
  return burn_record_load(burn_module(Classifier, &run->model), model.text,
                          NULL);
}

static BurnStatus classify(const Options *options, BurnDevice *device,
                           Run *run) {
  int64_t words[MAX_WORDS];
  float shares[CLASSES];
  const size_t length = run->config.model.length;
  if (length > MAX_WORDS) {
    return burn_status_make(BURN_STATUS_CORRUPT_DATA,
                            "config.json: texts of %zu words, at most %d",
                            length, (int)MAX_WORDS);
  }
  words_of(run->vocabulary, options->text, length, words);
  BurnTensor *x =
      burn_tensor_i64(device, words, BURN_SHAPE(1, (int64_t)length));
  x = burn_softmax(classifier_forward(&run->model, x), 1);
  const BurnStatus status = burn_read_f32(x, shares, CLASSES);
  if (status != BURN_OK) return status;
  size_t best = 0;
  for (size_t i = 0; i < CLASSES; i++) {
    if (shares[i] > shares[best]) best = i;
    if (!options->json) {
      printf("%5.1f %%  %s\n", 100 * (double)shares[i], class_names[i]);
    }
  }
  printf("%s\"command\":\"infer\",\"class\":\"%s\",\"share\":%s}\n",
         result_begin(options->json), class_names[best],
         json_number((double)shares[best]).text);
  return BURN_OK;
}

static BurnStatus infer(const void *context) {
  const Options *options = context;
  BurnDevice *device = burn_device_open(options->backend);
  Run run;
  memset(&run, 0, sizeof run);
  BurnStatus status = load(options, device, &run);
  if (status == BURN_OK) status = classify(options, device, &run);
  Classifier_release(&run.model);
  vocabulary_destroy(run.vocabulary);
  burn_device_close(device);
  return status;
}

/* -- program --------------------------------------------------------------- */

static const char *problem_of(const void *context, const char *command) {
  const Options *o = context;
  const bool train = strcmp(command, "train") == 0;
  if (train && !o->data) return "give the folder of the texts with --data";
  if (!train && !o->text) return "give the text with --text";
  if (o->length < 1 || o->length > MAX_WORDS) {
    return "--length is not within 1..512";
  }
  if (o->epochs < 1 || o->batch_size < 1 || o->d_model < 1 || o->layers < 1) {
    return "--epochs, --batch-size, --d-model and --layers are at least 1";
  }
  return o->words <= WORD_FIRST ? "--words is at least 3" : NULL;
}

int main(int argc, char **argv) {
  Options options = {.train_file = "train_subset.csv.gz",
                     .test_file = "test.csv.gz",
                     .artifact = "artifacts/text_classification",
                     .epochs = 3,
                     .batch_size = 64,
                     .length = 64,
                     .words = 20000,
                     .d_model = 64,
                     .layers = 1,
                     .seed = 1,
                     .learning_rate = 1e-3,
                     .dropout = 0.5};
  const Argument arguments[] = {
      {"data", ARGUMENT_TEXT, &options.data, "DIR", "folder with both files"},
      {"train-file", ARGUMENT_TEXT, &options.train_file, "NAME",
       "to learn from"},
      {"test-file", ARGUMENT_TEXT, &options.test_file, "NAME", "for the end"},
      {"epochs", ARGUMENT_SIZE, &options.epochs, "N", "passes over the texts"},
      {"batch-size", ARGUMENT_SIZE, &options.batch_size, "N", "texts a step"},
      {"length", ARGUMENT_SIZE, &options.length, "N", "words of a text"},
      {"words", ARGUMENT_SIZE, &options.words, "N", "size of the vocabulary"},
      {"d-model", ARGUMENT_SIZE, &options.d_model, "N", "size of a word"},
      {"layers", ARGUMENT_SIZE, &options.layers, "N", "blocks"},
      {"dropout", ARGUMENT_NUMBER, &options.dropout, "X", "share dropped"},
      {"lr", ARGUMENT_NUMBER, &options.learning_rate, "X",
       "first learning rate"},
      {"seed", ARGUMENT_SIZE, &options.seed, "N", "of weights and order"},
      ARGUMENT_ARTIFACT(&options),
      {"text", ARGUMENT_TEXT, &options.text, "TEXT", "for infer"},
      ARGUMENT_BACKEND(&options),
      ARGUMENT_JSON(&options),
  };
  const ProgramCommand commands[] = {{"train", train}, {"infer", infer}};
  const Program program = {
      .name = "text_classification",
      .usage =
          "usage: text_classification [train] --data DIR [options]\n"
          "       text_classification infer --text TEXT [options]",
      .arguments = PROGRAM_LIST(arguments),
      .commands = PROGRAM_LIST(commands),
      .problem_of = problem_of};
  return program_main(&program, argc, argv, &options);
}
