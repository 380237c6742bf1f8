/* generator.h - a decoder that reads bytes and says which one comes next, and
 * the data it learns from. */
#ifndef TEXT_GENERATION_GENERATOR_H
#define TEXT_GENERATION_GENERATOR_H

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

/* Tokens are bytes: any text, in any encoding, without a vocabulary. */
enum { VOCABULARY = 256 };

#define GENERATOR_CONFIG(REQ, OPT)                        \
  REQ(BurnSize, context, "bytes it sees at a time")       \
  REQ(BurnSize, d_model, "size of a token")               \
  REQ(BurnSize, n_layers, "blocks")                       \
  REQ(BurnSize, n_heads, "heads of attention, per block") \
  OPT(BurnF64, dropout, 0, "share dropped in training")
BURN_CONFIG(GeneratorConfig, GENERATOR_CONFIG);

#define GENERATOR_FIELDS(X)                              \
  X(BurnEmbedding, tokens, "bytes -> d_model")           \
  X(BurnEmbedding, positions, "places -> d_model")       \
  X(BurnDropout, dropout, "after both")                  \
  X(BurnTransformerEncoder, blocks, "see earlier bytes") \
  X(BurnLayerNorm, norm, "after the last block")         \
  X(BurnLinear, head, "d_model -> scores of a byte")
BURN_MODULE(Generator, GENERATOR_FIELDS);

/* What a run was started with: config.json in the artifact folder. */
#define TRAINING_CONFIG(REQ, OPT)                                   \
  REQ(GeneratorConfig, model, "the network")                        \
  REQ(BurnAdamWConfig, optimizer, "the optimizer")                  \
  OPT(BurnSize, epochs, 2, "passes over the text")                  \
  OPT(BurnSize, batch_size, 32, "windows a step")                   \
  OPT(BurnSize, overlap, 4, "windows that each byte is in")         \
  OPT(BurnSize, seed, 1, "of weights and order")                    \
  OPT(BurnF64, learning_rate, 1.5e-3, "highest one, after warm-up") \
  OPT(BurnText, data, {""}, "the text")
BURN_CONFIG(TrainingConfig, TRAINING_CONFIG);

Generator generator_init(const GeneratorConfig *config, BurnDevice *device);

/* takes tokens [batch, steps] -> scores [batch, steps, VOCABULARY] */
BurnTensor *generator_forward(const Generator *m, BurnTensor *tokens);

/* The step of training and validation: cross entropy of each byte's successor,
 * in nats per byte. */
BurnStepOutput generator_step(void *context, const void *model,
                              BurnBatch *batch);

/* Windows of `context` bytes, each `stride` after the one before, with the
 * bytes that follow theirs: "seen" and "next", both i64 [context]. The bytes
 * stay the caller's and outlive the dataset. NULL with the reason in *status.
 */
BurnDataset *windows_of(const uint8_t *text, size_t bytes, size_t context,
                        size_t stride, BurnStatus *status);

#endif
