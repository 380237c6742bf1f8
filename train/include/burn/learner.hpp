/* learner.hpp - the learner of burn/train/learner.h for C++17, with metrics, strategies and callbacks as values and
 * lambdas. A part of burn/train.hpp, which includes it.
 *
 *   burn::train::Learner learner(model, optimizer, [](const Model &m, burn::train::Batch &batch) {
 *     const burn::Tensor targets = batch.take("label"), output = m(batch.take("image"));
 *     return burn::train::StepOutput::classification(output.cross_entropy(targets), output, targets);
 *   });
 *   learner.epochs(10).learning_rate(1e-3).artifact_dir("artifacts/mine");
 *   learner.early_stopping(burn::train::EarlyStopping::no_improvement("Loss", BURN_SPLIT_VALID, 2));
 *   const burn::train::LearnerResult &result = learner.fit(device, train, valid);
 *   std::cout << result.last.valid("Accuracy");
 *
 * What throws in a step, before_batch, after_batch, on_epoch, on_log or the measure of a metric ends the run: fit
 * throws burn::Error with the epoch, the batch, the path of the layer and the text. Other callbacks are asked for
 * values in the middle of C and must not throw; that ends the program. Defaults are those of BurnLearnerConfig. */
#ifndef BURN_LEARNER_HPP
#define BURN_LEARNER_HPP

#include <burn/train.hpp>

#include <exception>
#include <optional>

namespace burn::train {

namespace detail {

/* The exception that is being handled, as a status. */
inline BurnStatus status_of_exception(const char *where) try { throw; } catch (const Error &error) {
  return error.status();
} catch (const std::bad_alloc &) {
  return burn_status_make(BURN_STATUS_OUT_OF_MEMORY, "%s: out of memory", where);
} catch (const std::exception &error) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: %s", where, error.what());
} catch (...) {
  return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "%s: an exception that is not a std::exception", where);
}

}  // namespace detail

/* -- steps ------------------------------------------------------------------------------------ */

/* What a step gives back: tensors by name, "loss" among them. */
class StepOutput {
 public:
  StepOutput() noexcept = default;
  StepOutput(StepOutput &&other) noexcept : output_(std::exchange(other.output_, BurnStepOutput())) {}
  StepOutput &operator=(StepOutput &&other) noexcept {
    std::swap(output_, other.output_);
    return *this;
  }
  ~StepOutput() { burn_step_drop(&output_); }
  /* "loss" [1], "output" [n, classes], "targets" int [n] */
  static StepOutput classification(Tensor loss, Tensor output, Tensor targets) {
    return StepOutput()
        .give("loss", std::move(loss))
        .give("output", std::move(output))
        .give("targets", std::move(targets));
  }
  /* "loss" [1], and "output" and "targets" of one shape */
  static StepOutput regression(Tensor loss, Tensor output, Tensor targets) {
    return classification(std::move(loss), std::move(output), std::move(targets));
  }
  /* Adds a tensor; the name, a literal, is not copied. */
  StepOutput &&give(const char *name, Tensor tensor) && { return std::move(this->give(name, std::move(tensor))); }
  StepOutput &give(const char *name, Tensor tensor) & {
    burn_step_give(&output_, name, tensor.release());
    return *this;
  }
  BurnStepOutput release() noexcept { return std::exchange(output_, BurnStepOutput()); } /* now the caller's */

 private:
  BurnStepOutput output_ = {};
};

/* -- results ---------------------------------------------------------------------------------- */

