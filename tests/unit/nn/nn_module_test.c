/* nn_module_test.c - layers as modules: refused configs, what depends on the device, gradients, record fields. */
#include "nn_testing.h"

#include "record_testing.h"

/* -- refused configs and inputs --------------------------------------------------------------- */

static void assert_module_failed(BurnModule module, const char *message) {
  const BurnStatus status = burn_module_status(module);
  burn_module_release(module);
  assert_string_equal(message, burn_status_message(status));
}

static void test_refused_configs(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  BurnLinearConfig linear_config = BurnLinearConfig_defaults(0, 3);
  BurnConv1dConfig conv1d_config = BurnConv1dConfig_defaults(4, 6, 3);
  BurnConv2dConfig conv2d_config = BurnConv2dConfig_defaults(BURN_SIZE2(8, 6), BURN_SIZE2(3, 3));
  BurnConvTranspose2dConfig transpose_config = BurnConvTranspose2dConfig_defaults(BURN_SIZE2(4, 6), BURN_SIZE2(3, 3));
  BurnBatchNormConfig batch_norm_config = BurnBatchNormConfig_defaults(4);
  BurnLayerNormConfig layer_norm_config = BurnLayerNormConfig_defaults(4);
  BurnEmbeddingConfig embedding_config = BurnEmbeddingConfig_defaults(10, (size_t)1 << 40);
  BurnLinear linear = burn_linear_init(&linear_config, device);
  BurnConv1d conv1d;
  BurnConv2d conv2d;
  BurnConvTranspose2d transpose;
  BurnBatchNorm batch_norm;
  BurnLayerNorm layer_norm;
  BurnEmbedding embedding = burn_embedding_init(&embedding_config, device);
  /* The failure travels through a forward pass too. */
  nn_assert_failed(burn_linear_forward(&linear, nn_pattern(device, BURN_SHAPE(2, 3), 1)), "linear: d_input is 0");
  assert_module_failed(burn_module(BurnLinear, &linear), "weight: linear: d_input is 0");
  assert_module_failed(burn_module(BurnEmbedding, &embedding),
                       "weight: embedding: d_model 1099511627776 is more than 2147483647");
  conv1d_config.groups = 4;
  conv1d = burn_conv1d_init(&conv1d_config, device);
  assert_module_failed(burn_module(BurnConv1d, &conv1d), "weight: conv1d: groups 4 does not divide channels_out 6");
  conv2d_config.groups = 3;
  conv2d = burn_conv2d_init(&conv2d_config, device);
  assert_module_failed(burn_module(BurnConv2d, &conv2d), "weight: conv2d: groups 3 does not divide channels_in 8");
  conv2d_config.groups = 0;
  conv2d = burn_conv2d_init(&conv2d_config, device);
  assert_module_failed(burn_module(BurnConv2d, &conv2d), "weight: conv2d: groups is 0");
  transpose_config.initializer = (BurnInitializer)BURN_XAVIER_NORMAL;
  transpose = burn_conv_transpose2d_init(&transpose_config, device);
  assert_module_failed(
      burn_module(BurnConvTranspose2d, &transpose),
      "weight: conv_transpose2d: initializer: XavierNormal needs fan_out, which this parameter does not have");
  batch_norm_config.momentum = 1.5;
  batch_norm = burn_batch_norm_init(&batch_norm_config, device);
  assert_module_failed(burn_module(BurnBatchNorm, &batch_norm), "gamma: batch_norm: momentum 1.5 is outside 0..1");
  layer_norm_config.epsilon = -1;
  layer_norm = burn_layer_norm_init(&layer_norm_config, device);
  assert_module_failed(burn_module(BurnLayerNorm, &layer_norm),
                       "gamma: layer_norm: epsilon -1 is not a number of 0 or more");
}

/* -- NULL for a config ------------------------------------------------------------------------ */

