/* modules_hpp_test.cpp - modules, layers and training of burn/nn.hpp and burn/train.hpp: the same numbers, records and
 * messages as in C, ownership, and what is refused. */
#include "expect.hpp"

#include <burn/nn.hpp>
#include <burn/train.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <sstream>

using burn::Device;
using burn::Shape;
using burn::Tensor;
namespace nn = burn::nn;
namespace train = burn::train;

/* One model in both languages. */
struct Block {
  nn::LayerNorm norm;
  nn::Linear up;
  nn::BatchNorm batch;
  std::size_t width;
  double scale;

  Block(std::size_t size, const Device &device)
      : norm(size, device),
        up(nn::LinearConfig(size, size).bias(false), device),
        batch(size, device),
        width(size),
        scale(0.5) {}
  Tensor operator()(Tensor x) const { return x + batch(up(norm(x))) * scale; }

  BURN_CPP_MODULE(Block, norm, up, batch, width, scale)
};

struct Model {
  nn::Linear in;
  burn::ModuleList<Block> blocks;
  nn::Dropout dropout;
  nn::Relu activation;
  burn::Param shift;
  nn::Linear out;

  explicit Model(const Device &device)
      : in(3, 4, device),
        blocks(2, [&](std::size_t) { return Block(4, device); }),
        dropout(0.25, device),
        activation(device),
        shift(Tensor::zeros(device, {1, 4})),
        out(4, 2, device) {}
  Tensor operator()(Tensor x) const {
    x = in(std::move(x));
    for (const Block &block : blocks) x = block(std::move(x));
    return out(activation(dropout(std::move(x)) + shift.value()));
  }

  BURN_CPP_MODULE(Model, in, blocks, dropout, activation, shift, out)
};

#define C_BLOCK_FIELDS(X)     \
  X(BurnLayerNorm, norm, "")  \
  X(BurnLinear, up, "")       \
  X(BurnBatchNorm, batch, "") \
  X(BurnSize, width, "")      \
  X(BurnF64, scale, "")
BURN_MODULE(CBlock, C_BLOCK_FIELDS);
#define C_MODEL_FIELDS(X)       \
  X(BurnLinear, in, "")         \
  X(BurnModuleList, blocks, "") \
  X(BurnDropout, dropout, "")   \
  X(BurnRelu, activation, "")   \
  X(BurnParam, shift, "")       \
  X(BurnLinear, out, "")
BURN_MODULE(CModel, C_MODEL_FIELDS);

static CModel c_model(BurnDevice *device) {
  CModel m = {};
  m.in = burn_linear_new(3, 4, device);
  m.blocks = burn_module_list(CBlock_type(), 2);
  for (std::size_t i = 0; i < 2; i++) {
    CBlock *block = static_cast<CBlock *>(burn_module_list_at(&m.blocks, i));
    BurnLinearConfig up = BurnLinearConfig_defaults(4, 4);
    up.bias = false;
    block->norm = burn_layer_norm_new(4, device);
    block->up = burn_linear_init(&up, device);
    block->batch = burn_batch_norm_new(4, device);
    block->width = 4;
    block->scale = 0.5;
  }
  m.dropout = burn_dropout_new(0.25, device);
  m.activation = burn_relu_init();
  m.shift = burn_param(burn_zeros(device, burn::Shape{1, 4}, BURN_DTYPE_F32));
  m.out = burn_linear_new(4, 2, device);
  return m;
}

static BurnTensor *c_forward(const CModel *m, BurnTensor *x) {
  x = burn_linear_forward(&m->in, x);
  for (std::size_t i = 0; i < m->blocks.count; i++) {
    const CBlock *block = static_cast<const CBlock *>(burn_module_list_at(&m->blocks, i));
    BurnTensor *y = burn_linear_forward(&block->up, burn_layer_norm_forward(&block->norm, burn_clone(x)));
    x = burn_add(x, burn_mul_scalar(burn_batch_norm_forward(&block->batch, y), block->scale));
  }
  x = burn_add(burn_dropout_forward(&m->dropout, x), burn_param_value(&m->shift));
  return burn_linear_forward(&m->out, burn_relu_forward(&m->activation, x));
}

