/* cpp_cnn.cpp - the CNN of the Burn guide in C++: a module of layers, a loader,
 * Adam, the learner, a record. The same numbers as sdk/examples/mnist in C.
 *
 *   cpp_cnn [training digits] [test digits] [epochs]   generated digits
 *   cpp_cnn FOLDER [..]                                of MNIST's files
 *
 * A folder whose name begins with a digit is written as ./2026. */
#include <burn/nn.hpp>
#include <burn/train.hpp>

#include <cctype>
#include <cstdio>
#include <iostream>
#include <string>

#include "arguments.hpp"

namespace nn = burn::nn;
namespace train = burn::train;

struct Model {
  nn::Conv2d conv1, conv2;
  nn::AdaptiveAvgPool2d pool;
  nn::Dropout dropout;
  nn::Linear linear1, linear2;
  nn::Relu activation;

  explicit Model(const burn::Device &device)
      : conv1({1, 8}, {3, 3}, device),
        conv2({8, 16}, {3, 3}, device),
        pool({8, 8}, device),
        dropout(0.5, device),
        linear1(16 * 8 * 8, 512, device),
        linear2(512, 10, device),
        activation(device) {}

  /* [batch, 1, 28, 28] -> [batch, 10] */
  burn::Tensor operator()(burn::Tensor x) const {
    x = dropout(conv1(std::move(x)));
    x = activation(dropout(conv2(std::move(x))));
    x = pool(std::move(x)).flatten(1, 3);
    x = activation(dropout(linear1(std::move(x))));
    return linear2(std::move(x));
  }

  BURN_CPP_MODULE(Model, conv1, conv2, pool, dropout, linear1, linear2,
                  activation)
};

/* What a run is started with. */
struct Options {
  std::string folder;
  std::size_t train_items = 20000, test_items = 4000, epochs = 4;
};

static bool is_number(const char *text) {
  return std::isdigit(static_cast<unsigned char>(*text)) != 0;
}

static Options options_of(int argc, char **argv) {
  Options options;
  int next = 1;
  if (next < argc && !is_number(argv[next])) options.folder = argv[next++];
  const struct {
    const char *what;
    std::size_t *count;
  } numbers[] = {{"training digits", &options.train_items},
                 {"test digits", &options.test_items},
                 {"epochs", &options.epochs}};
  for (const auto &number : numbers)
    if (next < argc) *number.count = count_of(number.what, argv[next++]);
  if (next < argc)
    throw std::runtime_error("nothing expected after the epochs, not '" +
                             std::string(argv[next]) + "'");
  return options;
}

static train::Loader loader_of(const Options &options, bool training) {
  const std::size_t items = training ? options.train_items : options.test_items;
  const train::Dataset raw =
      options.folder.empty()
          ? train::Dataset::digits(items, training ? 84 : 85)
          : train::Dataset::mnist(options.folder,
                                  training ? BURN_MNIST_TRAIN : BURN_MNIST_TEST)
                .slice(0, items);
  return train::Loader(raw.mnist_normalize(), {64, training, 42, 1});
}

static train::StepOutput step(const Model &model, train::Batch &batch) {
  const burn::Tensor output = model(batch.take("image"));
  const burn::Tensor targets = batch.take("label");
  return train::StepOutput::classification(output.cross_entropy(targets),
                                           output, targets);
}

static void print_epoch(const train::EpochResult &result) {
  std::printf("epoch %zu  loss %.6f  test accuracy %.2f %%\n", result.epoch(),
              result.train("Loss"), 100 * result.valid("Accuracy"));
}

int main(int argc, char **argv) try {
  if (!begin_program(
          argc, argv,
          "cpp_cnn [FOLDER] [TRAINING DIGITS] [TEST DIGITS] [EPOCHS]"))
    return 0;
  const Options options = options_of(argc, argv);
  burn::Device device = burn::Device::training();
  train::Loader data = loader_of(options, true),
                test = loader_of(options, false);
  device.seed(42);
  Model model(device);
  std::cout << model << "\n";
  train::Adam optimizer;
  train::Learner learner(model, optimizer, step);
  learner.epochs(options.epochs)
      .learning_rate(1e-3)
      .metrics({train::Accuracy()});
  learner.quiet().on_epoch(print_epoch);
  const train::EpochResult last = learner.fit(device, data, test).last;
  burn::save(model, "cnn");
  std::printf(
      "result: {\"backend\": \"%s\", \"seed\": 42, "
      "\"train_loss\": %.9g, \"test_accuracy\": %.9g}\n",
      device.name().c_str(), last.train("Loss"), last.valid("Accuracy"));
  return 0;
} catch (const std::exception &error) {
  std::cerr << "cpp_cnn: " << error.what() << "\n";
  return 1;
}