/* Layers without parameters: init, and forward says what is missing. */
#define NULL_CONFIG_FORWARD(Name, name, shape, required)                                          \
  do {                                                                                            \
    const Name layer = burn_##name##_init(NULL, device);                                          \
    nn_assert_failed(burn_##name##_forward(&layer, nn_pattern(device, shape, 1)),                 \
                     #name ": config is NULL: " #Name "Config_defaults(" required ") makes one"); \
  } while (0)

#define NULL_CONFIG_PARAM(Name, name, first, required)                                                           \
  do {                                                                                                           \
    Name layer = burn_##name##_init(NULL, device);                                                               \
    assert_module_failed(burn_module(Name, &layer),                                                              \
                         first ": " #name ": config is NULL: " #Name "Config_defaults(" required ") makes one"); \
  } while (0)

static void test_null_configs(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  NULL_CONFIG_PARAM(BurnLinear, linear, "weight", "d_input, d_output");
  NULL_CONFIG_PARAM(BurnConv1d, conv1d, "weight", "channels_in, channels_out, kernel_size");
  NULL_CONFIG_PARAM(BurnConv2d, conv2d, "weight", "channels, kernel_size");
  NULL_CONFIG_PARAM(BurnConvTranspose2d, conv_transpose2d, "weight", "channels, kernel_size");
  NULL_CONFIG_PARAM(BurnEmbedding, embedding, "weight", "n_embedding, d_model");
  NULL_CONFIG_PARAM(BurnBatchNorm, batch_norm, "gamma", "num_features");
  NULL_CONFIG_PARAM(BurnLayerNorm, layer_norm, "gamma", "d_model");
  NULL_CONFIG_FORWARD(BurnDropout, dropout, BURN_SHAPE(2), "prob");
  NULL_CONFIG_FORWARD(BurnMaxPool1d, max_pool1d, BURN_SHAPE(1, 1, 4), "kernel_size");
  NULL_CONFIG_FORWARD(BurnAvgPool1d, avg_pool1d, BURN_SHAPE(1, 1, 4), "kernel_size");
  NULL_CONFIG_FORWARD(BurnMaxPool2d, max_pool2d, BURN_SHAPE(1, 1, 4, 4), "kernel_size");
  NULL_CONFIG_FORWARD(BurnAvgPool2d, avg_pool2d, BURN_SHAPE(1, 1, 4, 4), "kernel_size");
  NULL_CONFIG_FORWARD(BurnAdaptiveAvgPool1d, adaptive_avg_pool1d, BURN_SHAPE(1, 1, 4), "output_size");
  NULL_CONFIG_FORWARD(BurnAdaptiveAvgPool2d, adaptive_avg_pool2d, BURN_SHAPE(1, 1, 4, 4), "output_size");
  /* Every field has a default: these are the defaults. */
  assert_true(burn_leaky_relu_init(NULL, device).negative_slope == 0.01);
  assert_true(burn_softplus_init(NULL, device).beta == 1.0);
  const BurnCrossEntropyLoss loss = burn_cross_entropy_loss_init(NULL, device);
  assert_true(loss.logits && !loss.smoothing.present);
}

/* -- where a forward pass failed -------------------------------------------------------------- */

#define BLOCK_FIELDS(X) X(BurnLayerNorm, norm, "") X(BurnLinear, up, "")
BURN_MODULE(Block, BLOCK_FIELDS);
#define STACK_FIELDS(X) \
  X(BurnModuleList, blocks, "of Block") X(BurnConv1d, conv, "") X(BurnBatchNorm, bn, "") X(BurnEmbedding, table, "")
BURN_MODULE(Stack, STACK_FIELDS);

static Stack stack_init(BurnDevice *device) {
  const BurnLayerNormConfig norm = BurnLayerNormConfig_defaults(4);
  const BurnLinearConfig up = BurnLinearConfig_defaults(4, 2);
  const BurnBatchNormConfig bn = BurnBatchNormConfig_defaults(4);
  const BurnEmbeddingConfig table = BurnEmbeddingConfig_defaults(5, 2);
  BurnConv1dConfig conv = BurnConv1dConfig_defaults(3, 4, 2);
  conv.padding = (BurnPadding1d)BURN_PADDING_SAME;
  Stack stack = {burn_module_list(Block_type(), 3), burn_conv1d_init(&conv, device), burn_batch_norm_init(&bn, device),
                 burn_embedding_init(&table, device)};
  for (size_t i = 0; i < 3; i++) {
    Block *block = burn_module_list_at(&stack.blocks, i);
    *block = (Block){burn_layer_norm_init(&norm, device), burn_linear_init(&up, device)};
  }
  return stack;
}

#define WRONG_LINEAR "linear: x [2,3] and weight [4,2]: the weight takes 4 inputs, x has 3"

static void test_failures_name_the_layer(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  Stack stack = stack_init(device);
  const Block *block = burn_module_list_at(&stack.blocks, 2);
  /* Nobody has walked over the module: the kind of layer and the shapes. */
  assert_null(block->up.weight.path);
  nn_assert_failed(burn_linear_forward(&block->up, nn_pattern(device, BURN_SHAPE(2, 3), 1)), WRONG_LINEAR);
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(Stack, &stack))));
  assert_string_equal("blocks.2.up.weight", block->up.weight.path);
  nn_assert_failed(burn_linear_forward(&block->up, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "blocks.2.up: " WRONG_LINEAR);
  nn_assert_failed(burn_linear_forward(&block->up, NULL), "blocks.2.up: linear: input 0 (x) is missing");
  nn_assert_failed(burn_layer_norm_forward(&block->norm, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "blocks.2.norm: layer_norm: gamma has 4 entries, the last axis of [2,3] has 3");
  nn_assert_failed(burn_batch_norm_forward(&stack.bn, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "bn: batch_norm: axis 1 has 3 features, num_features is 4");
  nn_assert_failed(burn_conv1d_forward(&stack.conv, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "conv: conv1d: x [2,3] and weight [4,3,2]; rank 3 expected");
  nn_assert_failed(burn_embedding_forward(&stack.table, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "table: embedding: indices must be an int tensor, not f32");
  Stack_release(&stack);
}

/* A failure that comes with the input has its place already; one made by ops of the program's own has none. */
static void test_failures_travel_with_one_place(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  Stack stack = stack_init(device);
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(Stack, &stack))));
  const Block *first = burn_module_list_at(&stack.blocks, 0), *last = burn_module_list_at(&stack.blocks, 2);
  BurnTensor *x = burn_linear_forward(&first->up, nn_pattern(device, BURN_SHAPE(2, 3), 1));
  x = burn_layer_norm_forward(&last->norm, burn_relu(x));
  nn_assert_failed(burn_batch_norm_forward(&stack.bn, x), "blocks.0.up: " WRONG_LINEAR);
  x = burn_matmul(nn_pattern(device, BURN_SHAPE(2, 3), 1), nn_pattern(device, BURN_SHAPE(2, 3), 1));
  nn_assert_failed(burn_linear_forward(&first->up, x), "matmul: [2,3] x [2,3]: inner dimensions 3 and 2 differ");
  Stack_release(&stack);
}

/* Parts walked by themselves, copies, records and steps keep or bring the path. */
static void test_paths_stay(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  Stack stack = stack_init(device), other = stack_init(device);
  Block *block = burn_module_list_at(&stack.blocks, 1);
  burn_module_no_grad(burn_module(BurnLinear, &block->up));
  assert_string_equal("weight", block->up.weight.path);
  assert_true(burn_module_num_params(burn_module(Stack, &stack)) > 0);
  assert_string_equal("blocks.1.up.weight", block->up.weight.path);
  burn_module_no_grad(burn_module(BurnLinear, &block->up));
  assert_string_equal("blocks.1.up.weight", block->up.weight.path);
  BurnLinear copy = BurnLinear_clone(&block->up);
  assert_string_equal("blocks.1.up.bias", copy.bias.path);
  BurnValue *record = burn_value_module(burn_module(Stack, &stack));
  assert_string_equal("ok", burn_status_message(burn_value_into_module(record, burn_module(Stack, &other))));
  assert_ptr_equal(stack.conv.weight.path, other.conv.weight.path);
  burn_value_destroy(record);
  BurnLinear_release(&copy);
  Stack_release(&stack);
  Stack_release(&other);
}

static void test_refused_inputs(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnBatchNormConfig config = BurnBatchNormConfig_defaults(4);
  const BurnMaxPool1dConfig pool_config = BurnMaxPool1dConfig_defaults(2);
  const BurnCrossEntropyLossConfig loss_config = BurnCrossEntropyLossConfig_defaults();
  const BurnMaxPool1d pool = burn_max_pool1d_init(&pool_config, device);
  const BurnMseLoss mse = burn_mse_loss_init();
  const double zeros[] = {0, 0, 0, 0};
  BurnBatchNorm norm = burn_batch_norm_init(&config, device);
  BurnCrossEntropyLoss loss = burn_cross_entropy_loss_init(&loss_config, device);
  nn_assert_failed(burn_batch_norm_forward(&norm, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "batch_norm: axis 1 has 3 features, num_features is 4");
  nn_assert_failed(burn_batch_norm_forward(&norm, nn_pattern(device, BURN_SHAPE(4), 1)),
                   "batch_norm: rank 2 or more expected, found 1");
  /* A failed pass leaves the running statistics alone. */
  nn_assert_failed(burn_batch_norm_forward(&norm, burn_tensor_failed(burn_status_make(BURN_STATUS_CANCELLED, "stop"))),
                   "stop");
  nn_assert_values("running_mean", burn_buffer_value(&norm.running_mean), zeros, 4, 0);
  BurnBatchNorm_release(&norm);
  nn_assert_failed(burn_max_pool1d_forward(&pool, nn_pattern(device, BURN_SHAPE(2, 3), 1)),
                   "max_pool1d: rank 3 expected, found 2");
  nn_assert_failed(
      burn_mse_loss_forward(&mse, nn_pattern(device, BURN_SHAPE(3, 1), 1), nn_pattern(device, BURN_SHAPE(1, 3), 1),
                            BURN_REDUCTION_AUTO),
      "mse_loss: predictions [3,1] and targets [1,3] differ in shape; burn_reshape makes one like the other");
  nn_assert_failed(
      burn_cross_entropy_loss_forward_no_reduction(&loss, nn_pattern(device, BURN_SHAPE(2, 3), 1),
                                                   burn_tensor_i64(device, (int64_t[]){0, 1, 2}, BURN_SHAPE(3))),
      "cross_entropy_loss: 3 targets for 2 rows of logits");
  burn_cross_entropy_loss_set_weights(&loss, burn_tensor_f32(device, (float[]){1, 0, 1}, BURN_SHAPE(3)));
  nn_assert_failed(burn_cross_entropy_loss_forward(&loss, nn_pattern(device, BURN_SHAPE(1, 3), 1),
                                                   burn_tensor_i64(device, (int64_t[]){0}, BURN_SHAPE(1))),
                   "cross_entropy_loss: weight 0 is not above 0");
  BurnCrossEntropyLoss_release(&loss);
  loss.logits = true;
  loss.smoothing = (BurnOptionF64){true, 2};
  nn_assert_failed(burn_cross_entropy_loss_forward(&loss, nn_pattern(device, BURN_SHAPE(1, 3), 1),
                                                   burn_tensor_i64(device, (int64_t[]){0}, BURN_SHAPE(1))),
                   "cross_entropy_loss: smoothing 2 is outside 0..1");
}

/* -- training and inference ------------------------------------------------------------------- */

static void test_dropout(void **state) {
  NnDevices *devices = *state;
  const BurnDropoutConfig config = BurnDropoutConfig_defaults(0.25);
  const BurnDropout m = burn_dropout_init(&config, devices->training), none = {0}, wrong = {1.5};
  static float values[10000];
  size_t zeros = 0;
  BurnTensor *x = burn_ones(devices->plain, BURN_SHAPE(10000), BURN_DTYPE_DEFAULT);
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_dropout_forward(&m, x), values, 10000)));
  for (size_t i = 0; i < 10000; i++) assert_true(values[i] == 1);
  x = burn_ones(devices->training, BURN_SHAPE(10000), BURN_DTYPE_DEFAULT);
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_dropout_forward(&m, x), values, 10000)));
  for (size_t i = 0; i < 10000; i++) {
    zeros += values[i] == 0;
    assert_true(values[i] == 0 || fabsf(values[i] - 4.0f / 3) < 1e-6f);
  }
  assert_in_range(zeros, 2300, 2700);
  x = burn_ones(devices->training, BURN_SHAPE(10000), BURN_DTYPE_DEFAULT);
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_dropout_forward(&none, x), values, 10000)));
  for (size_t i = 0; i < 10000; i++) assert_true(values[i] == 1);
  nn_assert_failed(burn_dropout_forward(&wrong, burn_ones(devices->plain, BURN_SHAPE(2), BURN_DTYPE_DEFAULT)),
                   "dropout: prob 1.5 is outside 0..1");
}