/* An epoch: the values of its metrics by name, and how long it took. */
class EpochResult {
 public:
  EpochResult() noexcept : result_() {}
  explicit EpochResult(const BurnEpochResult &result) : result_(result) {}
  /* Not scaled; NaN: there is none. */
  double value(const std::string &metric, BurnSplit split) const {
    return burn_epoch_metric(&result_, metric.c_str(), split);
  }
  double train(const std::string &metric) const { return value(metric, BURN_SPLIT_TRAIN); }
  double valid(const std::string &metric) const { return value(metric, BURN_SPLIT_VALID); }
  double test(const std::string &metric) const { return value(metric, BURN_SPLIT_TEST); }
  std::size_t epoch() const noexcept { return result_.epoch; }    /* from 1 */
  double seconds() const noexcept { return result_.seconds; }     /* of the training part */
  bool finite() const noexcept { return result_.finite; }         /* losses and parameters */
  const BurnEpochResult &get() const noexcept { return result_; } /* names live as long as the metrics */

 private:
  BurnEpochResult result_;
};

/* The epochs done so far. */
class History {
 public:
  History(const BurnEpochResult *results, std::size_t count) : results_(results), count_(count) {}
  std::size_t size() const noexcept { return count_; }
  EpochResult operator[](std::size_t index) const { return EpochResult(results_[index]); } /* of epoch index + 1 */
  EpochResult last() const { return (*this)[count_ - 1]; }

 private:
  const BurnEpochResult *results_;
  std::size_t count_;
};

/* -- metrics ---------------------------------------------------------------------------------- */

