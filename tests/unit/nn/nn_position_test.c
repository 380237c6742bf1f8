/* nn_position_test.c - encodings of positions and masks of attention. */
#include "nn_testing.h"

#include "sequence_golden.h"
#include "sequence_testing.h"

static void test_positional_encoding(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnPositionalEncoding m = burn_positional_encoding_new(6, device);
  assert_int_equal(5000, m.max_sequence_size);
  assert_int_equal(10000, m.max_timescale);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, 5, 6), 1, 1);
  NN_ASSERT_CASE(positional_encoding, burn_positional_encoding_forward(&m, burn_clone(x)), x);
  burn_drop(x);
  BurnPositionalEncodingConfig config = BurnPositionalEncodingConfig_defaults(4);
  config.max_sequence_size = 9;
  config.max_timescale = 50;
  BurnPositionalEncoding fast = burn_positional_encoding_init(&config, device);
  NN_ASSERT_GOLDEN(positional_encoding_fast,
                   burn_positional_encoding_forward(&fast, nn_pattern(device, BURN_SHAPE(1, 9, 4), 1)));
  BurnPositionalEncoding_release(&m);
  BurnPositionalEncoding_release(&fast);
}

/* The table goes where the module goes, and x alone has a gradient. */
static void test_positional_encoding_table_moves(void **state) {
  const NnDevices *devices = *state;
  BurnPositionalEncoding m = burn_positional_encoding_new(6, devices->training);
  BurnPositionalEncoding valid = BurnPositionalEncoding_valid(&m);
  nn_assert_shape(m.sinusoids.value, BURN_SHAPE(1, 5000, 6));
  assert_false(burn_is_tracked(m.sinusoids.value));
  assert_ptr_equal(burn_device_inner(devices->training), burn_tensor_device(valid.sinusoids.value));
  burn_module_to_device(burn_module(BurnPositionalEncoding, &m), devices->plain);
  assert_ptr_equal(devices->plain, burn_tensor_device(m.sinusoids.value));
  assert_int_equal(0, burn_module_num_params(burn_module(BurnPositionalEncoding, &m)));
  BurnPositionalEncoding_release(&m);
  BurnPositionalEncoding_release(&valid);
}

/* A table of the program's own is added instead. */
static void test_positional_encoding_table(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnPositionalEncoding m = burn_positional_encoding_new(2, device);
  burn_drop(m.sinusoids.value);
  m.sinusoids = burn_constant(burn_tensor_f32(device, (float[]){1, 2, 3, 4, 5, 6}, BURN_SHAPE(1, 3, 2)));
  const double expected[] = {1, 2, 3, 4};
  BurnTensor *zeros = burn_zeros(device, BURN_SHAPE(1, 2, 2), BURN_DTYPE_DEFAULT);
  nn_assert_values("table", burn_positional_encoding_forward(&m, zeros), expected, 4, 0);
  BurnPositionalEncoding_release(&m);
}

static void test_positional_encoding_refuses(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnPositionalEncodingConfig config = BurnPositionalEncodingConfig_defaults(5);
  BurnPositionalEncoding m = burn_positional_encoding_init(&config, device);
  nn_assert_failed(burn_positional_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(1, 2, 5), 1)),
                   "positional_encoding: d_model 5 is odd");
  config.d_model = 6;
  config.max_sequence_size = 10001;
  m = burn_positional_encoding_init(&config, device);
  nn_assert_failed(burn_positional_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(1, 2, 6), 1)),
                   "positional_encoding: max_timescale 10000 is below max_sequence_size 10001");
  config.max_sequence_size = 3;
  m = burn_positional_encoding_init(&config, device);
  nn_assert_failed(burn_positional_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(1, 4, 6), 1)),
                   "positional_encoding: 4 steps, max_sequence_size is 3");
  nn_assert_failed(burn_positional_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(3, 6), 1)),
                   "positional_encoding: x [3,6], expected [batch, steps, 6]");
  BurnPositionalEncoding_release(&m);
  m = burn_positional_encoding_init(NULL, device);
  nn_assert_failed(burn_positional_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(1, 4, 6), 1)),
                   "positional_encoding: config is NULL: BurnPositionalEncodingConfig_defaults(d_model) makes one");
}

static void test_rotary_encoding(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnRotaryEncoding m = burn_rotary_encoding_new(16, 6, device);
  assert_true(m.base == 10000);
  BurnTensor *x = seq_leaf(device, BURN_SHAPE(2, 2, 4, 6), 1, 1);
  NN_ASSERT_CASE(rotary_encoding, burn_rotary_encoding_forward(&m, burn_clone(x)), x);
  burn_drop(x);
  NN_ASSERT_GOLDEN(rotary_encoding_start, burn_rotary_encoding_apply(&m, nn_pattern(device, BURN_SHAPE(3, 6), 1), 5));
  assert_string_equal("ok", burn_status_message(burn_rotary_encoding_shift(&m, 100)));
  NN_ASSERT_GOLDEN(rotary_encoding_shifted, burn_rotary_encoding_apply(&m, nn_pattern(device, BURN_SHAPE(3, 6), 1), 5));
  assert_string_equal("rotary_encoding: cannot shift to 100: positions start at 100 and only move on, to 2147483647",
                      burn_status_message(burn_rotary_encoding_shift(&m, 100)));
  burn_rotary_encoding_reset(&m);
  BurnTensor *theta = burn_div_scalar(burn_rotary_encoding_frequencies(&m, device), 8);
  burn_rotary_encoding_set_frequencies(&m, theta);
  NN_ASSERT_GOLDEN(rotary_encoding_scaled, burn_rotary_encoding_apply(&m, nn_pattern(device, BURN_SHAPE(3, 6), 1), 2));
  BurnRotaryEncoding_release(&m);
}

