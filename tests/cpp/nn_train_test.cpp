/* nn_train_test.cpp - layers and training from C++17: modules, configs and their values as in C, a loader, an
 * optimizer, a training loop. Where a spelling is special to one language, both stand here. */
#include "expect.hpp"

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>

#include <cstdlib>
#include <string>
#include <vector>

/* Every kind of row that a config may have. */
#define CURVE_CONFIG(REQ, OPT)                                                          \
  REQ(BurnSize, hidden, "width of the hidden layer")                                    \
  OPT(BurnF64, rate, 0.05, "learning rate")                                             \
  OPT(BurnI64, seed, -7, "of the data")                                                 \
  OPT(BurnBool, shuffle, true, "a new order every epoch")                               \
  OPT(BurnText, name, {"curve"}, "of the run")                                          \
  OPT(BurnSize2, kernel, BURN_PAIR_OF_ONES, "a pair")                                   \
  OPT(BurnOptionF64, decay, BURN_ABSENT, "may be absent")                               \
  OPT(BurnOptionSize, limit, BURN_ABSENT_SIZE, "so may this")                           \
  OPT(BurnPadding1d, margin, BURN_PADDING_1D(1, 2), "explicit")                         \
  OPT(BurnPadding2d, padding, BURN_PADDING_SAME, "by name")                             \
  OPT(BurnInitializer, initializer, BURN_NORMAL(0, 0.5), "first values of the weights") \
  OPT(BurnAdamConfig, adam, BurnAdamConfig_defaults(), "a config within")
BURN_CONFIG(CurveConfig, CURVE_CONFIG);

#define CURVE_FIELDS(X)                   \
  X(BurnLinear, in, "1 -> hidden")        \
  X(BurnTanh, activation, "between them") \
  X(BurnLinear, out, "hidden -> 1")
BURN_MODULE(Curve, CURVE_FIELDS);

static Curve curve_init(const CurveConfig &config, BurnDevice *device) {
  BurnLinearConfig in = BurnLinearConfig_defaults(1, config.hidden), out = BurnLinearConfig_defaults(config.hidden, 1);
  in.initializer = config.initializer;
  return {burn_linear_init(&in, device), burn_tanh_init(), burn_linear_init(&out, device)};
}

static BurnTensor *curve_forward(const Curve &m, BurnTensor *x) {
  return burn_linear_forward(&m.out, burn_tanh_forward(&m.activation, burn_linear_forward(&m.in, x)));
}

static void test_values() {
  const BurnInitializer ones = BURN_ONES, constant = (BurnInitializer)BURN_CONSTANT(2.5);
  EXPECT(ones.kind == BURN_INITIALIZER_ONES && constant.kind == BURN_INITIALIZER_CONSTANT && constant.value == 2.5);
  BurnConv2dConfig conv = BurnConv2dConfig_defaults(BURN_SIZE2(1, 8), BURN_SIZE2(3, 5));
  EXPECT(conv.channels.at[1] == 8 && conv.kernel_size.at[1] == 5 && conv.stride.at[0] == 1 && conv.bias &&
         conv.groups == 1);
  EXPECT(conv.padding.kind == BURN_PADDING_KIND_VALID && conv.initializer.gain == BURN_KAIMING_GAIN);
  conv.padding = BURN_PADDING_SAME;
  EXPECT(conv.padding.kind == BURN_PADDING_KIND_SAME);
  conv.padding = (BurnPadding2d)BURN_PADDING_2D(1, 2, 3, 4);
  EXPECT(conv.padding.kind == BURN_PADDING_KIND_EXPLICIT && conv.padding.top == 1 && conv.padding.right == 4);
  const BurnPool2dOptions pool = BURN_POOL2D_OPTIONS(2, 3);
  EXPECT(pool.stride[1] == 3 && pool.dilation[0] == 1 && pool.count_include_pad && !BURN_ATTENTION_OPTIONS.is_causal);
  EXPECT(BURN_RANGE_STEP(1, 9, 2).step == 2 && BURN_STFT_OPTIONS(16).hop_length == 4 &&
         BURN_QUANT_SCHEME.block_rank == 0);
  EXPECT(BURN_CONV3D_OPTIONS.stride[2] == 1 && BURN_UNFOLD4D_OPTIONS.dilation[1] == 1 &&
         BURN_POOL1D_OPTIONS(4).stride == 4);
}