BURN_CPP_CONFIG_OPTIONAL(FBetaConfig, BurnFBetaConfig, BURN_F_BETA_CONFIG);
BURN_CPP_CONFIG(TopKAccuracyConfig, BurnTopKAccuracyConfig, BURN_TOP_K_ACCURACY_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(ConfusionConfig, BurnConfusionConfig, BURN_CONFUSION_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(AurocConfig, BurnAurocConfig, BURN_AUROC_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(AucPrConfig, BurnAucPrConfig, BURN_AUC_PR_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(HammingScoreConfig, BurnHammingScoreConfig, BURN_HAMMING_SCORE_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(PsnrConfig, BurnPsnrConfig, BURN_PSNR_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(SsimConfig, BurnSsimConfig, BURN_SSIM_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(MsSsimConfig, BurnMsSsimConfig, BURN_MS_SSIM_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(DiceConfig, BurnDiceConfig, BURN_DICE_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(BleuConfig, BurnBleuConfig, BURN_BLEU_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(GpuConfig, BurnGpuConfig, BURN_GPU_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(TokenConfig, BurnTokenConfig, BURN_TOKEN_CONFIG);

/* What a metric gets to see of a step. */
class MetricInput {
 public:
  explicit MetricInput(const BurnMetricInput *input) : input_(input) {}
  /* A tensor of the step, on the device below autodiff; empty if there is none of this name. */
  Tensor tensor(const std::string &name) const {
    return Tensor(burn_clone(burn_step_get(input_->output, name.c_str())));
  }
  std::size_t items() const { return input_->items; }            /* of the batch */
  double learning_rate() const { return input_->learning_rate; } /* NaN in validation */
  double seconds() const { return input_->seconds; }             /* since the step before */

 private:
  const BurnMetricInput *input_;
};

/* What a metric has measured in a step; see BurnMeasured. */
struct Measured {
  Tensor numbers; /* [count]; empty: */
  double number = 0;
  double weight = 0;   /* of the step in its epoch, such as its items */
  bool mean = false;   /* the numbers are means over that weight; else sums */
  bool append = false; /* kept one after the other instead of being added up */
};

/* A metric of a run, by what it is made of. Copies share it. */
class Metric {
 public:
  using Measure = std::function<Measured(const MetricInput &)>;
  /* The value of sums of numbers and of their weights. */
  using Value = std::function<double(const double *sums, std::size_t count, double weight)>;

  /* One of your own. Without `value` it is sums[0] / weight; `scale` is from values to what is shown: 100 for "%". */
  Metric(const std::string &name, Measure measure, const std::string &unit = "", double scale = 1, Value value = {})
      : Metric(std::make_shared<Own>(Own{name, unit, std::move(measure), std::move(value), {}}), scale) {}

  /* The same under another name: two metrics of a run cannot have one. */
  Metric named(const std::string &name) const {
    const auto owner = std::make_shared<std::pair<std::string, Metric>>(name, *this);
    BurnMetric metric = metric_;
    metric.name = owner->first.c_str();
    return Metric(owner, metric);
  }
  const BurnMetric &get() const noexcept { return metric_; } /* lives as long as this object and its copies */

 protected:
  Metric(std::shared_ptr<const void> owner, BurnMetric metric) : owner_(std::move(owner)), metric_(metric) {}

 private:
  struct Own {
    std::string name, unit;
    Measure measure;
    Value value;
    BurnMetricInterface table;
  };
  Metric(const std::shared_ptr<Own> &own, double scale) : owner_(own), metric_{&own->table, own.get(), nullptr} {
    own->table = {
        own->name.c_str(), own->unit.c_str(), scale, call_measure, own->value ? call_value : nullptr, nullptr};
  }
  static BurnMeasured call_measure(const void *own, const BurnMetricInput *input) try {
    Measured measured = static_cast<const Own *>(own)->measure(MetricInput(input));
    return {measured.numbers.release(), measured.number, measured.weight, measured.mean, measured.append};
  } catch (...) {
    const BurnStatus status = detail::status_of_exception(static_cast<const Own *>(own)->name.c_str());
    return {burn_tensor_failed(status), 0, 1, false, false};
  }
  static double call_value(const void *own, const double *sums, std::size_t count, double weight) noexcept {
    return static_cast<const Own *>(own)->value(sums, count, weight);
  }
  std::shared_ptr<const void> owner_;
  BurnMetric metric_;
};

struct Accuracy : Metric {
  Accuracy() : Metric(nullptr, burn_metric_accuracy()) {}
};
struct LearningRate : Metric {
  LearningRate() : Metric(nullptr, burn_metric_learning_rate()) {}
};
struct IterationSpeed : Metric {
  IterationSpeed() : Metric(nullptr, burn_metric_iteration_speed()) {}
};
struct CpuUse : Metric {
  CpuUse() : Metric(nullptr, burn_metric_cpu_use()) {}
};
struct CpuMemory : Metric {
  CpuMemory() : Metric(nullptr, burn_metric_cpu_memory()) {}
};
struct DeviceMemory : Metric {
  DeviceMemory() : Metric(nullptr, burn_metric_device_memory()) {}
};

/* A metric with a config, which it shares with its copies. */
#define BURN_INTERNAL_CPP_METRIC(Name, Config, function)                                                    \
  class Name : public Metric {                                                                              \
   public:                                                                                                  \
    explicit Name(const Config &config) : Name(std::make_shared<const Config>(config)) {}                   \
                                                                                                            \
   private:                                                                                                 \
    explicit Name(const std::shared_ptr<const Config> &config) : Metric(config, function(config->get())) {} \
  }
#define BURN_INTERNAL_CPP_METRIC_OPTIONAL(Name, Config, function)                                           \
  class Name : public Metric {                                                                              \
   public:                                                                                                  \
    explicit Name(const Config &config = {}) : Name(std::make_shared<const Config>(config)) {}              \
                                                                                                            \
   private:                                                                                                 \
    explicit Name(const std::shared_ptr<const Config> &config) : Metric(config, function(config->get())) {} \
  }
BURN_INTERNAL_CPP_METRIC_OPTIONAL(FBetaScore, FBetaConfig, burn_metric_f_beta);
BURN_INTERNAL_CPP_METRIC(TopKAccuracy, TopKAccuracyConfig, burn_metric_top_k_accuracy);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Precision, ConfusionConfig, burn_metric_precision);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Recall, ConfusionConfig, burn_metric_recall);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Auroc, AurocConfig, burn_metric_auroc);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(AucPr, AucPrConfig, burn_metric_auc_pr);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(HammingScore, HammingScoreConfig, burn_metric_hamming_score);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Dice, DiceConfig, burn_metric_dice);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Psnr, PsnrConfig, burn_metric_psnr);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Ssim, SsimConfig, burn_metric_ssim);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(MsSsim, MsSsimConfig, burn_metric_ms_ssim);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Bleu, BleuConfig, burn_metric_bleu);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(RougeL, TokenConfig, burn_metric_rouge_l);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(GpuUse, GpuConfig, burn_metric_gpu_use);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(GpuMemory, GpuConfig, burn_metric_gpu_memory);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(GpuPower, GpuConfig, burn_metric_gpu_power);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(TokenAccuracy, TokenConfig, burn_metric_token_accuracy);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(Perplexity, TokenConfig, burn_metric_perplexity);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(CharErrorRate, TokenConfig, burn_metric_cer);
BURN_INTERNAL_CPP_METRIC_OPTIONAL(WordErrorRate, TokenConfig, burn_metric_wer);
#undef BURN_INTERNAL_CPP_METRIC
#undef BURN_INTERNAL_CPP_METRIC_OPTIONAL

/* -- strategies ------------------------------------------------------------------------------- */

enum class Direction { lowest, highest };

/* Which checkpoints of a run stay. Copies share it. */
class CheckpointStrategy {
 public:
  /* Whether the checkpoint of an older epoch (from 1) stays. */
  using Keeps = std::function<bool(const History &history, std::size_t epoch)>;
  explicit CheckpointStrategy(Keeps keeps)
      : CheckpointStrategy(std::make_shared<const Keeps>(std::move(keeps)), [](const Keeps *function) {
          return BurnCheckpointStrategy{call, function};
        }) {}
  static CheckpointStrategy keep_last(std::size_t count) {
    return {std::make_shared<const std::size_t>(count), burn_keep_last};
  }
  /* The best epochs by a metric. */
  static CheckpointStrategy keep_best(const std::string &metric, BurnSplit split,
                                      Direction direction = Direction::lowest, std::size_t count = 1) {
    struct Best {
      std::string metric;
      BurnKeepBest config;
    };
    const auto best = std::make_shared<Best>(Best{metric, {nullptr, split, direction == Direction::highest, count}});
    best->config.metric = best->metric.c_str();
    return {std::shared_ptr<const BurnKeepBest>(best, &best->config), burn_keep_best};
  }
  /* Every epoch that is a multiple of it. */
  static CheckpointStrategy keep_every(std::size_t interval) {
    return {std::make_shared<const std::size_t>(interval), burn_keep_every};
  }
  /* What one of them keeps, stays. */
  static CheckpointStrategy any_of(const std::vector<CheckpointStrategy> &strategies) {
    struct Any {
      std::vector<CheckpointStrategy> owners;
      std::vector<BurnCheckpointStrategy> tables;
      BurnKeepAny config;
    };
    const auto any = std::make_shared<Any>(Any{strategies, {}, {}});
    for (const CheckpointStrategy &strategy : strategies) any->tables.push_back(strategy.get());
    any->config = {any->tables.data(), any->tables.size()};
    return {std::shared_ptr<const BurnKeepAny>(any, &any->config), burn_keep_any};
  }
  const BurnCheckpointStrategy &get() const noexcept { return strategy_; }

 private:
  template <class C, class Make>
  CheckpointStrategy(std::shared_ptr<const C> config, Make make) : owner_(config), strategy_(make(config.get())) {}
  static bool call(const void *function, const BurnEpochResult *history, std::size_t count,
                   std::size_t epoch) noexcept {
    return (*static_cast<const Keeps *>(function))(History(history, count), epoch);
  }
  std::shared_ptr<const void> owner_;
  BurnCheckpointStrategy strategy_;
};

/* When a run ends before its last epoch. Copies share it. */
class EarlyStopping {
 public:
  /* After each epoch: whether it was the last one. */
  using Stops = std::function<bool(const History &history)>;
  explicit EarlyStopping(Stops stops) : EarlyStopping(std::make_shared<const Stops>(std::move(stops))) {}
  /* After so many epochs without a best one by a metric; the first `warmup_epochs` never end the run. */
  static EarlyStopping no_improvement(const std::string &metric, BurnSplit split, std::size_t epochs,
                                      Direction direction = Direction::lowest, std::size_t warmup_epochs = 0) {
    struct Condition {
      std::string metric;
      BurnNoImprovement config;
    };
    const auto made = std::make_shared<Condition>(
        Condition{metric, {nullptr, split, direction == Direction::highest, epochs, warmup_epochs}});
    made->config.metric = made->metric.c_str();
    return {made, burn_stop_without_improvement(&made->config)};
  }
  const BurnEarlyStopping &get() const noexcept { return strategy_; }

 private:
  explicit EarlyStopping(const std::shared_ptr<const Stops> &stops) : EarlyStopping(stops, {call, stops.get()}) {}
  EarlyStopping(std::shared_ptr<const void> owner, BurnEarlyStopping strategy)
      : owner_(std::move(owner)), strategy_(strategy) {}
  static bool call(const void *function, const BurnEpochResult *history, std::size_t count) noexcept {
    return (*static_cast<const Stops *>(function))(History(history, count));
  }
  std::shared_ptr<const void> owner_;
  BurnEarlyStopping strategy_;
};

/* Ends a run from outside: Ctrl-C, another thread, a callback. */
class Interrupter {
 public:
  Interrupter() noexcept = default;
  Interrupter(const Interrupter &) = delete;
  Interrupter &operator=(const Interrupter &) = delete;
  ~Interrupter() {
    if (installed_ && burn_interrupter_on_signals(nullptr) != BURN_OK) { /* the handler stays with nobody to tell */
      std::terminate();
    }
  }
  void stop() noexcept { burn_interrupter_stop(&state_); }
  bool stopped() const noexcept { return burn_interrupter_stopped(&state_); }
  int signal() const noexcept { return burn_interrupter_signal(&state_); } /* that asked; 0: none did */
  /* From now on SIGINT and SIGTERM ask for the end, until this object goes. */
  void on_signals() {
    check(burn_interrupter_on_signals(&state_));
    installed_ = true;
  }
  BurnInterrupter *get() noexcept { return &state_; }

 private:
  BurnInterrupter state_ = {};
  bool installed_ = false;
};

/* -- the learner ------------------------------------------------------------------------------ */

/* The outcome of a run; see BurnLearnerResult. */
struct LearnerResult {
  std::size_t epochs_done = 0, epochs_resumed = 0;
  std::uint64_t steps = 0;
  EpochResult last;
  double mean_epoch_seconds = 0;
  bool stopped_early = false, interrupted = false;
  std::size_t epoch = 0, batch = 0; /* of an interrupted run */
};

/* Trains a model. Model, optimizer and interrupter stay the caller's and live longer. */
template <class M>
class Learner {
 public:
  /* The user's part: what comes of a batch. The model is the one in training, or for validation its copy below
   * autodiff. */
  using Step = std::function<StepOutput(const M &model, Batch &batch)>;
  using OnBatch = std::function<void(const BurnBatchEvent &event)>;
  using OnEpoch = std::function<void(const EpochResult &result)>;
  using OnLog = std::function<void(const BurnLogEntry &entry)>;

  Learner(M &model, Optimizer &optimizer, Step step) : model_(model), optimizer_(optimizer), step_(std::move(step)) {
    config_.epochs = 1;
  }
  Learner(const Learner &) = delete;
  Learner &operator=(const Learner &) = delete;

  /* -- options: those of BurnLearnerConfig, which tells of each ------------------------------- */
  Learner &epochs(std::size_t count) { return config_.epochs = count, *this; }
  Learner &learning_rate(double rate) { return config_.learning_rate = rate, *this; }
  Learner &schedule(const Schedule &schedule) {
    schedule_ = schedule;
    return config_.schedule = schedule.get(), *this;
  }
  Learner &artifact_dir(const std::string &folder) { return artifact_dir_ = folder, *this; }
  Learner &metrics(const std::vector<Metric> &metrics) { return metrics_ = metrics, *this; } /* beside the loss */
  Learner &read_interval(std::size_t batches) { return config_.read_interval = batches, *this; }
  Learner &gradient_accumulation(std::size_t batches) { return config_.gradient_accumulation = batches, *this; }
  Learner &keep_checkpoints(std::size_t count) { return config_.keep_checkpoints = count, *this; }
  Learner &checkpoints(const CheckpointStrategy &strategy) {
    checkpoints_ = strategy;
    return config_.checkpoints = strategy.get(), *this;
  }
  Learner &early_stopping(const EarlyStopping &strategy) {
    early_stopping_ = strategy;
    return config_.early_stopping = strategy.get(), *this;
  }
  Learner &resume(bool yes = true) { return config_.resume = yes, *this; }
  Learner &resume_epoch(std::size_t epoch) { return config_.resume = true, config_.resume_epoch = epoch, *this; }
  Learner &config(BurnConfig config) { return config_.config = config, *this; } /* burn_config(MyConfig, &config) */
  Learner &free_fields(const std::string &names) { return free_fields_ = names, *this; }
  Learner &accept_changes(bool yes = true) { return config_.accept_changes = yes, *this; }
  Learner &on_nan(BurnOnNan what) { return config_.on_nan = what, *this; }
  Learner &interrupter(Interrupter &interrupter) { return config_.interrupter = interrupter.get(), *this; }
  Learner &grad_scaler(GradScaler &scaler) { return config_.grad_scaler = scaler.get(), *this; }  /* borrowed */
  Learner &renderer(const BurnRenderer &renderer) { return config_.renderer = &renderer, *this; } /* borrowed */
  Learner &quiet(bool yes = true) { return config_.quiet = yes, *this; }
  Learner &before_batch(OnBatch function) { return before_ = std::move(function), *this; } /* of training */
  Learner &after_batch(OnBatch function) { return after_ = std::move(function), *this; }   /* after the update */
  /* Several devices share each batch, the first of them that of fit; they live longer. The step is called from a thread
   * for each. */
  Learner &devices(const std::vector<const Device *> &devices) {
    devices_.clear();
    for (const Device *device : devices) devices_.push_back(*device);
    return *this;
  }
  Learner &on_epoch(OnEpoch function) { return on_epoch_ = std::move(function), *this; } /* after each epoch */
  Learner &on_log(OnLog function) { return on_log_ = std::move(function), *this; }       /* each value of a metric */

  /* Trains on a device with autodiff; an interrupted run throws CANCELLED. What became of it is in result() also after
   * an exception. */
  const LearnerResult &fit(const Device &device, Loader &train) { return run(device, train, nullptr); }
  const LearnerResult &fit(const Device &device, Loader &train, Loader &valid) {
    return run(device, train, valid.get());
  }
  const LearnerResult &result() const noexcept { return result_; }

  /* The metrics of a model over a loader, as values of validation. */
  EpochResult evaluate(const Device &device, const M &model, Loader &data) {
    const std::vector<BurnMetric> metrics = metrics_of_c();
    const BurnMetricList list = {metrics.data(), metrics.size()};
    const BurnTask task = {call_step, this};
    BurnEpochResult result = {};
    check(burn_learner_evaluate(&task, device, as_module(model), data.get(), &list, &result));
    return EpochResult(result);
  }
  /* The same for data with a name, as values of the test split: its logs are in test/<name> of the artifact folder. */
  EpochResult evaluate(const Device &device, const M &model, Loader &data, const std::string &name) {
    const std::vector<BurnMetric> metrics = metrics_of_c();
    BurnEvaluatorConfig config = {};
    config.artifact_dir = artifact_dir_.empty() ? nullptr : artifact_dir_.c_str();
    config.metrics = {metrics.data(), metrics.size()};
    if (on_log_) config.logger = {call_log, this};
    const BurnTask task = {call_step, this};
    BurnEpochResult result = {};
    check(burn_evaluator_eval(&config, &task, device, as_module(model), data.get(), name.c_str(), &result));
    return EpochResult(result);
  }

 private:
  const LearnerResult &run(const Device &device, Loader &train, BurnLoader *valid) {
    const std::vector<BurnMetric> metrics = metrics_of_c();
    const BurnTask task = {call_step, this};
    BurnLearnerConfig config = config_;
    config.artifact_dir = artifact_dir_.empty() ? nullptr : artifact_dir_.c_str();
    config.free_fields = free_fields_.empty() ? nullptr : free_fields_.c_str();
    config.metrics = {metrics.data(), metrics.size()};
    if (on_log_) config.logger = {call_log, this};
    if (on_epoch_) config.on_epoch = call_epoch, config.context = this;
    config.on_batch = {before_ ? call_before : nullptr, after_ ? call_after : nullptr, this};
    config.devices = devices_.data();
    config.device_count = devices_.size();
    BurnLearnerResult result = {};
    const BurnStatus status =
        burn_learner_fit(&config, &task, device, as_module(model_), optimizer_.get(), train.get(), valid, &result);
    result_ = {result.epochs_done,
               result.epochs_resumed,
               result.steps,
               EpochResult(result.last),
               result.mean_epoch_seconds,
               result.stopped_early,
               result.interrupted,
               result.epoch,
               result.batch};
    check(status);
    return result_;
  }
  std::vector<BurnMetric> metrics_of_c() const {
    std::vector<BurnMetric> metrics;
    for (const Metric &metric : metrics_) metrics.push_back(metric.get());
    return metrics;
  }
  static BurnStepOutput call_step(void *learner, const void *model, BurnBatch *batch) try {
    Batch given(batch);
    return static_cast<Learner *>(learner)->step_(*static_cast<const M *>(model), given).release();
  } catch (...) {
    BurnStepOutput failed = {};
    burn_step_give(&failed, "loss", burn_tensor_failed(detail::status_of_exception("step")));
    return failed;
  }
  static BurnStatus call_epoch(void *learner, const BurnEpochResult *result) try {
    static_cast<Learner *>(learner)->on_epoch_(EpochResult(*result));
    return BURN_OK;
  } catch (...) {
    return detail::status_of_exception("on_epoch");
  }
  static BurnStatus call_before(void *learner, const BurnBatchEvent *event) try {
    static_cast<Learner *>(learner)->before_(*event);
    return BURN_OK;
  } catch (...) {
    return detail::status_of_exception("before_batch");
  }
  static BurnStatus call_after(void *learner, const BurnBatchEvent *event) try {
    static_cast<Learner *>(learner)->after_(*event);
    return BURN_OK;
  } catch (...) {
    return detail::status_of_exception("after_batch");
  }
  static BurnStatus call_log(void *learner, const BurnLogEntry *entry) try {
    static_cast<Learner *>(learner)->on_log_(*entry);
    return BURN_OK;
  } catch (...) {
    return detail::status_of_exception("on_log");
  }

  M &model_;
  Optimizer &optimizer_;
  Step step_;
  BurnLearnerConfig config_ = {};    /* but for the texts and lists below */
  std::optional<Schedule> schedule_; /* what config_ points into, as the two below */
  std::string artifact_dir_, free_fields_;
  std::vector<Metric> metrics_;
  std::optional<CheckpointStrategy> checkpoints_;
  std::optional<EarlyStopping> early_stopping_;
  std::vector<BurnDevice *> devices_;
  OnBatch before_, after_;
  OnEpoch on_epoch_;
  OnLog on_log_;
  LearnerResult result_;
};
template <class M, class O, class Step>
Learner(M &, O &, Step) -> Learner<M>;

}  // namespace burn::train

#endif