/* On a device without autodiff the running statistics are used and stay. */
static void test_batch_norm_inference(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnBatchNormConfig config = BurnBatchNormConfig_defaults(2);
  const double factor = 1 / sqrt(1 + 1e-5), expected[] = {3 * factor, -4 * factor}, ones[] = {1, 1};
  BurnBatchNorm m = burn_batch_norm_init(&config, device);
  BurnTensor *x = burn_tensor_f32(device, (float[]){3, -4}, BURN_SHAPE(1, 2));
  nn_assert_values("output", burn_batch_norm_forward(&m, x), expected, 2, 1e-6);
  nn_assert_values("running_var", burn_buffer_value(&m.running_var), ones, 2, 0);
  BurnBatchNorm_release(&m);
}

/* -- gradients -------------------------------------------------------------------------------- */

#define NET_FIELDS(X)                                   \
  X(BurnEmbedding, embedding, "tokens")                 \
  X(BurnConv1d, conv1d, "over positions")               \
  X(BurnConv2d, conv2d, "over planes, padded unevenly") \
  X(BurnBatchNorm, batch_norm, "after conv2d")          \
  X(BurnRelu, relu, "after batch_norm")                 \
  X(BurnMaxPool2d, pool, "padded unevenly")             \
  X(BurnConvTranspose2d, up, "back to planes")          \
  X(BurnLayerNorm, layer_norm, "over the last axis")    \
  X(BurnLinear, linear, "to classes")
