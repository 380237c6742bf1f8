/* learner_hpp_test.cpp - the learner of burn/learner.hpp: the same numbers as in C, options, metrics, strategies and
 * callbacks as lambdas, and where exceptions come out. */
#include "expect.hpp"

#include <burn/nn.hpp>
#include <burn/train.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>

using burn::Device;
using burn::Tensor;
namespace nn = burn::nn;
namespace train = burn::train;

/* Two classes by the sign of x0 * x1. */
struct Net {
  nn::Linear in;
  nn::Dropout dropout;
  nn::Linear out;

  explicit Net(const Device &device) : in(2, 8, device), dropout(0.25, device), out(8, 2, device) {}
  Tensor operator()(Tensor x) const { return out(dropout(in(std::move(x)).tanh())); }

  BURN_CPP_MODULE(Net, in, dropout, out)
};

static const std::size_t items = 40, batch_size = 8;

static train::Loader loader(bool training) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::size_t i = 0; i < items; i++) {
    const double a = std::sin(1.7 * static_cast<double>(i)), b = std::cos(2.9 * static_cast<double>(i) + training);
    x.push_back(static_cast<float>(a)), x.push_back(static_cast<float>(b));
    y.push_back(a * b > 0);
  }
  return train::Loader(train::Dataset::memory({{"x", x, {2}}, {"y", y}}), {batch_size, training, 5});
}

static train::StepOutput step(const Net &model, train::Batch &batch) {
  const Tensor targets = batch.take("y"), output = model(batch.take("x"));
  return train::StepOutput::classification(output.cross_entropy(targets), output, targets);
}

static BurnStepOutput step_of_c(void *, const void *module, BurnBatch *batch) {
  const Net *m = static_cast<const Net *>(module);
  BurnTensor *targets = burn_batch_take(batch, "y");
  BurnTensor *x = burn_tanh(burn_linear_forward(m->in.get(), burn_batch_take(batch, "x")));
  BurnTensor *output = burn_linear_forward(m->out.get(), burn_dropout_forward(m->dropout.get(), x));
  BurnTensor *loss = burn_cross_entropy(burn_clone(output), burn_clone(targets));
  return burn_classification_output(loss, output, targets);
}

/* What a run needs. */
struct Setting {
  Device device;
  Net model;
  train::Adam adam;
  train::Loader data = loader(true), test = loader(false);
  explicit Setting(const std::string &stack = "ndarray") : device(seeded(stack)), model(device) {}
  static Device seeded(const std::string &stack) {
    Device device = Device::training(stack);
    device.seed(11);
    return device;
  }
};

static std::string message_of(const std::function<void()> &action) {
  try {
    action();
  } catch (const burn::Error &error) {
    return error.what();
  }
  return "no exception";
}
static bool has(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos) return true;
  std::cerr << "'" << text << "' has no '" << part << "'\n";
  return false;
}

static std::vector<double> values_of(const Net &model) {
  std::vector<double> values;
  for (const burn::NamedTensor &tensor : burn::state(model))
    for (double value : tensor.value.inner().to_vector<double>()) values.push_back(value);
  return values;
}

/* The same run by both languages ends with the same bits. */
static void test_same_as_c(const std::string &stack) {
  Setting c(stack), cpp(stack);
  const train::CosineAnnealing rate(0.05, 100);
  BurnLearnerConfig config = {};
  config.epochs = 3;
  config.schedule = rate.get();
  config.gradient_accumulation = 2;
  config.quiet = true;
  const BurnTask task = {step_of_c, nullptr};
  BurnLearnerResult expected = {};
  burn::check(burn_learner_fit(&config, &task, c.device, burn::as_module(c.model), c.adam.get(), c.data.get(),
                               c.test.get(), &expected));
  train::Learner learner(cpp.model, cpp.adam, step);
  learner.epochs(3).schedule(train::CosineAnnealing(0.05, 100)).gradient_accumulation(2).quiet();
  const train::LearnerResult &result = learner.fit(cpp.device, cpp.data, cpp.test);
  EXPECT(result.epochs_done == 3 && result.steps == expected.steps && result.steps == 6);
  EXPECT(result.last.train("Loss") == burn_epoch_metric(&expected.last, "Loss", BURN_SPLIT_TRAIN));
  EXPECT(result.last.valid("Accuracy") == burn_epoch_metric(&expected.last, "Accuracy", BURN_SPLIT_VALID));
  EXPECT(result.last.epoch() == 3 && result.last.finite() && values_of(c.model) == values_of(cpp.model));
  const train::EpochResult again = learner.evaluate(cpp.device.inner(), cpp.model.valid(), cpp.test);
  EXPECT(again.valid("Loss") == result.last.valid("Loss") && std::isnan(again.train("Loss")));
}