static Tensor input(const Device &device) {
  return Tensor(device, {1.0f, -2.0f, 0.5f, 3.0f, 0.25f, -1.0f, 2.0f, 2.0f, -0.5f}, {3, 3});
}

static std::string message_of(const std::function<void()> &action) {
  try {
    action();
  } catch (const burn::Error &error) {
    return error.what();
  }
  return "";
}

/* Three steps of AdamW with clipping: every loss and weight has the same bits. */
static void test_same_as_c() {
  Device device = Device::training("ndarray"), c_device = Device::training("ndarray");
  device.seed(7);
  c_device.seed(7);
  Model model(device);
  CModel c = c_model(c_device);
  train::AdamW optimizer(train::AdamWConfig().weight_decay(0.01).clipping(BURN_CLIP_GLOBAL_NORM(0.5)));
  BurnAdamWConfig config = BurnAdamWConfig_defaults();
  config.weight_decay = 0.01;
  config.clipping = BURN_CLIP_GLOBAL_NORM(0.5);
  BurnOptimizer *c_optimizer = burn_adamw_create(&config);
  for (int step = 0; step < 3; step++) {
    const Tensor loss = model(input(device)).square().mean();
    double c_loss = 0;
    BurnTensor *made = burn_mean(burn_square(c_forward(&c, input(c_device).release())));
    EXPECT(burn_read_scalar(burn_detach(burn_clone(made)), &c_loss) == BURN_OK);
    EXPECT(loss.item() == c_loss && c_loss > 0);
    optimizer.step(model, loss, 0.05);
    EXPECT(burn_train_step(c_optimizer, burn_module(CModel, &c), made, 0.05) == BURN_OK);
  }
  EXPECT(model.out.get()->weight.value && Tensor(burn_param_value(&c.out.weight)).to_vector<float>() ==
                                              Tensor(burn_param_value(&model.out.get()->weight)).to_vector<float>());
  burn_optimizer_destroy(c_optimizer);
  CModel_release(&c);
}

/* Values of all parameters and buffers, one after the other. */
template <class M>
static std::vector<double> values_of(const M &module) {
  std::vector<double> all;
  for (const burn::NamedTensor &tensor : burn::state(module))
    for (double value : tensor.value.template to_vector<double>()) all.push_back(value);
  return all;
}

static void test_records_of_c() {
  Device device = Device::training("ndarray");
  Model model(device), again(device);
  CModel c = c_model(device);
  const Tensor x = input(device);
  model(x); /* so that the statistics are no longer those of the start */
  burn::save(model, "modules_hpp_test");
  EXPECT(burn_record_load(burn_module(CModel, &c), "modules_hpp_test", nullptr) == BURN_OK);
  CModel c_valid = CModel_valid(&c);
  const Model valid = model.valid();
  const Tensor y = valid(x.inner());
  EXPECT(Tensor(c_forward(&c_valid, x.inner().release())).to_vector<float>() == y.to_vector<float>());
  CModel_release(&c_valid);

  EXPECT(burn_record_save(burn_module(CModel, &c), "modules_hpp_test_c", nullptr) == BURN_OK);
  EXPECT(values_of(again) != values_of(model));
  burn::load(again, "modules_hpp_test_c");
  EXPECT(values_of(again) == values_of(model));
  EXPECT(burn::parameters(again)[0].id == burn::parameters(model)[0].id && burn::parameters(model)[0].id != 0);
  burn::save(model, "modules_hpp_test", {BURN_RECORD_MPK_GZ, BURN_PRECISION_HALF});
  burn::load(again, "modules_hpp_test", {BURN_RECORD_MPK_GZ, BURN_PRECISION_HALF});
  EXPECT(message_of([&] { burn::load(again.in, "modules_hpp_test"); }) != "");
  CModel_release(&c);
  for (const char *name : {"modules_hpp_test.mpk", "modules_hpp_test_c.mpk", "modules_hpp_test.mpk.gz"})
    std::remove(name);
}