BURN_MODULE(Net, NET_FIELDS);

static Net net_init(BurnDevice *device) {
  const BurnEmbeddingConfig embedding = BurnEmbeddingConfig_defaults(5, 8);
  const BurnConv1dConfig conv1d = BurnConv1dConfig_defaults(6, 6, 3);
  BurnConv2dConfig conv2d = BurnConv2dConfig_defaults(BURN_SIZE2(1, 4), BURN_SIZE2(2, 2));
  const BurnBatchNormConfig batch_norm = BurnBatchNormConfig_defaults(4);
  BurnMaxPool2dConfig pool = BurnMaxPool2dConfig_defaults(BURN_SIZE2(2, 2));
  const BurnConvTranspose2dConfig up = BurnConvTranspose2dConfig_defaults(BURN_SIZE2(4, 2), BURN_SIZE2(3, 3));
  const BurnLayerNormConfig layer_norm = BurnLayerNormConfig_defaults(8);
  const BurnLinearConfig linear = BurnLinearConfig_defaults(128, 3);
  conv2d.padding = (BurnPadding2d)BURN_PADDING_SAME;
  pool.strides = BURN_SIZE2(1, 1);
  pool.padding = (BurnPadding2d)BURN_PADDING_SAME;
  return (Net){.embedding = burn_embedding_init(&embedding, device),
               .conv1d = burn_conv1d_init(&conv1d, device),
               .conv2d = burn_conv2d_init(&conv2d, device),
               .batch_norm = burn_batch_norm_init(&batch_norm, device),
               .relu = burn_relu_init(),
               .pool = burn_max_pool2d_init(&pool, device),
               .up = burn_conv_transpose2d_init(&up, device),
               .layer_norm = burn_layer_norm_init(&layer_norm, device),
               .linear = burn_linear_init(&linear, device)};
}

