/* nn_loss_test.c - losses: values and gradients against PyTorch, reductions, what is refused. */
#include "nn_gradients.h"

#include "loss_golden.h"

/* What most cases take: leaves x, t and v [3, 4]. */
typedef struct Inputs {
  BurnDevice *device;
  BurnTensor *x, *t, *v;
} Inputs;

static Inputs inputs_of(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnShape shape = BURN_SHAPE(3, 4);
  return (Inputs){device, nn_leaf(device, shape, 1), nn_leaf(device, shape, 2), nn_leaf(device, shape, 3)};
}

static void drop_inputs(Inputs *in) {
  burn_drop(in->x);
  burn_drop(in->t);
  burn_drop(in->v);
}

#define X burn_clone(in.x)
#define T burn_clone(in.t)

static void test_huber_and_smooth_l1(void **state) {
  Inputs in = inputs_of(state);
  BurnHuberLoss huber = burn_huber_loss_new(0.7, in.device);
  BurnSmoothL1LossConfig config = BurnSmoothL1LossConfig_defaults();
  assert_true(config.beta == 1);
  config.beta = 0.7;
  const BurnSmoothL1Loss smooth = burn_smooth_l1_loss_init(&config, in.device);
  assert_true(fabs(huber.lin_bias - 0.245) < 1e-12);
  NN_ASSERT_CASE(huber, burn_huber_loss_forward_no_reduction(&huber, X, T), in.x, in.t);
  NN_ASSERT_CASE(huber_mean, burn_huber_loss_forward(&huber, X, T, BURN_REDUCTION_AUTO), in.x, in.t);
  NN_ASSERT_CASE(smooth_l1, burn_smooth_l1_loss_forward(&smooth, X, T), in.x, in.t);
  NN_ASSERT_CASE(smooth_l1_dims, burn_smooth_l1_loss_forward_reduce_dims(&smooth, X, T, (int[]){1}, 1), in.x, in.t);
  drop_inputs(&in);
}

static void test_lp(void **state) {
  Inputs in = inputs_of(state);
  const BurnLpLoss l1 = burn_lp_loss_l1(), l2 = burn_lp_loss_l2(), l3 = burn_lp_loss_new(3, in.device);
  const BurnLpLoss between = burn_lp_loss_new(1.5, in.device);
  NN_ASSERT_CASE(l1, burn_lp_loss_forward_no_reduction(&l1, X, T), in.x, in.t);
  const BurnMseLoss mse = burn_mse_loss_init();
  NN_ASSERT_CASE(l2, burn_mse_loss_forward_no_reduction(&mse, X, T), in.x, in.t);
  NN_ASSERT_CASE(l2, burn_lp_loss_forward_no_reduction(&l2, X, T), in.x, in.t);
  NN_ASSERT_CASE(lp_3, burn_lp_loss_forward_no_reduction(&l3, X, T), in.x, in.t);
  NN_ASSERT_CASE(l1_sum, burn_lp_loss_forward(&l1, X, T, BURN_REDUCTION_SUM), in.x, in.t);
  NN_ASSERT_CASE(lp_dims, burn_lp_loss_forward_reduce_dims(&between, X, T, (int[]){0, 1}, 2), in.x, in.t);
  drop_inputs(&in);
}

/* round(2 |t|), as a leaf */
static BurnTensor *counts_of(const Inputs *in) {
  BurnTensor *counts = burn_round(burn_mul_scalar(burn_abs(burn_detach(burn_clone(in->t))), 2));
  return burn_require_grad(counts);
}