static void test_services() {
  Device device = Device::training("ndarray");
  Model model(device);
  const std::vector<burn::NamedTensor> state = burn::state(model), parameters = burn::parameters(model);
  EXPECT(state.size() == 19 && parameters.size() == 15 && state[2].path == "blocks.0.norm.gamma");
  EXPECT(model.num_params() == 3 * 4 + 4 + 2 * (8 + 16 + 16) + 4 + 8 + 2);
  std::ostringstream text;
  text << model;
  EXPECT(text.str().find("blocks: [\n    0: Block {") != std::string::npos &&
         text.str().find("width: 4") != std::string::npos && text.str() == model.text());
  Model copy = model.clone();
  const std::vector<double> before = values_of(model);
  EXPECT(values_of(copy) == before);
  train::Sgd(train::SgdConfig()).step(copy, copy(input(device)).sum(), 0.1);
  EXPECT(values_of(model) == before && values_of(copy) != before);
  Model mean = model.valid();
  train::average(mean, copy, 0.5);
  const double weight = values_of(model.in)[0], stepped = values_of(copy.in)[0];
  EXPECT(weight != stepped && std::abs(values_of(mean.in)[0] - (weight + stepped) / 2) <= 1e-6 * std::abs(stepped));
  Model moved = std::move(model);
  EXPECT(burn::state(model).empty() && values_of(moved) == before && moved.blocks.size() == 2);
  model = std::move(moved);
  EXPECT(values_of(model) == before && model.blocks[1].width == 4);
  EXPECT(!model.valid()(input(device).inner()).is_tracked() && model(input(device)).is_tracked());
  model.no_grad();
  EXPECT(!model(input(device)).is_tracked() && model.summary().find("frozen") != std::string::npos);
  model.unfreeze();
  EXPECT(model(input(device)).is_tracked());
  model.freeze();
  EXPECT(!model(input(device)).is_tracked());
  const burn::Buffer buffer(Tensor::ones(device, {2}));
  buffer.set(Tensor::zeros(device, {3}));
  EXPECT((buffer.value().shape() == Shape{3}) && burn::Param().value().is_empty());
}

static BurnQuantizer weights_of(const BurnParamGroup &group) {
  BurnQuantizer quantizer = {BURN_QUANT_MIN_MAX, BURN_QUANT_SCHEME, &group};
  quantizer.scheme.value = BURN_QUANT_Q8S;
  return quantizer;
}

static void test_quantized_and_adapted() {
  Device device = Device("ndarray");
  const char *const paths[] = {"in.weight", "out.weight", nullptr};
  BurnParamGroup group = {};
  group.paths = paths;
  const BurnQuantizer quantizer = weights_of(group);
  Model model(device), adapted = model.clone();
  const std::int64_t count = model.num_params();
  { burn::Calibration unused(model, quantizer); }
  EXPECT(model.text().find("Q8S") == std::string::npos);
  burn::Calibration calibration(model, quantizer);
  model(input(device));
  calibration.end();
  EXPECT(model.text().find("in: Linear {weight: [3,4] Q8S x int8, bias: [4]") != std::string::npos);
  adapted.quantize_weights(quantizer);
  adapted.apply_lora(BurnLoraConfig_defaults(2, 4), &group);
  EXPECT(adapted.num_params() == count + (3 + 4) * 2 + (4 + 2) * 2);
  EXPECT(adapted.text().find("in: Linear {weight: [3,4] Q8S + lora 2, bias: [4]") != std::string::npos);
  EXPECT(message_of([&] { adapted.apply_lora(BurnLoraConfig_defaults(2, 4)); }) ==
         "in.weight: lora: it has an adapter: burn_module_merge_lora first");
  adapted.merge_lora();
  EXPECT(adapted.num_params() == count && adapted.text().find("lora") == std::string::npos);
  EXPECT(message_of([&] { adapted.quantize_inputs(); }).find("quantize weights first") != std::string::npos);
  burn::Param param(Tensor::ones(device, {2, 2})); /* ends what it holds */
  EXPECT(param.value().shape() == (Shape{2, 2}));
}