static void test_metrics() {
  Setting s;
  const train::Metric ones(
      "Ones",
      [](const train::MetricInput &input) {
        EXPECT(input.tensor("nothing").is_empty() && input.items() == batch_size);
        train::Measured measured;
        measured.numbers = input.tensor("targets").sum().reshape({1});
        measured.weight = static_cast<double>(input.items());
        return measured;
      },
      "%", 100);
  const train::Metric half(
      "Half",
      [](const train::MetricInput &) {
        return train::Measured{{}, 3, 2, false};
      },
      "", 1,
      [](const double *sums, std::size_t count, double weight) {
        return sums[0] / weight - static_cast<double>(count);
      });
  std::size_t logged = 0, percent = 0;
  train::Learner learner(s.model, s.adam, step);
  learner.epochs(2).learning_rate(0.01).quiet();
  learner.metrics({ones, half, ones.named("Again"), train::Accuracy(), train::LearningRate(),
                   train::FBetaScore(train::FBetaConfig().beta(2))});
  learner.on_log([&](const BurnLogEntry &entry) {
    logged++;
    percent += std::string(entry.metric) == "Again" && std::string(entry.unit) == "%";
  });
  const train::EpochResult last = learner.fit(s.device, s.data, s.test).last;
  double expected = 0;
  for (train::Batch batch : s.test.epoch(s.device.inner(), 1)) expected += batch.take("y").sum().item();
  EXPECT(last.valid("Ones") == expected / items && last.valid("Again") == last.valid("Ones"));
  EXPECT(last.valid("Half") == 0.5 && std::fabs(last.train("LearningRate") - 0.01) < 1e-12);
  EXPECT(last.valid("FBetaScore") > 0 && last.valid("FBetaScore") <= 1 && std::isnan(last.valid("Nothing")));
  EXPECT(percent == 2 * (5 + 1 + 5 + 1) && logged == 12 * 6 * 2 + 2 * 6);
  learner.metrics({ones, ones});
  EXPECT(has(message_of([&] { learner.fit(s.device, s.data); }), "two metrics are called Ones"));
}

/* Metrics that come with a config and keep it: the same values as where they are made of each other. */
static void test_metrics_of_the_framework() {
  Setting s;
  train::Learner learner(s.model, s.adam, step);
  learner.epochs(1).learning_rate(0.01).quiet();
  learner.metrics({train::Accuracy(), train::TopKAccuracy(train::TopKAccuracyConfig(1)), train::Perplexity(),
                   train::Precision(train::ConfusionConfig().micro(true)), train::Recall(), train::Auroc(),
                   train::Auroc(train::AurocConfig().micro(true)).named("Micro"), train::IterationSpeed(),
                   train::CpuUse(), train::CpuMemory(), train::TokenAccuracy().named("Tokens")});
  const train::EpochResult last = learner.fit(s.device, s.data, s.test).last;
  EXPECT(last.valid("Tokens") == last.valid("Accuracy"));
  EXPECT(last.valid("TopKAccuracy") == last.valid("Accuracy") && last.valid("Precision") == last.valid("Accuracy"));
  EXPECT(std::fabs(last.valid("Perplexity") - std::exp(last.valid("Loss"))) < 1e-5);
  EXPECT(last.valid("Recall") > 0 && last.valid("AUROC") >= 0 && last.valid("AUROC") <= 1 && last.valid("Micro") > 0);
  EXPECT(last.train("IterationSpeed") > 0);
  learner.metrics({train::HammingScore()});
  EXPECT(has(message_of([&] { learner.fit(s.device, s.data); }), "hamming_score: output [8,2] and targets [8]"));
  learner.metrics({train::Psnr(), train::Ssim(train::SsimConfig().kernel_size(5))});
  EXPECT(has(message_of([&] { learner.fit(s.device, s.data); }), "psnr: output [8,2] and targets [8]"));
  learner.metrics({train::CharErrorRate(), train::WordErrorRate(train::TokenConfig().pad_token(3))});
  EXPECT(std::isnan(learner.fit(s.device, s.data).last.train("CER"))); /* nothing for it in these steps */
}

struct Wrong {
  nn::Linear fc1, fc2;
  explicit Wrong(const Device &device) : fc1(2, 8, device), fc2(9, 2, device) {}
  Tensor operator()(Tensor x) const { return fc2(fc1(std::move(x))); }
  BURN_CPP_MODULE(Wrong, fc1, fc2)
};