static void test_poisson(void **state) {
  Inputs in = inputs_of(state);
  BurnPoissonNllLossConfig config = BurnPoissonNllLossConfig_defaults();
  BurnTensor *counts = counts_of(&in);
  assert_true(config.log_input && !config.full && config.eps == 1e-8);
  BurnPoissonNllLoss m = burn_poisson_nll_loss_init(&config, in.device);
  NN_ASSERT_CASE(poisson_log, burn_poisson_nll_loss_forward_no_reduction(&m, X, burn_clone(counts)), in.x, counts);
  config.full = true;
  m = burn_poisson_nll_loss_init(&config, in.device);
  NN_ASSERT_CASE(poisson_full, burn_poisson_nll_loss_forward_no_reduction(&m, X, burn_clone(counts)), in.x, counts);
  config.full = config.log_input = false;
  m = burn_poisson_nll_loss_init(&config, in.device);
  BurnTensor *rates = burn_add_scalar(burn_abs(X), 0.3);
  NN_ASSERT_CASE(poisson_rate, burn_poisson_nll_loss_forward_no_reduction(&m, rates, burn_clone(counts)), in.x, counts);
  nn_assert_failed(burn_poisson_nll_loss_forward(&m, X, burn_clone(counts), BURN_REDUCTION_MEAN),
                   "poisson_nll_loss: predictions must not be negative");
  nn_assert_failed(burn_poisson_nll_loss_forward(&m, burn_clone(counts), T, BURN_REDUCTION_MEAN),
                   "poisson_nll_loss: targets must not be negative");
  burn_drop(counts);
  drop_inputs(&in);
}

static void test_gaussian(void **state) {
  Inputs in = inputs_of(state);
  BurnGaussianNLLLossConfig config = BurnGaussianNLLLossConfig_defaults();
  assert_true(config.eps == 1e-6 && !config.full);
  BurnGaussianNLLLoss m = burn_gaussian_nll_loss_init(&config, in.device);
  BurnTensor *var = burn_add_scalar(burn_abs(burn_clone(in.v)), 0.1);
  NN_ASSERT_CASE(gaussian, burn_gaussian_nll_loss_forward_no_reduction(&m, X, T, var), in.x, in.t, in.v);
  m.full = true;
  var = burn_add_scalar(burn_abs(burn_clone(in.v)), 0.1);
  NN_ASSERT_CASE(gaussian_full, burn_gaussian_nll_loss_forward_no_reduction(&m, X, T, var), in.x, in.t, in.v);
  drop_inputs(&in);
}

static BurnTensor *four_weights(BurnDevice *device) {
  return burn_tensor_f32(device, (float[]){1, 2, 3, 4}, BURN_SHAPE(4));
}

static void test_cross_entropy(void **state) {
  Inputs in = inputs_of(state);
  BurnCrossEntropyLossConfig config = BurnCrossEntropyLossConfig_defaults();
  BurnTensor *classes = burn_tensor_i64(in.device, (int64_t[]){2, 0, 3}, BURN_SHAPE(3));
  BurnCrossEntropyLoss m = burn_cross_entropy_loss_init(&config, in.device);
  NN_ASSERT_CASE(cross_entropy, burn_cross_entropy_loss_forward(&m, X, burn_clone(classes)), in.x);
  m.logits = false;
  NN_ASSERT_CASE(cross_entropy_probabilities,
                 burn_cross_entropy_loss_forward(&m, burn_softmax(X, 1), burn_clone(classes)), in.x);
  config.smoothing = (BurnOptionF64){true, 0.1};
  m = burn_cross_entropy_loss_init(&config, in.device);
  burn_cross_entropy_loss_set_weights(&m, four_weights(in.device));
  burn_cross_entropy_loss_set_pad_tokens(&m, burn_tensor_i64(in.device, (int64_t[]){0}, BURN_SHAPE(1)));
  NN_ASSERT_CASE(cross_entropy_items, burn_cross_entropy_loss_forward_no_reduction(&m, X, burn_clone(classes)), in.x);
  NN_ASSERT_CASE(cross_entropy_everything, burn_cross_entropy_loss_forward(&m, X, classes), in.x);
  BurnCrossEntropyLoss_release(&m);
  drop_inputs(&in);
}