static void test_failures() {
  Device device = Device::training("ndarray");
  const Model model(device);
  EXPECT(message_of([&] {
           model.blocks[1](Tensor::ones(device, {2, 3}));
         }) == "blocks.1.norm: layer_norm: gamma has 4 entries, the last axis of [2,3] has 3");
  EXPECT(message_of([&] { model(Tensor::ones(device, {2, 5})); }).find("in: linear: ") == 0);
  EXPECT(message_of([&] {
           nn::Conv2d(nn::Conv2dConfig({1, 8}, {3, 3}).groups(0), device);
         }).find("groups") != std::string::npos);
  EXPECT(message_of([&] { nn::Dropout(2.0, device)(Tensor::ones(device, {2})); }).find("dropout") == 0);
  EXPECT(message_of([] { train::AdamW(train::AdamWConfig().beta_1(2)); }).find("beta_1") != std::string::npos);
  EXPECT(message_of([] { train::CosineAnnealing(2.0, 10); }) != "");
  Model other(device);
  train::Adam optimizer;
  EXPECT(message_of([&] { optimizer.step(other, model(input(device)).sum(), 0.1); }) != "");
}

/* Members in another order than they are listed in would have each other's records. */
struct Swapped {
  nn::Linear first, second;
  explicit Swapped(const Device &device) : first(2, 2, device), second(2, 2, device) {}
  BURN_CPP_MODULE(Swapped, second, first)
};

static void test_order_of_members() {
  Device device("ndarray");
  bool refused = false;
  try {
    Swapped swapped(device);
  } catch (const std::logic_error &error) {
    refused = std::string(error.what()) == "BURN_CPP_MODULE(Swapped, ..): not the order of its members";
  }
  EXPECT(refused);
}

static void test_layers() {
  Device device("ndarray");
  const nn::Conv2d conv(nn::Conv2dConfig({1, 8}, {3, 5}).padding(BURN_PADDING_SAME).stride({2, 1}), device);
  EXPECT((conv(Tensor::ones(device, {2, 1, 6, 6})).shape() == Shape{2, 8, 3, 6}));
  const nn::Lstm lstm(3, 4, true, device);
  nn::LstmState last;
  const Tensor x = Tensor::normal(device, {2, 5, 3}), y = lstm(x, {}, &last);
  EXPECT((y.shape() == Shape{2, 5, 4}) && (last.cell.shape() == Shape{2, 4}));
  EXPECT(y.slice({{0, 2, 1}, {4, 5, 1}}).reshape({2, 4}).to_vector<float>() == last.hidden.to_vector<float>());
  /* the steps in two parts are the steps */
  const Tensor head = lstm(x.slice({{0, 2, 1}, {0, 2, 1}}), {}, &last);
  const Tensor tail = lstm(x.slice({{0, 2, 1}, {2, 5, 1}}), std::move(last));
  EXPECT((Tensor::cat({head, tail}, 1) - y).abs().max().item() < 1e-6);
  Tensor state;
  const nn::Gru gru(3, 4, true, device);
  EXPECT((gru(x, nullptr, &state).shape() == Shape{2, 5, 4}) && (state.shape() == Shape{2, 4}));
  EXPECT(message_of([&] { gru(Tensor::ones(device, {2, 5, 2}), nullptr, &state); }).find("gru") != std::string::npos);
  const nn::MultiHeadAttention attention(nn::MultiHeadAttentionConfig(4, 2).dropout(0), device);
  nn::MhaInput words;
  words.query = words.key = words.value = Tensor::normal(device, {1, 3, 4});
  words.is_causal = words.with_weights = true;
  const nn::MhaOutput seen = attention(words);
  EXPECT((seen.context.shape() == Shape{1, 3, 4}) && (seen.weights.shape() == Shape{1, 2, 3, 3}));
  EXPECT(seen.weights.to_vector<float>()[1] == 0);
  const nn::CrossEntropyLoss loss(nn::CrossEntropyLossConfig().smoothing(0.1), device);
  const Tensor logits(device, {2.0f, 0.0f}, {1, 2}), target(device, std::initializer_list<std::int64_t>{0});
  const double p = 1 / (1 + std::exp(-2.0));
  EXPECT(std::fabs(loss(logits, target).item() + 0.95 * std::log(p) + 0.05 * std::log(1 - p)) < 1e-6);
  EXPECT(nn::Gelu::approximate()(Tensor(device, {0.0f})).item() == 0 &&
         nn::GLU(0, device)(Tensor(device, {2.0f, 0.0f})).item() == 1);
}