/* tokens [2, 6] -> [2, 3] */
static BurnTensor *net_forward(const Net *m, BurnTensor *x) {
  x = burn_embedding_forward(&m->embedding, x);                  /* [2, 6, 8] */
  x = burn_unsqueeze_dim(burn_conv1d_forward(&m->conv1d, x), 1); /* [2, 1, 6, 6] */
  x = burn_batch_norm_forward(&m->batch_norm, burn_conv2d_forward(&m->conv2d, x));
  x = burn_max_pool2d_forward(&m->pool, burn_relu_forward(&m->relu, x));                 /* [2, 4, 6, 6] */
  x = burn_layer_norm_forward(&m->layer_norm, burn_conv_transpose2d_forward(&m->up, x)); /* [2, 2, 8, 8] */
  return burn_linear_forward(&m->linear, burn_flatten(x, 1, 3));
}

static BurnTensor *net_tokens(BurnDevice *device) {
  return burn_tensor_i64(device, (int64_t[]){0, 1, 2, 3, 4, 0, 4, 4, 1, 2, 0, 3}, BURN_SHAPE(2, 6));
}

typedef struct GradientCheck {
  BurnGradients *gradients;
  size_t count;
} GradientCheck;

/* Every parameter has a finite gradient of its shape that is not all zero. */
static BurnStatus check_gradient(void *context, const BurnModuleTensor *tensor) {
  GradientCheck *check = context;
  BurnTensor *gradient;
  double size = 0;
  bool cancels;
  if (!tensor->param) return BURN_OK;
  gradient = burn_grad(tensor->param->value, check->gradients);
  if (!gradient) fail_msg("%s has no gradient", tensor->path);
  nn_assert_shape(gradient, burn_shape(tensor->param->value));
  assert_string_equal("ok", burn_status_message(burn_read_scalar(burn_sum(burn_abs(gradient)), &size)));
  /* Shifts in front of a normalisation cancel out: rounding is all that is left of their gradients. */
  cancels = strcmp(tensor->path, "conv2d.bias") == 0 || strcmp(tensor->path, "up.bias") == 0;
  if (!cancels && !(size > 1e-6)) fail_msg("%s: gradient is %g", tensor->path, size);
  assert_true(isfinite(size));
  check->count++;
  return BURN_OK;
}

