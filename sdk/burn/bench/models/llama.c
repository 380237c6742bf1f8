/* llama.c - a block of Llama that decodes one token: RMSNorm, rotary positions, attention whose groups of heads share
 * keys and values, which are in a cache, SwiGLU; no biases. The cache has T positions and the token is the last of
 * them, so that every step costs the same. args: batch, d, heads, heads of keys and values, size inside SwiGLU, T. */
#include "networks.h"

#define LLAMA_FIELDS(X)                                          \
  X(BurnRmsNorm, norm1, "before attention")                      \
  X(BurnLinear, query, "d -> d")                                 \
  X(BurnLinear, key, "d -> heads of keys * size of a head")      \
  X(BurnLinear, value, "as key")                                 \
  X(BurnLinear, output, "d -> d")                                \
  X(BurnRotaryEncoding, rotary, "of queries and keys")           \
  X(BurnRmsNorm, norm2, "before SwiGLU")                         \
  X(BurnSwiGlu, gate, "d -> inside")                             \
  X(BurnLinear, down, "inside -> d")                             \
  X(BurnBuffer, keys, "[batch, heads of keys, T, size of head]") \
  X(BurnBuffer, values, "as keys")
BURN_MODULE(Llama, LLAMA_FIELDS);

static BurnLinear linear(int64_t in, int64_t out, BurnDevice *device) {
  BurnLinearConfig config = BurnLinearConfig_defaults((size_t)in, (size_t)out);
  config.bias = false;
  return burn_linear_init(&config, device);
}

static BurnBuffer cache(const int64_t *args, BurnDevice *device) {
  const BurnShape shape = BURN_SHAPE(args[0], args[3], args[5], args[1] / args[2]);
  return burn_buffer(burn_random_normal(device, shape, BURN_DTYPE_F32, 0, 1));
}

static void init(void *model, const int64_t *args, BurnDevice *device) {
  const int64_t d = args[1], size = d / args[2], kept = args[3] * size;
  const BurnRmsNormConfig norm = BurnRmsNormConfig_defaults((size_t)d);
  const BurnSwiGluConfig gate = BurnSwiGluConfig_defaults((size_t)d, (size_t)args[4]);
  BurnRotaryEncodingConfig rotary = BurnRotaryEncodingConfig_defaults((size_t)args[5], (size_t)size);
  rotary.theta = 500000; /* Llama 3's */
  *(Llama *)model = (Llama){burn_rms_norm_init(&norm, device),
                            linear(d, d, device),
                            linear(d, kept, device),
                            linear(d, kept, device),
                            linear(d, d, device),
                            burn_rotary_encoding_init(&rotary, device),
                            burn_rms_norm_init(&norm, device),
                            burn_swiglu_init(&gate, device),
                            linear(args[4], d, device),
                            cache(args, device),
                            cache(args, device)};
}

static BurnTensor *inputs(const int64_t *args, BurnDevice *device) {
  return burn_random_normal(device, BURN_SHAPE(args[0], 1, args[1]), BURN_DTYPE_F32, 0, 1);
}

/* [n, 1, heads * size] -> [n, heads, 1, size] */
static BurnTensor *heads_of(BurnTensor *x, int64_t size) {
  return burn_reshape(x, BURN_SHAPE(burn_dim(x, 0), burn_dim(x, 2) / size, 1, size));
}

/* The token of x [n, 1, d] after those in the cache, of which the last is overwritten. */
static BurnTensor *attend(const Llama *m, BurnTensor *x, BurnTensor **keys, BurnTensor **values) {
  const int64_t n = burn_dim(x, 0), d = burn_dim(x, 2), size = burn_dim(*keys, 3), kept = burn_dim(*keys, 1);
  const int64_t last = burn_dim(*keys, 2) - 1;
  const BurnRange place[] = {BURN_RANGE_ALL, BURN_RANGE_ALL, BURN_RANGE(last, last + 1), BURN_RANGE_ALL};
  BurnTensor *key = heads_of(burn_linear_forward(&m->key, burn_clone(x)), size);
  BurnTensor *value = heads_of(burn_linear_forward(&m->value, burn_clone(x)), size);
  BurnTensor *query = heads_of(burn_linear_forward(&m->query, x), size);
  key = burn_rotary_encoding_apply(&m->rotary, key, (size_t)last);
  query = burn_rotary_encoding_apply(&m->rotary, query, (size_t)last);
  *keys = burn_slice_assign(*keys, place, 4, key);
  *values = burn_slice_assign(*values, place, 4, value);
  query = burn_reshape(query, BURN_SHAPE(n, kept, d / size / kept, size)); /* a group as queries of its head */
  x = burn_attention(query, burn_clone(*keys), burn_clone(*values), NULL, NULL, BURN_ATTENTION_OPTIONS);
  return burn_linear_forward(&m->output, burn_reshape(x, BURN_SHAPE(n, 1, d)));
}

static BurnTensor *decode(const Llama *m, BurnTensor *x, BurnTensor **keys, BurnTensor **values) {
  BurnTensor *skip = burn_clone(x);
  x = burn_add(attend(m, burn_rms_norm_forward(&m->norm1, x), keys, values), skip);
  skip = burn_clone(x);
  x = burn_swiglu_forward(&m->gate, burn_rms_norm_forward(&m->norm2, x));
  return burn_add(burn_linear_forward(&m->down, x), skip);
}

/* With the cache as it was in the beginning. */
static BurnTensor *forward(const void *model, BurnTensor *x) {
  const Llama *m = model;
  BurnTensor *keys = burn_buffer_value(&m->keys), *values = burn_buffer_value(&m->values);
  x = decode(m, x, &keys, &values);
  burn_drop(keys);
  burn_drop(values);
  return x;
}

const Network llama_network = {"llama", Llama_type, init, inputs, NULL, NULL, forward};

/* t[2] and t[3] are the cache from step to step: overwritten where it is. */
BurnStatus llama_decode(Subject *s) {
  const Llama *m = (const Llama *)(const void *)&s->valid;
  if (!s->t[2]) s->t[2] = burn_buffer_value(&m->keys);
  if (!s->t[3]) s->t[3] = burn_buffer_value(&m->values);
  BurnTensor *x = decode(m, burn_clone(s->t[0]), &s->t[2], &s->t[3]);
  BurnStatus status = burn_tensor_status(x);
  if (status == BURN_OK) status = subject_finish(s);
  burn_drop(x);
  return status;
}