static void test_schedules() {
  const double pi = std::acos(-1.0);
  const train::CosineAnnealing cosine(train::CosineAnnealingConfig(0.1, 10).min_lr(0.01));
  EXPECT(std::fabs(cosine(3) - (0.01 + 0.09 * (1 + std::cos(pi * 0.3)) / 2)) < 1e-12);
  const train::WarmUp warm(4, cosine);
  EXPECT(warm(0) == 0 && std::fabs(warm(2) - 0.05) < 1e-12 && warm(7) == cosine(3));
  const train::Schedule sum = train::ComposedRate({cosine, train::ConstantRate(0.5)}, BURN_SUM_OF_RATES);
  EXPECT(std::fabs(sum(3) - cosine(3) - 0.5) < 1e-12);
  const train::SequentialRate parts({train::ConstantRate(0.25), cosine}, {5});
  EXPECT(parts(4) == 0.25 && parts(8) == cosine(3));
  EXPECT(message_of([&] {
           train::SequentialRate({cosine, cosine}, {});
         }) == "sequential: 0 milestones for 2 schedules");
}

static void test_data() {
  Device device("ndarray");
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const train::Dataset items = train::Dataset::memory({{"x", x, {2}}, {"y", std::vector<std::int64_t>{5, 6, 7, 8, 9}}});
  train::Loader loader(items, {2});
  EXPECT(loader.batch_count() == 3 && items.count() == 5 && items.slice(1, 3).count() == 2);
  double sum = 0;
  std::size_t seen = 0;
  for (train::Batch batch : loader.epoch(device, 1)) {
    EXPECT(batch.index() == seen++ &&
           (batch.take("y").shape() == Shape{static_cast<std::int64_t>(batch.item_count())}));
    sum += batch.take("x").sum().item();
  }
  EXPECT(seen == 3 && sum == 45);
  for (train::Batch batch : loader.epoch(device, 1)) /* left early */
    if (batch.index() == 0) break;
  std::size_t kept = 0;
  for (train::Batch batch : train::Loader(items, {2}).epoch(device, 1))
    kept += batch.item_count(); /* nobody else has it */
  EXPECT(kept == 5);
  const train::Dataset squares =
      train::Dataset::from({{"x", BURN_DTYPE_F32, {}}}, 4, [](std::size_t index, void *const *columns) {
        if (index == 3) throw std::runtime_error("no item");
        *static_cast<float *>(columns[0]) = static_cast<float>(index * index);
      });
  train::Loader some(squares, {1});
  std::vector<double> got;
  const std::string message = message_of([&] {
    for (train::Batch batch : some.epoch(device, 1)) got.push_back(batch.take("x").item());
  });
  EXPECT((got == std::vector<double>{0, 1, 4}) && message.find("item 3: no item") != std::string::npos);
  EXPECT(message_of([&] { train::Dataset::memory({{"x", x, {3}}}); }) == "column x: 10 values for items of 3");
  const train::Tokenizer words = train::Tokenizer::byte_pair_train("hello hello", 260, {"<s>"});
  EXPECT(words.vocabulary() == 260 && words.decode(words.encode("<s>hello")) == "<s>hello");
  EXPECT(words.encode("<s>").size() == 1 && train::Tokenizer::characters("ab").encode("ba").front() == 1);
  EXPECT(message_of([&] { train::Dataset::csv("nowhere", {{"x", BURN_DTYPE_F32, {}}}); }).find("csv: nowhere") == 0);
  EXPECT(message_of([&] {
           train::Dataset::text_lines("nowhere", {8, false, false, {}});
         }).find("text_lines: nowhere") == 0);
  EXPECT(message_of([&] { train::Dataset::mnist("nowhere", BURN_MNIST_TRAIN); }).find("nowhere") != std::string::npos);
}

static std::vector<double> column_of(const train::Dataset &dataset, const std::string &name) {
  Device device("ndarray");
  std::vector<double> values;
  train::Loader loader(dataset, {1});
  for (train::Batch batch : loader.epoch(device, 1))
    for (double value : batch.take(name).to_vector<double>()) values.push_back(value);
  return values;
}