static void test_gradients_reach_every_parameter(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  const BurnCrossEntropyLossConfig config = BurnCrossEntropyLossConfig_defaults();
  const BurnCrossEntropyLoss loss = burn_cross_entropy_loss_init(&config, device);
  GradientCheck check = {NULL, 0};
  BurnTensor *logits;
  Net net;
  burn_device_seed(device, 3);
  net = net_init(device);
  assert_string_equal("ok", burn_status_message(burn_module_status(burn_module(Net, &net))));
  logits = net_forward(&net, net_tokens(device));
  nn_assert_shape(logits, BURN_SHAPE(2, 3));
  logits = burn_cross_entropy_loss_forward(&loss, logits, burn_tensor_i64(device, (int64_t[]){2, 0}, BURN_SHAPE(2)));
  assert_string_equal("ok", burn_status_message(burn_backward(logits, &check.gradients)));
  assert_string_equal("ok", burn_status_message(burn_module_visit(burn_module(Net, &net), check_gradient, &check)));
  assert_int_equal(13, check.count);
  burn_gradients_drop(check.gradients);
  Net_release(&net);
}

/* With a kernel of ones, the gradient of the sum at an input is the number of windows that cover it; Same padding of an
 * even kernel adds windows at the end only. */
static void test_gradient_through_uneven_padding(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->training;
  BurnConv2dConfig config = BurnConv2dConfig_defaults(BURN_SIZE2(1, 1), BURN_SIZE2(2, 2));
  BurnTensor *x = burn_require_grad(nn_pattern(device, BURN_SHAPE(1, 1, 3, 3), 1));
  BurnGradients *gradients = NULL;
  float found[9];
  const double expected[] = {1, 2, 2, 2, 4, 4, 2, 4, 4};
  BurnConv2d m;
  config.padding = (BurnPadding2d)BURN_PADDING_SAME;
  config.bias = false;
  config.initializer = (BurnInitializer)BURN_ONES;
  m = burn_conv2d_init(&config, device);
  assert_null(m.bias.value);
  assert_string_equal("ok",
                      burn_status_message(burn_backward(burn_sum(burn_conv2d_forward(&m, burn_clone(x))), &gradients)));
  assert_string_equal("ok", burn_status_message(burn_read_f32(burn_grad(x, gradients), found, 9)));
  for (size_t i = 0; i < 9; i++) assert_true(fabs((double)found[i] - expected[i]) < 1e-6);
  burn_gradients_drop(gradients);
  burn_drop(x);
  BurnConv2d_release(&m);
}