/* What is thrown ends the run, and says where it was. */
static void test_exceptions() {
  Setting s;
  Wrong wrong(s.device);
  train::Learner refused(wrong, s.adam, [](const Wrong &model, train::Batch &batch) {
    const Tensor targets = batch.take("y"), output = model(batch.take("x"));
    return train::StepOutput::classification(output.cross_entropy(targets), output, targets);
  });
  refused.learning_rate(0.1).quiet();
  EXPECT(has(message_of([&] { refused.fit(s.device, s.data); }), "epoch 1, batch 1: fc2: linear: "));
  EXPECT(refused.result().epochs_done == 0 && refused.result().steps == 0);

  const auto run = [&](const std::function<void(train::Learner<Net> &)> &change, const std::string &said) {
    train::Learner learner(s.model, s.adam, step);
    learner.epochs(2).learning_rate(0.01).quiet();
    change(learner);
    EXPECT(has(message_of([&] { learner.fit(s.device, s.data, s.test); }), said));
    return learner.result().epochs_done;
  };
  std::size_t calls = 0;
  train::Learner thrown(s.model, s.adam, [&](const Net &model, train::Batch &batch) {
    if (++calls == 3) throw std::out_of_range("no third batch");
    return step(model, batch);
  });
  thrown.learning_rate(0.01).quiet();
  EXPECT(has(message_of([&] { thrown.fit(s.device, s.data); }), "epoch 1, batch 3: step: no third batch"));
  EXPECT(thrown.result().steps == 2);
  train::Learner nothing(s.model, s.adam, [](const Net &, train::Batch &) { return train::StepOutput(); });
  EXPECT(has(message_of([&] { nothing.learning_rate(1).quiet().fit(s.device, s.data); }), "the step gave no loss"));
  const auto is_bad = [](const train::EpochResult &) { throw std::runtime_error("enough"); };
  EXPECT(run([&](train::Learner<Net> &l) { l.on_epoch(is_bad); }, "on_epoch: enough") == 1);
  EXPECT(run([](train::Learner<Net> &l) { l.on_log([](const BurnLogEntry &) { throw 7; }); },
             "on_log: an exception that is not a std::exception") == 1);
  const train::Metric bad("Bad", [](const train::MetricInput &input) -> train::Measured {
    return {input.tensor("output").matmul(input.tensor("output")), 0, 1, false};
  });
  EXPECT(run([&](train::Learner<Net> &l) { l.metrics({bad}); }, "matmul: [8,2] x [8,2]") == 0);
  EXPECT(run([](train::Learner<Net> &l) { l.epochs(0); }, "learner: epochs is 0") == 0);
}

static void test_strategies() {
  const std::filesystem::path folder = "learner_hpp_test_run";
  const auto saved = [&](int epoch) {
    return std::filesystem::exists(folder / ("checkpoint/model-" + std::to_string(epoch) + ".mpk"));
  };
  std::filesystem::remove_all(folder);
  {
    Setting s;
    std::vector<double> rates;
    train::Learner learner(s.model, s.adam, step);
    learner.epochs(6).artifact_dir(folder.string()).quiet().metrics({train::LearningRate()});
    learner.schedule(train::OwnSchedule("halves", [](std::uint64_t i) { return i < 5 ? 0.01 : 0.02; }));
    learner.checkpoints(train::CheckpointStrategy(
        [](const train::History &history, std::size_t epoch) { return epoch == 2 && history.size() >= epoch; }));
    learner.early_stopping(train::EarlyStopping(
        [](const train::History &history) { return history.last().epoch() == 4 && history[0].epoch() == 1; }));
    learner.on_epoch([&](const train::EpochResult &result) { rates.push_back(result.train("LearningRate")); });
    EXPECT(learner.fit(s.device, s.data, s.test).stopped_early && learner.result().epochs_done == 4);
    EXPECT(!saved(1) && saved(2) && !saved(3) && saved(4) && !saved(5));
    EXPECT(rates.size() == 4 && std::fabs(rates[0] - 0.01) < 1e-12 && std::fabs(rates[1] - 0.02) < 1e-12);
  }
  Setting s; /* another process, which goes on */
  train::Learner learner(s.model, s.adam, step);
  learner.epochs(5).artifact_dir(folder.string()).quiet().metrics({train::LearningRate()}).resume();
  learner.schedule(train::OwnSchedule("halves", [](std::uint64_t) { return 0.02; }));
  learner.checkpoints(train::CheckpointStrategy::keep_last(2));
  EXPECT(learner.fit(s.device, s.data, s.test).epochs_resumed == 4 && learner.result().epochs_done == 5);
  learner.resume_epoch(4);
  EXPECT(learner.fit(s.device, s.data, s.test).epochs_resumed == 4 && learner.result().epochs_done == 5);
  EXPECT(!saved(2) && saved(4) && saved(5));
  std::filesystem::remove_all(folder);

  Setting still; /* a rate of 0: the first epoch stays the best */
  train::Learner stuck(still.model, still.adam, step);
  stuck.epochs(9).learning_rate(1e-30).quiet().artifact_dir(folder.string());
  stuck.checkpoints(train::CheckpointStrategy::keep_best("Accuracy", BURN_SPLIT_VALID, train::Direction::highest));
  stuck.early_stopping(train::EarlyStopping::no_improvement("Loss", BURN_SPLIT_VALID, 2));
  EXPECT(stuck.fit(still.device, still.data, still.test).epochs_done == 3 && stuck.result().stopped_early);
  EXPECT(saved(1) && !saved(2) && saved(3));
  std::filesystem::remove_all(folder);
}

