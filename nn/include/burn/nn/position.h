/* position.h - where in its sequence a token stands: added to it (PositionalEncoding), as a rotation of queries and
 * keys (RotaryEncoding), or as a bias of attention's scores (Alibi).
 *
 * No table is in a record, as in Burn. That of PositionalEncoding is made once, by init; RotaryEncoding's sines and
 * cosines are made by every forward pass, in f32 (f64 for f64 inputs). */
#ifndef BURN_NN_POSITION_H
#define BURN_NN_POSITION_H

#include <burn/config.h>
#include <burn/module.h>

BURN_EXTERN_C_BEGIN

#define BURN_POSITIONAL_ENCODING_CONFIG(REQ, OPT)            \
  REQ(BurnSize, d_model, "size of a token, even")            \
  OPT(BurnSize, max_sequence_size, 5000, "longest sequence") \
  OPT(BurnSize, max_timescale, 10000, "slowest wave, in positions / 2 pi; at least max_sequence_size")
BURN_CONFIG(BurnPositionalEncodingConfig, BURN_POSITIONAL_ENCODING_CONFIG);

#define BURN_POSITIONAL_ENCODING_FIELDS(X)                                     \
  X(BurnConstant, sinusoids, "[1, max_sequence_size, d_model], what is added") \
  X(BurnSize, max_sequence_size, "longest sequence")                           \
  X(BurnSize, max_timescale, "slowest wave")                                   \
  X(BurnSize, d_model, "size of a token")
BURN_MODULE(BurnPositionalEncoding, BURN_POSITIONAL_ENCODING_FIELDS);

/* Makes the layer with its table on `device`, in f64 if that is the device's default dtype, else in f32. A program that
 * wants another table puts its own into `sinusoids`. A config that is refused (d_model odd, max_timescale below
 * max_sequence_size) fails in every forward pass. */
BURN_API BurnPositionalEncoding burn_positional_encoding_init(const BurnPositionalEncodingConfig *config,
                                                              BurnDevice *device);
BURN_LAYER(BurnPositionalEncoding, burn_positional_encoding, BURN_POSITIONAL_ENCODING_CONFIG);
/* [batch, steps, d_model] -> the same shape: x plus, at step s and the even k, sin(s w) and after it cos(s w) with
 * w = max_timescale^(-k / d_model). */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_positional_encoding_forward(const BurnPositionalEncoding *m,
                                                                               BurnTensor *x);

/* Burn's name of `base` is theta, which in the module is the list of frequencies. */
#define BURN_ROTARY_ENCODING_CONFIG(REQ, OPT)                    \
  REQ(BurnSize, max_sequence_length, "positions that there are") \
  REQ(BurnSize, d_model, "size of a head, even")                 \
  OPT(BurnF64, theta, 10000.0, "base of the frequencies, above 0")
BURN_CONFIG(BurnRotaryEncodingConfig, BURN_ROTARY_ENCODING_CONFIG);

#define BURN_ROTARY_ENCODING_FIELDS(X)                                               \
  X(BurnConstant, theta, "[d_model / 2] frequencies; absent: base^(-2 i / d_model)") \
  X(BurnSize, start_offset, "first position, moved by burn_rotary_encoding_shift")   \
  X(BurnSize, max_sequence_length, "positions that there are, from start_offset on") \
  X(BurnSize, d_model, "size of a head")                                             \
  X(BurnF64, base, "base of the frequencies")
BURN_MODULE(BurnRotaryEncoding, BURN_ROTARY_ENCODING_FIELDS);

/* The device is not used: it is a parameter because the init of every layer has one. A config that is refused (d_model
 * odd, theta not above 0) fails in every forward pass. */
BURN_API BurnRotaryEncoding burn_rotary_encoding_init(const BurnRotaryEncodingConfig *config, BurnDevice *device);
BURN_LAYER(BurnRotaryEncoding, burn_rotary_encoding, BURN_ROTARY_ENCODING_CONFIG);
/* The frequencies as they are, f32 [d_model / 2] on `device`, and other ones (taken), float [d_model / 2], for models
 * that scale them:
 *
 *   burn_rotary_encoding_set_frequencies(&rope, scaled(burn_rotary_encoding_frequencies(&rope, device)));
 *
 * Burn passes a function to init_with_frequency_scaling for this. As there they are no part of the record: set them
 * again before it is loaded. */
BURN_API BURN_GIVES BurnTensor *burn_rotary_encoding_frequencies(const BurnRotaryEncoding *m, BurnDevice *device);
BURN_API BURN_TAKES(2) void burn_rotary_encoding_set_frequencies(BurnRotaryEncoding *m, BurnTensor *theta);
/* [.., steps, d_model] -> the same shape, rank 2 or more: the pair (a, b) of elements 2 i and 2 i + 1 at step s becomes
 * (a cos - b sin, b cos + a sin) of s theta[i]. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_rotary_encoding_forward(const BurnRotaryEncoding *m, BurnTensor *x);
/* The same with the first step at position `start`, counted from start_offset: for x that continues a sequence. start +
 * steps beyond max_sequence_length is an error. */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_rotary_encoding_apply(const BurnRotaryEncoding *m, BurnTensor *x,
                                                                         size_t start);
/* From now on position 0 stands for `start`, which must be beyond the start_offset so far: for streams that are longer
 * than max_sequence_length. burn_rotary_encoding_reset goes back to 0. */
BURN_API BURN_USE_RESULT BurnStatus burn_rotary_encoding_shift(BurnRotaryEncoding *m, size_t start);
BURN_API void burn_rotary_encoding_reset(BurnRotaryEncoding *m);

#define BURN_ALIBI_CONFIG(REQ, OPT) REQ(BurnSize, n_heads, "heads of the attention")
BURN_CONFIG(BurnAlibiConfig, BURN_ALIBI_CONFIG);

#define BURN_ALIBI_FIELDS(X) X(BurnSize, n_heads, "heads of the attention")
BURN_MODULE(BurnAlibi, BURN_ALIBI_FIELDS);

/* Attention with linear biases (Press, Smith, Lewis 2022); Burn has no such module. The device is not needed. n_heads 0
 * fails where the bias is made. */
BURN_API BurnAlibi burn_alibi_init(const BurnAlibiConfig *config, BurnDevice *device);
BURN_LAYER(BurnAlibi, burn_alibi, BURN_ALIBI_CONFIG);
/* The bias of attention's scores in the dtype, [1, n_heads, queries, keys], for burn_attention and BurnMhaInput: minus
 * the distance of key and query times the head's slope. The last query stands at the last key. Slopes are 2^(-8 h / n)
 * for heads h = 1 .. n of a power of two n; of other counts the heads beyond the next lower power have every second
 * slope of the next higher one. */
BURN_API BURN_GIVES BurnTensor *burn_alibi_bias(const BurnAlibi *m, int64_t queries, int64_t keys, BurnDType dtype,
                                                BurnDevice *device);
/* scores [batch, n_heads, queries, keys] plus the bias */
BURN_API BURN_GIVES BURN_TAKES(2) BurnTensor *burn_alibi_forward(const BurnAlibi *m, BurnTensor *scores);

BURN_EXTERN_C_END

#endif