static void test_transforms() {
  using Values = std::vector<double>;
  const train::Dataset items = train::Dataset::memory({{"y", std::vector<std::int64_t>{5, 6, 7, 8, 9}}});
  EXPECT(column_of(items.select({4, 0}), "y") == Values({9, 5}));
  EXPECT(column_of(items.windows(4), "y") == Values({5, 6, 7, 8, 6, 7, 8, 9}));
  const std::vector<train::Dataset> parts = items.split({0.6, 0.2});
  EXPECT(parts.size() == 2 && column_of(parts[0], "y") == Values({5, 6, 7}) && column_of(parts[1], "y") == Values({8}));
  EXPECT(column_of(train::Dataset::compose({parts[1], items.split(2)[0]}), "y") == Values({8, 5, 6}));
  BurnSampleConfig config = {};
  config.count = 7, config.seed = 3;
  const Values drawn = column_of(items.sample(config), "y");
  EXPECT(drawn.size() == 7 && drawn == column_of(items.sample(config), "y"));
  const train::Dataset mapped =
      items.map({{"z", BURN_DTYPE_F32, {}}}, [](std::size_t index, const void *const *in, void *const *out) {
        if (index == 3) throw std::runtime_error("no item");
        *static_cast<float *>(out[0]) = static_cast<float>(*static_cast<const std::int64_t *>(in[0]) * 10);
      });
  EXPECT(column_of(mapped.slice(0, 3), "z") == Values({50, 60, 70}));
  EXPECT(message_of([&] { column_of(mapped, "z"); }).find("item 3: no item") != std::string::npos);
  EXPECT(message_of([&] { (void)items.select({5}); }) == "select: index 5 at place 0, the source has 5 items");
}

static void test_sounds() {
  const std::string path = "modules_hpp_test.wav";
  const train::Wav sound = {{0.5f, -0.25f, 0, -1}, 2, 8000, BURN_WAV_PCM_16};
  sound.write(path);
  const train::Wav read = train::Wav::read(path);
  EXPECT(read.samples == sound.samples && read.channels == 2 && read.sample_rate == 8000);
  BurnWavConfig config = {};
  config.frames = 3, config.channels = 2;
  const train::Dataset items = train::Dataset::wav({path, path}, config, {4, 5});
  EXPECT(column_of(items.slice(0, 1), "samples") == std::vector<double>({0.5, 0, 0, -0.25, -1, 0}));
  EXPECT(column_of(items, "label") == std::vector<double>({4, 5}));
  EXPECT(message_of([&] { train::Dataset::wav({path}, config, {4, 5}); }) == "wav: 2 labels for 1 files");
  std::remove(path.c_str());
  EXPECT(message_of([&] { train::Wav::read(path); }).find(path) != std::string::npos);
}

/* An interrupted run goes on from its records as if there had been no end. */
static void test_optimizers() {
  Device device = Device::training("ndarray");
  nn::Linear model(3, 2, device), twin = model.clone();
  const auto loss = [&](const nn::Linear &m) { return m(input(device)).square().mean(); };
  train::Adam optimizer, fresh;
  optimizer.step(model, loss(model), 0.1);
  burn::save(model, "modules_hpp_test_model");
  optimizer.save("modules_hpp_test_state");
  burn::load(twin, "modules_hpp_test_model");
  fresh.load("modules_hpp_test_state", device);
  optimizer.step(model, loss(model), 0.1);
  fresh.step(twin, loss(twin), 0.1);
  EXPECT(values_of(model) == values_of(twin));
  std::remove("modules_hpp_test_model.mpk");
  std::remove("modules_hpp_test_state.mpk");

  train::GradientsParams sum;
  for (int i = 0; i < 2; i++) sum.accumulate(train::GradientsParams(loss(model).backward(), model));
  const std::vector<burn::NamedTensor> parameters = burn::parameters(model);
  const Tensor once = train::GradientsParams(loss(model).backward(), model).of(parameters[0].id);
  EXPECT(sum.count() == 2 && (sum.of(parameters[0].id) - once * 2).abs().max().item() < 1e-6);
  train::MultiGradientsParams devices;
  for (int i = 0; i < 2; i++) devices.add(train::GradientsParams(loss(model).backward(), model), device);
  EXPECT((devices.sum().of(parameters[0].id) - once * 2).abs().max().item() < 1e-6);
  sum.clip(BURN_CLIP_GLOBAL_NORM(0.5));
  EXPECT(std::fabs(sum.norm().item() - 0.5) < 1e-5);
  train::Sgd frozen, bias_only, by_rates;
  const std::vector<double> before = values_of(model);
  frozen.with_group({"bias"}, train::Sgd());
  frozen.step(model, std::move(sum), 0);
  EXPECT(values_of(model) == before);
  bias_only.with_group({"weight"}, train::Sgd(train::SgdConfig().weight_decay(0.5)));
  bias_only.step(model, loss(model) * 0, 0.1);
  EXPECT(std::fabs(values_of(model)[0] - 0.95 * before[0]) < 1e-6 && values_of(model)[7] == before[7]);
  const char *const weights[] = {"weight", nullptr};
  const std::vector<double> now = values_of(model);
  BurnLearningRateGroup still = {};
  still.which.parts = weights;
  BurnModuleLearningRate rates = {};
  rates.base = 0.5;
  rates.groups = &still;
  rates.group_count = 1;
  by_rates.step(model, loss(model), rates);
  EXPECT(values_of(model)[0] == now[0] && values_of(model)[7] != now[7]);
}