/* -- records ---------------------------------------------------------------------------------- */

static void test_record_fields(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  Net net = net_init(device);
  BurnLinearConfig config = BurnLinearConfig_defaults(2, 2);
  BurnLinear linear;
  config.bias = false;
  linear = burn_linear_init(&config, device);
  assert_record(burn_module(BurnLinear, &linear), "weight:P bias:-");
  assert_record(burn_module(BurnLinear, &net.linear), "weight:P bias:P");
  assert_record(burn_module(BurnEmbedding, &net.embedding), "weight:P");
  assert_record(burn_module(BurnConv1d, &net.conv1d),
                "weight:P bias:P stride:- kernel_size:- dilation:- groups:- padding:-");
  assert_record(burn_module(BurnConv2d, &net.conv2d),
                "weight:P bias:P stride:2 kernel_size:2 dilation:2 groups:- padding:-");
  assert_record(burn_module(BurnConvTranspose2d, &net.up),
                "weight:P bias:P stride:2 kernel_size:2 dilation:2 groups:- padding:2 padding_out:2 channels:2");
  assert_record(burn_module(BurnBatchNorm, &net.batch_norm),
                "gamma:P beta:P running_mean:P running_var:P momentum:- epsilon:-");
  assert_record(burn_module(BurnLayerNorm, &net.layer_norm), "gamma:P beta:P epsilon:-");
  Net_release(&net);
}