static BurnTensor *ones_and_zeros(BurnDevice *device) {
  return burn_tensor_i64(device, (int64_t[]){0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0}, BURN_SHAPE(3, 4));
}

static void test_binary_cross_entropy(void **state) {
  Inputs in = inputs_of(state);
  BurnBinaryCrossEntropyLossConfig config = BurnBinaryCrossEntropyLossConfig_defaults();
  assert_true(!config.logits && !config.smoothing.present);
  BurnBinaryCrossEntropyLoss m = burn_binary_cross_entropy_loss_init(&config, in.device);
  NN_ASSERT_CASE(bce, burn_binary_cross_entropy_loss_forward(&m, burn_sigmoid(X), ones_and_zeros(in.device)), in.x);
  burn_binary_cross_entropy_loss_set_weights(&m, four_weights(in.device));
  NN_ASSERT_CASE(bce_weights, burn_binary_cross_entropy_loss_forward(&m, burn_sigmoid(X), ones_and_zeros(in.device)),
                 in.x);
  m.logits = true;
  m.smoothing = (BurnOptionF64){true, 0.1};
  NN_ASSERT_CASE(bce_smooth, burn_binary_cross_entropy_loss_forward(&m, X, ones_and_zeros(in.device)), in.x);
  m.smoothing.value = 0.2;
  BurnTensor *row = nn_leaf(in.device, BURN_SHAPE(5), 4);
  BurnTensor *bits = burn_tensor_i64(in.device, (int64_t[]){0, 1, 1, 0, 1}, BURN_SHAPE(5));
  NN_ASSERT_CASE(bce_row, burn_binary_cross_entropy_loss_forward(&m, burn_clone(row), bits), row);
  burn_drop(row);
  BurnBinaryCrossEntropyLoss_release(&m);
  config.logits = true;
  m = burn_binary_cross_entropy_loss_init(&config, in.device);
  NN_ASSERT_CASE(bce_logits, burn_binary_cross_entropy_loss_forward(&m, X, ones_and_zeros(in.device)), in.x);
  drop_inputs(&in);
}

/* Probabilities of exactly 0 and 1 on the wrong side cost 100, not infinity. */
static void test_binary_cross_entropy_of_certainty(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnBinaryCrossEntropyLoss m = burn_binary_cross_entropy_loss_init(NULL, device);
  const double expected = 100;
  nn_assert_values("certain",
                   burn_binary_cross_entropy_loss_forward(&m, burn_tensor_f32(device, (float[]){0, 1}, BURN_SHAPE(2)),
                                                          burn_tensor_i64(device, (int64_t[]){1, 0}, BURN_SHAPE(2))),
                   &expected, 1, 1e-6);
}

static void test_kl_div(void **state) {
  Inputs in = inputs_of(state);
  BurnKLDivLossConfig config = BurnKLDivLossConfig_defaults();
  BurnKLDivLoss m = burn_kl_div_loss_init(&config, in.device);
#define LOGS burn_log_softmax(X, 1)
#define SHARES burn_softmax(T, 1)
  NN_ASSERT_CASE(kl_div, burn_kl_div_loss_forward_no_reduction(&m, LOGS, SHARES), in.x, in.t);
  NN_ASSERT_CASE(kl_div_batch_mean, burn_kl_div_loss_forward(&m, LOGS, SHARES, BURN_REDUCTION_AUTO), in.x, in.t);
  NN_ASSERT_CASE(kl_div_batch_mean, burn_kl_div_loss_forward(&m, LOGS, SHARES, BURN_REDUCTION_BATCH_MEAN), in.x, in.t);
  NN_ASSERT_CASE(kl_div_mean, burn_kl_div_loss_forward(&m, LOGS, SHARES, BURN_REDUCTION_MEAN), in.x, in.t);
  config.log_target = true;
  m = burn_kl_div_loss_init(&config, in.device);
  NN_ASSERT_CASE(kl_div_log, burn_kl_div_loss_forward_no_reduction(&m, LOGS, burn_log_softmax(T, 1)), in.x, in.t);
#undef LOGS
#undef SHARES
  drop_inputs(&in);
}