static void test_rotary_encoding_refuses(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnRotaryEncoding m = burn_rotary_encoding_new(4, 6, device);
  nn_assert_failed(burn_rotary_encoding_apply(&m, nn_pattern(device, BURN_SHAPE(3, 6), 1), 2),
                   "rotary_encoding: 3 steps from position 2 on, max_sequence_length is 4");
  nn_assert_failed(burn_rotary_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(3, 4), 1)),
                   "rotary_encoding: x [3,4], expected [.., steps, 6]");
  burn_rotary_encoding_set_frequencies(&m, nn_pattern(device, BURN_SHAPE(4), 1));
  nn_assert_failed(burn_rotary_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(3, 6), 1)),
                   "rotary_encoding: frequencies [4], expected [3]");
  BurnRotaryEncoding_release(&m);
  m = burn_rotary_encoding_new(4, 5, device);
  nn_assert_failed(burn_rotary_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(3, 5), 1)),
                   "rotary_encoding: d_model 5 is odd");
  m = burn_rotary_encoding_init(NULL, device);
  nn_assert_failed(burn_rotary_encoding_forward(&m, nn_pattern(device, BURN_SHAPE(3, 5), 1)),
                   "rotary_encoding: config is NULL: BurnRotaryEncodingConfig_defaults(max_sequence_length, d_model) "
                   "makes one");
}

static void test_alibi(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnAlibi m = burn_alibi_new(4, device);
  BurnTensor *bias = burn_alibi_bias(&m, 3, 3, BURN_DTYPE_DEFAULT, device);
  nn_assert_shape(bias, BURN_SHAPE(1, 4, 3, 3));
  NN_ASSERT_GOLDEN(alibi_4, bias);
  m = burn_alibi_new(6, device);
  NN_ASSERT_GOLDEN(alibi_6, burn_alibi_forward(&m, burn_zeros(device, BURN_SHAPE(1, 6, 2, 4), BURN_DTYPE_DEFAULT)));
  nn_assert_failed(burn_alibi_forward(&m, nn_pattern(device, BURN_SHAPE(6, 2, 4), 1)),
                   "alibi: scores [6,2,4], expected [batch, heads, queries, keys]");
  m = burn_alibi_new(0, device);
  nn_assert_failed(burn_alibi_bias(&m, 3, 3, BURN_DTYPE_DEFAULT, device), "alibi: n_heads is 0");
  m = burn_alibi_init(NULL, device);
  nn_assert_failed(burn_alibi_bias(&m, 3, 3, BURN_DTYPE_DEFAULT, device),
                   "alibi: config is NULL: BurnAlibiConfig_defaults(n_heads) makes one");
}

static void test_autoregressive_mask(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const double expected[] = {0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0};
  BurnTensor *mask = burn_generate_autoregressive_mask(device, 2, 3);
  nn_assert_shape(mask, BURN_SHAPE(2, 3, 3));
  assert_int_equal(BURN_KIND_BOOL, burn_dtype_kind(burn_dtype(mask)));
  nn_assert_values("mask", mask, expected, 18, 0);
}

static void assert_padded(BurnDevice *device, BurnSeqLength length, BurnShape shape, const double *tokens,
                          const double *mask) {
  const int64_t first[] = {3, 3, 3}, second[] = {4, 9}, third[] = {5, 5, 5, 5};
  const BurnTokens list[] = {{first, 3}, {second, 2}, {third, 4}};
  const BurnPaddingMask padded = burn_generate_padding_mask(device, 9, list, 3, length);
  nn_assert_shape(padded.tensor, shape);
  nn_assert_shape(padded.mask, shape);
  nn_assert_values("tokens", padded.tensor, tokens, (size_t)(shape.dims[0] * shape.dims[1]), 0);
  nn_assert_values("mask", padded.mask, mask, (size_t)(shape.dims[0] * shape.dims[1]), 0);
}

static void test_padding_mask(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const double tokens[] = {3, 3, 3, 9, 4, 9, 9, 9, 5, 5, 5, 5}, mask[] = {0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0};
  assert_padded(device, (BurnSeqLength){BURN_SEQ_LENGTH_NO_MAX, 0}, BURN_SHAPE(3, 4), tokens, mask);
  assert_padded(device, (BurnSeqLength){BURN_SEQ_LENGTH_MAX, 7}, BURN_SHAPE(3, 4), tokens, mask);
  const double cut[] = {3, 3, 4, 9, 5, 5}, cut_mask[] = {0, 0, 0, 1, 0, 0};
  assert_padded(device, (BurnSeqLength){BURN_SEQ_LENGTH_MAX, 2}, BURN_SHAPE(3, 2), cut, cut_mask);
  const double wide[] = {3, 3, 3, 9, 9, 4, 9, 9, 9, 9, 5, 5, 5, 5, 9};
  const double wide_mask[] = {0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1};
  assert_padded(device, (BurnSeqLength){BURN_SEQ_LENGTH_FIXED, 5}, BURN_SHAPE(3, 5), wide, wide_mask);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_positional_encoding),
      cmocka_unit_test(test_positional_encoding_table),
      cmocka_unit_test(test_positional_encoding_refuses),
      cmocka_unit_test(test_positional_encoding_table_moves),
      cmocka_unit_test(test_rotary_encoding),
      cmocka_unit_test(test_rotary_encoding_refuses),
      cmocka_unit_test(test_alibi),
      cmocka_unit_test(test_autoregressive_mask),
      cmocka_unit_test(test_padding_mask),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