static void test_record_fields_of_volumes_norms_and_activations(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  const BurnSize2 channels = BURN_SIZE2(2, 4), plane = BURN_SIZE2(1, 1);
  const BurnSize3 cube = BURN_SIZE3(1, 1, 1);
  BurnConv3d conv3d = burn_conv3d_new(channels, cube, device);
  BurnDeformConv2d deform = burn_deform_conv2d_new(channels, plane, device);
  BurnConvTranspose1d up_1d = burn_conv_transpose1d_new(channels, 1, device);
  BurnConvTranspose3d up_3d = burn_conv_transpose3d_new(channels, cube, device);
  BurnGroupNorm group = burn_group_norm_new(2, 4, device);
  BurnInstanceNorm instance = burn_instance_norm_new(4, device);
  BurnRmsNorm rms = burn_rms_norm_new(4, device);
  BurnPRelu prelu = burn_prelu_init(NULL, device);
  BurnSwiGlu swiglu = burn_swiglu_new(4, 4, device);
  assert_record(burn_module(BurnConv3d, &conv3d),
                "weight:P bias:P stride:3 kernel_size:3 dilation:3 groups:- padding:-");
  assert_record(burn_module(BurnDeformConv2d, &deform),
                "weight:P bias:P stride:2 kernel_size:2 dilation:2 weight_groups:- offset_groups:- padding:-");
  assert_record(burn_module(BurnConvTranspose1d, &up_1d),
                "weight:P bias:P stride:- kernel_size:- dilation:- groups:- padding:- padding_out:- channels:2");
  assert_record(burn_module(BurnConvTranspose3d, &up_3d),
                "weight:P bias:P stride:3 kernel_size:3 dilation:3 groups:- padding:3 padding_out:3 channels:2");
  assert_record(burn_module(BurnGroupNorm, &group), "gamma:P beta:P num_groups:- num_channels:- epsilon:- affine:-");
  assert_record(burn_module(BurnInstanceNorm, &instance), "gamma:P beta:P num_channels:- epsilon:- affine:-");
  assert_record(burn_module(BurnRmsNorm, &rms), "gamma:P epsilon:-");
  assert_record(burn_module(BurnPRelu, &prelu), "alpha:P alpha_value:-");
  assert_record(burn_module(BurnSwiGlu, &swiglu), "linear_inner:map linear_outer:map");
}

/* Stateless members are nil, and a record fits a fresh module: same outputs afterwards. */
static void test_record_round_trip(void **state) {
  BurnDevice *device = ((NnDevices *)*state)->plain;
  Net first = net_init(device), second = net_init(device);
  double expected[6], before[6];
  BurnValue *record = burn_value_module(burn_module(Net, &first));
  assert_non_null(record);
  assert_int_equal(BURN_VALUE_NIL, burn_value_kind(burn_value_get(record, "relu")));
  assert_int_equal(BURN_VALUE_NIL, burn_value_kind(burn_value_get(record, "pool")));
  assert_string_equal("ok", burn_status_message(burn_read_f64(net_forward(&first, net_tokens(device)), expected, 6)));
  assert_string_equal("ok", burn_status_message(burn_read_f64(net_forward(&second, net_tokens(device)), before, 6)));
  assert_memory_not_equal(expected, before, sizeof before);
  assert_string_equal("ok", burn_status_message(burn_value_into_module(record, burn_module(Net, &second))));
  nn_assert_values("loaded", net_forward(&second, net_tokens(device)), expected, 6, 0);
  burn_value_destroy(record);
  Net_release(&first);
  Net_release(&second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_configs),
      cmocka_unit_test(test_null_configs),
      cmocka_unit_test(test_failures_name_the_layer),
      cmocka_unit_test(test_failures_travel_with_one_place),
      cmocka_unit_test(test_paths_stay),
      cmocka_unit_test(test_refused_inputs),
      cmocka_unit_test(test_dropout),
      cmocka_unit_test(test_batch_norm_inference),
      cmocka_unit_test(test_gradients_reach_every_parameter),
      cmocka_unit_test(test_gradient_through_uneven_padding),
      cmocka_unit_test(test_record_fields),
      cmocka_unit_test(test_record_fields_of_volumes_norms_and_activations),
      cmocka_unit_test(test_record_round_trip),
  };
  return cmocka_run_group_tests(tests, nn_setup, nn_teardown);
}