static BurnTensor *signs(BurnDevice *device) {
  return burn_sub_scalar(burn_mul_scalar(burn_cast(ones_and_zeros(device), BURN_DTYPE_F32), 2), 1);
}

static void test_embedding_losses(void **state) {
  Inputs in = inputs_of(state);
  BurnCosineEmbeddingLossConfig config = BurnCosineEmbeddingLossConfig_defaults();
  const int64_t side[] = {1, -1, 1};
  assert_true(config.margin == 0 && config.reduction == BURN_REDUCTION_MEAN);
  config.margin = -0.6;
  BurnCosineEmbeddingLoss m = burn_cosine_embedding_loss_init(&config, in.device);
  BurnTensor *sides = burn_tensor_i64(in.device, side, BURN_SHAPE(3));
  NN_ASSERT_CASE(cosine_embedding, burn_cosine_embedding_loss_forward_no_reduction(&m, X, T, burn_clone(sides)), in.x,
                 in.t);
  assert_string_equal("ok", burn_status_message(burn_config_parse(burn_config(BurnCosineEmbeddingLossConfig, &config),
                                                                  "{\"margin\": 0, \"reduction\": \"Sum\"}")));
  m = burn_cosine_embedding_loss_init(&config, in.device);
  NN_ASSERT_CASE(cosine_embedding_sum, burn_cosine_embedding_loss_forward(&m, X, T, sides), in.x, in.t);
  BurnHingeEmbeddingLoss hinge = burn_hinge_embedding_loss_init(NULL, in.device);
  assert_true(hinge.margin == 1);
  hinge.margin = 0.8;
  NN_ASSERT_CASE(hinge_embedding, burn_hinge_embedding_loss_forward_no_reduction(&hinge, X, signs(in.device)), in.x);
  drop_inputs(&in);
}

static void test_margins(void **state) {
  Inputs in = inputs_of(state);
  BurnMarginRankingLoss ranking = burn_margin_ranking_loss_init(NULL, in.device);
  const BurnSoftMarginLoss soft = burn_soft_margin_loss_init();
  BurnMultiMarginLoss multi = burn_multi_margin_loss_init(NULL, in.device);
  assert_true(ranking.margin == 0 && multi.margin == 1 && multi.p == 1);
  ranking.margin = 0.3;
  multi.margin = 0.9;
  NN_ASSERT_CASE(margin_ranking, burn_margin_ranking_loss_forward_no_reduction(&ranking, X, T, signs(in.device)), in.x,
                 in.t);
  NN_ASSERT_CASE(soft_margin, burn_soft_margin_loss_forward_no_reduction(&soft, X, signs(in.device)), in.x);
  BurnTensor *classes = burn_tensor_i64(in.device, (int64_t[]){2, 0, 3}, BURN_SHAPE(3));
  NN_ASSERT_CASE(multi_margin, burn_multi_margin_loss_forward_no_reduction(&multi, X, burn_clone(classes)), in.x);
  multi.p = 2;
  NN_ASSERT_CASE(multi_margin_2, burn_multi_margin_loss_forward_no_reduction(&multi, X, classes), in.x);
  drop_inputs(&in);
}

static void test_triplets(void **state) {
  Inputs in = inputs_of(state);
  BurnTripletMarginLoss m = burn_triplet_margin_loss_init(NULL, in.device);
  BurnTensor *n = nn_leaf(in.device, BURN_SHAPE(3, 4), 5);
  assert_true(m.margin == 1 && m.p == 2);
  m.margin = 4;
  NN_ASSERT_CASE(triplet_margin, burn_triplet_margin_loss_forward_no_reduction(&m, X, T, burn_clone(n)), in.x, in.t, n);
  m = (BurnTripletMarginLoss){9, 1};
  NN_ASSERT_CASE(triplet_margin_1, burn_triplet_margin_loss_forward_no_reduction(&m, X, T, burn_clone(n)), in.x, in.t,
                 n);
  burn_drop(n);
  drop_inputs(&in);
}