static void test_interrupter() {
  Setting s;
  train::Interrupter interrupter;
  train::Learner learner(s.model, s.adam, step);
  learner.epochs(5).learning_rate(0.01).quiet().interrupter(interrupter);
  learner.on_epoch([&](const train::EpochResult &result) {
    if (result.epoch() == 2) interrupter.stop();
  });
  try {
    learner.fit(s.device, s.data, s.test);
    EXPECT(false);
  } catch (const burn::Error &error) {
    EXPECT(error.code() == BURN_STATUS_CANCELLED && has(error.what(), "interrupted at epoch 2, batch 5 of 5"));
  }
  const train::LearnerResult &result = learner.result();
  EXPECT(result.interrupted && result.epoch == 2 && result.batch == 5 && result.epochs_done == 2);
  EXPECT(interrupter.stopped() && interrupter.signal() == 0);
}

/* Callbacks around batches, strategies together, and data with a name. */
static void test_batches_and_evaluation() {
  const std::filesystem::path folder = "learner_hpp_test_batches";
  const auto has_file = [&](const std::string &name) { return std::filesystem::exists(folder / name); };
  std::filesystem::remove_all(folder);
  Setting s;
  std::size_t before = 0, after = 0;
  train::Learner learner(s.model, s.adam, step);
  learner.epochs(5).learning_rate(0.01).quiet().artifact_dir(folder.string());
  learner.before_batch([&](const BurnBatchEvent &event) { before += event.output == nullptr; });
  learner.after_batch([&](const BurnBatchEvent &event) { after += event.output && event.iteration == after; });
  learner.checkpoints(train::CheckpointStrategy::any_of(
      {train::CheckpointStrategy::keep_every(2), train::CheckpointStrategy::keep_last(1)}));
  const train::EpochResult last = learner.fit(s.device, s.data, s.test).last;
  EXPECT(before == 25 && after == 25);
  EXPECT(!has_file("checkpoint/model-1.mpk") && has_file("checkpoint/model-2.mpk") &&
         !has_file("checkpoint/model-3.mpk") && has_file("checkpoint/model-4.mpk") &&
         has_file("checkpoint/model-5.mpk"));
  const train::EpochResult test = learner.evaluate(s.device.inner(), s.model.valid(), s.test, "Held Out");
  EXPECT(test.test("Loss") == last.valid("Loss") && std::isnan(test.valid("Loss")));
  EXPECT(has_file("test/held-out/Accuracy.log"));
  learner.after_batch([](const BurnBatchEvent &event) {
    if (event.batch == 2) throw std::runtime_error("no more");
  });
  EXPECT(has(message_of([&] { learner.fit(s.device, s.data); }), "epoch 1, batch 2: after_batch: no more"));
  std::filesystem::remove_all(folder);
}

/* Two devices share each batch: the losses of one, up to rounding. */
static void test_devices() {
  const auto plain = [](const Net &model,
                        train::Batch &batch) { /* without dropout */
                                               const Tensor targets = batch.take("y"),
                                                            output = model.out(model.in(batch.take("x")).tanh());
                                               return train::StepOutput::classification(output.cross_entropy(targets),
                                                                                        output, targets);
  };
  Setting one, two;
  const Device second = Device::training("ndarray");
  train::Learner alone(one.model, one.adam, plain), together(two.model, two.adam, plain);
  alone.epochs(3).learning_rate(0.01).quiet();
  together.epochs(3).learning_rate(0.01).quiet().devices({&two.device, &second});
  const double expected = alone.fit(one.device, one.data, one.test).last.train("Loss");
  const double found = together.fit(two.device, two.data, two.test).last.train("Loss");
  EXPECT(std::fabs(expected - found) < 1e-5);
  train::Learner wrong(two.model, two.adam, plain);
  wrong.learning_rate(0.01).quiet().devices({&second});
  EXPECT(has(message_of([&] { wrong.fit(two.device, two.data); }), "the first of devices is another one"));
}

int main() try {
  for (const char *stack : {"ndarray", "autodiff<fusion<ndarray>>"}) test_same_as_c(stack);
  test_metrics();
  test_metrics_of_the_framework();
  test_exceptions();
  test_strategies();
  test_interrupter();
  test_batches_and_evaluation();
  test_devices();
  std::cout << (failures ? "FAILED" : "all checks passed") << "\n";
  return failures != 0;
} catch (const std::exception &error) {
  std::cerr << "FAILED: " << error.what() << "\n";
  return 1;
}