static void test_config() {
  CurveConfig config = CurveConfig_defaults(16);
  EXPECT(config.hidden == 16 && config.rate == 0.05 && config.seed == -7 && config.shuffle &&
         std::string(config.name.text) == "curve");
  EXPECT(config.kernel.at[1] == 1 && !config.decay.present && !config.limit.present && config.margin.right == 2 &&
         config.adam.beta_2 == 0.999);
  EXPECT(config.padding.kind == BURN_PADDING_KIND_SAME && config.initializer.kind == BURN_INITIALIZER_NORMAL &&
         config.initializer.std == 0.5);
  EXPECT(burn_config_parse(burn_config(CurveConfig, &config), "{\"hidden\": 24, \"decay\": 0.5, \"limit\": 9}") ==
         BURN_OK);
  EXPECT(config.hidden == 24 && config.decay.present && config.decay.value == 0.5 && config.limit.present &&
         config.limit.value == 9 && config.margin.left == 1 && config.seed == -7);
  EXPECT(burn_config_parse(burn_config(CurveConfig, &config), "{}") != BURN_OK); /* hidden is required */
  char *text = burn_config_text(burn_config(CurveConfig, &config));
  CurveConfig again = CurveConfig_defaults(1);
  EXPECT(text && burn_config_parse(burn_config(CurveConfig, &again), text) == BURN_OK && again.hidden == 24);
  std::free(text);
}

/* Items of y = x^2 on -1 .. 1. */
static BurnLoader *curve_loader(const CurveConfig &config, BurnStatus *status) {
  const size_t count = 128;
  std::vector<float> x(count), y(count);
  for (size_t i = 0; i < count; i++) {
    x[i] = 2.0f * static_cast<float>(i) / static_cast<float>(count - 1) - 1.0f;
    y[i] = x[i] * x[i];
  }
  const BurnColumn columns[] = {{"x", BURN_DTYPE_F32, BURN_SHAPE(1)}, {"y", BURN_DTYPE_F32, BURN_SHAPE(1)}};
  const void *data[] = {x.data(), y.data()};
  BurnDataset *dataset = burn_dataset_memory(columns, 2, data, count, status);
  BurnLoaderConfig loader = {};
  loader.batch_size = 32;
  loader.shuffle = config.shuffle;
  loader.workers = 1;
  return dataset ? burn_loader_create(dataset, &loader, status) : nullptr;
}

static BurnStatus train_epoch(Curve &model, BurnOptimizer *optimizer, BurnLoader *loader, BurnDevice *device,
                              size_t epoch, double rate, double &mean) {
  BurnStatus status = BURN_OK;
  double sum = 0;
  BurnBatches *batches = burn_loader_start(loader, device, epoch, 0);
  for (BurnBatch batch; status == BURN_OK && burn_batches_next(batches, &batch);) {
    BurnTensor *y = curve_forward(model, burn_batch_take(&batch, "x"));
    BurnTensor *loss = burn_mse(y, burn_batch_take(&batch, "y"));
    double value = 0;
    status = burn_read_scalar(burn_detach(burn_clone(loss)), &value);
    sum += value;
    const BurnStatus stepped = burn_train_step(optimizer, burn_module(Curve, &model), loss, rate);
    if (status == BURN_OK) status = stepped;
  }
  const BurnStatus stopped = burn_batches_stop(batches);
  mean = sum / static_cast<double>(burn_loader_batch_count(loader));
  return status == BURN_OK ? stopped : status;
}

static void test_training() {
  BurnDevice *device = burn_device_open_training("ndarray");
  burn_device_seed(device, 42);
  const CurveConfig config = CurveConfig_defaults(16);
  Curve model = curve_init(config, device);
  EXPECT(burn_module_num_params(burn_module(Curve, &model)) == 16 + 16 + 16 + 1);
  BurnStatus status = BURN_OK;
  BurnLoader *loader = curve_loader(config, &status);
  BurnOptimizer *optimizer = burn_adam_create(&config.adam);
  double first = 0, last = 0;
  for (size_t epoch = 1; epoch <= 50 && status == BURN_OK; epoch++)
    status = train_epoch(model, optimizer, loader, device, epoch, config.rate, epoch == 1 ? first : last);
  std::cout << "loss " << first << " -> " << last << "; " << burn_status_message(status) << "\n";
  EXPECT(status == BURN_OK && last < 0.01 && last < first / 10);
  Curve valid = Curve_valid(&model);
  double at_zero = 1;
  EXPECT(burn_read_scalar(curve_forward(valid, burn_zeros(burn_device_inner(device), BURN_SHAPE(1, 1), BURN_DTYPE_F32)),
                          &at_zero) == BURN_OK);
  EXPECT(at_zero > -0.2 && at_zero < 0.2);
  Curve_release(&valid);
  Curve_release(&model);
  burn_optimizer_destroy(optimizer);
  burn_loader_destroy(loader);
  burn_device_close(device);
}

int main() {
  test_values();
  test_config();
  test_training();
  std::cout << (failures ? "FAILED" : "all checks passed") << "\n";
  return failures != 0;
}