static BurnTensor *ints(BurnDevice *device, const int64_t *values, BurnShape shape) {
  return burn_tensor_i64(device, values, shape);
}

static void test_ctc(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const int64_t target[] = {1, 1, 3, 2, 4, 0, 1, 2, 3}, frame[] = {6, 5, 2}, label[] = {3, 2, 3};
  const BurnRange reachable[] = {BURN_RANGE_ALL, BURN_RANGE(0, 2)};
  BurnCTCLossConfig config = BurnCTCLossConfig_defaults();
  BurnCTCLoss m = burn_ctc_loss_init(&config, device);
  BurnTensor *x = nn_leaf(device, BURN_SHAPE(6, 3, 5), 1);
  assert_true(config.blank == 0 && !config.zero_infinity);
#define LOGS burn_log_softmax(burn_clone(x), 2)
  NN_ASSERT_CASE(ctc,
                 burn_ctc_loss_forward(&m, burn_slice(LOGS, reachable, 2), ints(device, target, BURN_SHAPE(2, 3)),
                                       ints(device, frame, BURN_SHAPE(2)), ints(device, label, BURN_SHAPE(2))),
                 x);
  config.zero_infinity = true;
  m = burn_ctc_loss_init(&config, device);
  NN_ASSERT_CASE(ctc_zero,
                 burn_ctc_loss_forward(&m, LOGS, ints(device, target, BURN_SHAPE(3, 3)),
                                       ints(device, frame, BURN_SHAPE(3)), ints(device, label, BURN_SHAPE(3))),
                 x);
  NN_ASSERT_CASE(ctc_mean,
                 burn_ctc_loss_forward_with_reduction(&m, LOGS, ints(device, target, BURN_SHAPE(3, 3)),
                                                      ints(device, frame, BURN_SHAPE(3)),
                                                      ints(device, label, BURN_SHAPE(3)), BURN_REDUCTION_AUTO),
                 x);
#undef LOGS
  burn_drop(x);
}

static const int64_t rnnt_targets[] = {1, 3, 2, 4, 4, 4}, rnnt_frames[] = {4, 2, 1}, rnnt_labels[] = {2, 1, 0};

static BurnTensor *rnnt_of(const BurnRNNTLoss *m, BurnTensor *x) {
  BurnDevice *device = burn_tensor_device(x);
  return burn_rnnt_loss_forward(m, x, ints(device, rnnt_targets, BURN_SHAPE(3, 2)),
                                ints(device, rnnt_frames, BURN_SHAPE(3)), ints(device, rnnt_labels, BURN_SHAPE(3)));
}

static void test_rnnt(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnRNNTLoss m = burn_rnnt_loss_init(NULL, device);
  const BurnShape shape = BURN_SHAPE(3, 4, 3, 5);
  BurnTensor *x = nn_leaf(device, shape, 1), *even = burn_require_grad(burn_zeros(device, shape, BURN_DTYPE_F32));
  assert_true(m.blank == 0 && m.logits);
  NN_ASSERT_CASE(rnnt, rnnt_of(&m, burn_clone(x)), x);
  NN_ASSERT_CASE(rnnt_even, rnnt_of(&m, burn_clone(even)), even);
  m.blank = 1;
  NN_ASSERT_CASE(rnnt_blank, rnnt_of(&m, burn_clone(x)), x);
  m.logits = false;
  NN_ASSERT_CASE(rnnt_blank, rnnt_of(&m, burn_log_softmax(burn_clone(x), 3)), x);
  m.blank = 5;
  nn_assert_failed(rnnt_of(&m, burn_clone(x)), "rnnt_loss: blank 5 is not one of 5 classes");
  burn_drop(x);
  burn_drop(even);
}