/* A scale that is a power of two changes no bit; a loss that is none leaves the step out. */
static void test_loss_scaling() {
  Device device = Device::training("ndarray");
  nn::Linear model(3, 2, device), twin = model.clone();
  const auto loss = [&](const nn::Linear &m) { return m(input(device)).square().mean(); };
  train::Sgd optimizer, plain;
  train::GradScaler scaler(train::GradScalerConfig().growth_interval(1));
  EXPECT(scaler.step(optimizer, model, loss(model), 0.1));
  plain.step(twin, loss(twin), 0.1);
  EXPECT(values_of(model) == values_of(twin) && scaler.scale() == 131072);
  EXPECT(!scaler.step(optimizer, model, loss(model) * INFINITY, 0.1));
  EXPECT(values_of(model) == values_of(twin) && scaler.scale() == 65536);
}

/* A step of the learner, which is C: failures travel in the tensors. */
static BurnStepOutput line_step(void *, const void *module, BurnBatch *batch) {
  const nn::Linear &model = *static_cast<const nn::Linear *>(module);
  BurnTensor *y = burn_linear_forward(model.get(), burn_batch_take(batch, "x")), *target = burn_batch_take(batch, "y");
  BurnTensor *loss = burn_mse(burn_clone(y), burn_clone(target));
  return burn_regression_output(loss, y, target);
}

/* y = 2 x + 1, by the learner with a schedule; the validation sees the module below autodiff. */
static void test_learner() {
  Device device = Device::training("ndarray");
  device.seed(3);
  std::vector<float> x, y;
  for (int i = 0; i < 64; i++) x.push_back(static_cast<float>(i) / 32 - 1), y.push_back(2 * x.back() + 1);
  const train::Dataset items = train::Dataset::memory({{"x", x, {1}}, {"y", y, {1}}});
  train::Loader data(items, {8, true, 1}), test(items, {64});
  nn::Linear model(1, 1, device);
  train::Sgd optimizer;
  const train::CosineAnnealing rate(0.2, 161);
  BurnLearnerConfig config = {};
  config.epochs = 20;
  config.schedule = rate.get();
  config.quiet = true;
  const BurnTask task = {line_step, nullptr};
  BurnLearnerResult result = {};
  burn::check(burn_learner_fit(&config, &task, device, burn::as_module(model), optimizer.get(), data.get(), test.get(),
                               &result));
  const std::vector<double> values = values_of(model);
  EXPECT(result.steps == 160 && std::fabs(values[0] - 2) < 0.02 && std::fabs(values[1] - 1) < 0.02);
}

int main() try {
  test_same_as_c();
  test_records_of_c();
  test_services();
  test_quantized_and_adapted();
  test_failures();
  test_order_of_members();
  test_layers();
  test_schedules();
  test_data();
  test_transforms();
  test_sounds();
  test_optimizers();
  test_loss_scaling();
  test_learner();
  std::cout << (failures ? "FAILED" : "all checks passed") << "\n";
  return failures != 0;
} catch (const std::exception &error) {
  std::cerr << "FAILED: " << error.what() << "\n";
  return 1;
}