/* No path: every probability of a blank is 0. And one without labels at all. */
static void test_rnnt_edges(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnRNNTLoss m = {0, false};
  const float logs[] = {-INFINITY, 0, -INFINITY, 0}, alone[] = {-1, 0, -2, 0};
  const int64_t frame[] = {2}, label[] = {0}, none[] = {0};
  const double never = (double)INFINITY, sum = 3;
  double found = 0;
  BurnTensor *x = burn_tensor_f32(device, logs, BURN_SHAPE(1, 2, 1, 2));
  BurnTensor *targets = burn_zeros(device, BURN_SHAPE(1, 0), BURN_DTYPE_I64);
  BurnTensor *loss = burn_rnnt_loss_forward(&m, x, burn_clone(targets), ints(device, frame, BURN_SHAPE(1)),
                                            ints(device, label, BURN_SHAPE(1)));
  assert_string_equal("ok", burn_status_message(burn_read_scalar(loss, &found)));
  assert_true(found == never);
  x = burn_tensor_f32(device, alone, BURN_SHAPE(1, 2, 1, 2));
  nn_assert_values(
      "no labels",
      burn_rnnt_loss_forward(&m, x, targets, ints(device, frame, BURN_SHAPE(1)), ints(device, none, BURN_SHAPE(1))),
      &sum, 1, 1e-6);
}

static void test_refused(void **state) {
  Inputs in = inputs_of(state);
  const BurnHuberLoss huber = burn_huber_loss_new(-1, in.device), none = burn_huber_loss_init(NULL, in.device);
  const BurnLpLoss lp = burn_lp_loss_new(0, in.device), no_lp = burn_lp_loss_init(NULL, in.device);
  const BurnMultiMarginLoss multi = {1, 3};
  const BurnMseLoss mse = burn_mse_loss_init();
  nn_assert_failed(burn_huber_loss_forward_no_reduction(&huber, X, T),
                   "huber_loss: delta -1 is not a number of 0 or more");
  nn_assert_failed(burn_huber_loss_forward_no_reduction(&none, X, T),
                   "huber_loss: config is NULL: BurnHuberLossConfig_defaults(delta) makes one");
  nn_assert_failed(burn_lp_loss_forward_no_reduction(&lp, X, T), "lp_loss: p 0 is not above 0");
  nn_assert_failed(burn_lp_loss_forward_no_reduction(&no_lp, X, T),
                   "lp_loss: config is NULL: BurnLpLossConfig_defaults(p) makes one");
  nn_assert_failed(burn_multi_margin_loss_forward_no_reduction(&multi, X, T),
                   "multi_margin_loss: p 3 is neither 1 nor 2");
  nn_assert_failed(burn_mse_loss_forward(&mse, X, T, BURN_REDUCTION_BATCH_MEAN),
                   "mse_loss: reduction BatchMean is only of kl_div_loss");
  nn_assert_failed(burn_mse_loss_forward(&mse, X, T, 9), "mse_loss: reduction 9 is not one of 0..3");
  nn_assert_failed(burn_mse_loss_forward(&mse, X, burn_sum_dim(T, 1), BURN_REDUCTION_MEAN),
                   "mse_loss: predictions [3,4] and targets [3,1] differ in shape");
  drop_inputs(&in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_huber_and_smooth_l1),
      cmocka_unit_test(test_lp),
      cmocka_unit_test(test_poisson),
      cmocka_unit_test(test_gaussian),
      cmocka_unit_test(test_cross_entropy),
      cmocka_unit_test(test_binary_cross_entropy),
      cmocka_unit_test(test_binary_cross_entropy_of_certainty),
      cmocka_unit_test(test_kl_div),
      cmocka_unit_test(test_embedding_losses),
      cmocka_unit_test(test_margins),
      cmocka_unit_test(test_triplets),
      cmocka_unit_test(test_ctc),
      cmocka_unit_test(test_rnnt),
      cmocka_unit_test(test_rnnt_edges),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
