/* train.hpp - training for C++17: optimizers, gradients by parameter, schedules, datasets and loaders of burn/train.h
 * as values that clean up after themselves. Header only; links libburn_train.
 *
 *   burn::train::AdamW optimizer(burn::train::AdamWConfig().clipping(BURN_CLIP_GLOBAL_NORM(1)));
 *   const burn::train::CosineAnnealing rate(3e-3, steps);
 *   for (burn::train::Batch batch : loader.epoch(device, epoch)) {
 *     burn::Tensor loss = burn::call(burn_cross_entropy, model(batch.take("image")), batch.take("label"));
 *     optimizer.step(model, loss, rate(step++));
 *   }
 *
 * Models are those of burn/module.hpp. Formulas and defaults stand in the headers of C, burn/train/optimizer.h and
 * schedule.h; every failure throws burn::Error. The learner stands in burn/learner.hpp, which is included here. */
#ifndef BURN_TRAIN_HPP
#define BURN_TRAIN_HPP

#include <burn/module.hpp>
#include <burn/train.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>

namespace burn::train {

/* -- gradients by parameter ------------------------------------------------------------------- */

/* The gradients of a module's parameters, on the device below autodiff; moves, does not copy. */
class GradientsParams {
 public:
  GradientsParams() noexcept = default; /* none: what a sum begins with */
  template <class M>
  GradientsParams(Gradients gradients, const M &model)
      : handle_(burn_gradients_params(gradients.release(), as_module(model))) {
    if (!handle_) throw std::bad_alloc();
  }
  /* Takes over one of C. */
  explicit GradientsParams(BurnGradientsParams *handle) : handle_(handle) {
    if (!handle_) throw std::bad_alloc();
  }
  GradientsParams(GradientsParams &&other) noexcept : handle_(other.release()) {}
  GradientsParams &operator=(GradientsParams &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~GradientsParams() { burn_gradients_params_drop(handle_); }
  BurnGradientsParams *get() const noexcept { return handle_; }
  BurnGradientsParams *release() noexcept { return std::exchange(handle_, nullptr); } /* now the caller's */

  std::size_t count() const { return handle_ ? burn_gradients_params_count(handle_) : 0; }
  /* The gradient of a parameter by its id (burn::parameters); empty if it has none. */
  Tensor of(std::uint64_t id) const { return Tensor(burn_gradients_params_get(handle_, id)); }
  void accumulate(GradientsParams more) { check(burn_gradients_accumulate(&handle_, more.release())); }
  void clip(BurnGradientClipping clipping) { check(burn_gradients_params_clip(handle_, clipping)); }
  Tensor norm() const { return Tensor(burn_gradients_params_norm(handle_)); } /* of all together */

 private:
  BurnGradientsParams *handle_ = nullptr;
};

/* The gradients of copies of a model on several devices (C: BurnMultiGradientsParams). */
class MultiGradientsParams {
 public:
  MultiGradientsParams() : handle_(burn_multi_gradients_params_create(), burn_multi_gradients_params_drop) {}
  void add(GradientsParams gradients, const Device &device) {
    check(burn_multi_gradients_params_add(handle_.get(), gradients.release(), device.get()));
  }
  /* The sums, each on its parameter's device; this object is empty then. */
  GradientsParams sum() { return GradientsParams(burn_multi_gradients_params_sum(handle_.release())); }

 private:
  std::unique_ptr<BurnMultiGradientsParams, void (*)(BurnMultiGradientsParams *)> handle_;
};

/* -- optimizers ------------------------------------------------------------------------------- */

BURN_CPP_CONFIG_OPTIONAL(SgdConfig, BurnSgdConfig, BURN_SGD_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(AdamConfig, BurnAdamConfig, BURN_ADAM_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(AdamWConfig, BurnAdamWConfig, BURN_ADAMW_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(RmsPropConfig, BurnRmsPropConfig, BURN_RMSPROP_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(AdaGradConfig, BurnAdaGradConfig, BURN_ADAGRAD_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(AdanConfig, BurnAdanConfig, BURN_ADAN_CONFIG);
BURN_CPP_CONFIG_OPTIONAL(MuonConfig, BurnMuonConfig, BURN_MUON_CONFIG);

/* Any optimizer. */
class Optimizer {
 public:
  /* Takes over an optimizer of C; throws if it cannot step. */
  explicit Optimizer(BurnOptimizer *handle) : handle_(handle, burn_optimizer_destroy) {
    check(burn_optimizer_status(handle));
  }
  BurnOptimizer *get() const noexcept { return handle_.get(); }

  /* Backward from the loss, update. */
  template <class M>
  void step(M &model, Tensor loss, double learning_rate) {
    check(burn_train_step(get(), as_module(model), loss.release(), learning_rate));
  }
  template <class M>
  void step(M &model, GradientsParams gradients, double learning_rate) {
    check(burn_optimizer_step(get(), as_module(model), gradients.release(), learning_rate));
  }
  /* With rates by groups of parameters. */
  template <class M>
  void step(M &model, Tensor loss, const BurnModuleLearningRate &rates) {
    check(burn_train_step_rates(get(), as_module(model), loss.release(), &rates));
  }
  void with_clipping(BurnGradientClipping clipping) { check(burn_optimizer_with_clipping(get(), clipping)); }
  /* The parameters whose paths have all of these parts in them ("blocks.", "weight") are updated as by `other`. */
  void with_group(const std::vector<std::string> &parts, Optimizer other) {
    Texts texts{std::deque<std::string>(parts.begin(), parts.end()), {}};
    for (const std::string &part : texts.texts) texts.pointers.push_back(part.c_str());
    texts.pointers.push_back(nullptr);
    groups_.push_back(std::move(texts));
    BurnParamGroup group = {};
    group.parts = groups_.back().pointers.data();
    check(burn_optimizer_with_group(get(), &group, other.handle_.release()));
  }

  /* The state as a record; loading replaces it. `device` is that of the parameters. */
  void save(const std::string &path, BurnRecordConfig config = {}) const {
    const Value value(burn_optimizer_value(get()), burn_value_destroy);
    check(burn_value_write(value.get(), path.c_str(), &config));
  }
  void load(const std::string &path, const Device &device, BurnRecordConfig config = {}) {
    BurnValue *read = nullptr;
    check(burn_value_read(path.c_str(), &config, &read));
    const Value value(read, burn_value_destroy);
    check(burn_optimizer_load(get(), value.get(), device));
  }

 private:
  using Value = std::unique_ptr<BurnValue, void (*)(BurnValue *)>;
  struct Texts {
    std::deque<std::string> texts; /* stay where they are when the whole moves */
    std::vector<const char *> pointers;
  };
  std::deque<Texts> groups_;
  std::unique_ptr<BurnOptimizer, void (*)(BurnOptimizer *)> handle_;
};

#define BURN_INTERNAL_CPP_OPTIMIZER(Name, name)                                                       \
  class Name : public Optimizer {                                                                     \
   public:                                                                                            \
    explicit Name(const Name##Config &config = {}) : Optimizer(burn_##name##_create(config.get())) {} \
  }
BURN_INTERNAL_CPP_OPTIMIZER(Sgd, sgd);
BURN_INTERNAL_CPP_OPTIMIZER(Adam, adam);
BURN_INTERNAL_CPP_OPTIMIZER(AdamW, adamw);
BURN_INTERNAL_CPP_OPTIMIZER(RmsProp, rmsprop);
BURN_INTERNAL_CPP_OPTIMIZER(AdaGrad, adagrad);
BURN_INTERNAL_CPP_OPTIMIZER(Adan, adan);
BURN_INTERNAL_CPP_OPTIMIZER(Muon, muon);
#undef BURN_INTERNAL_CPP_OPTIMIZER

/* average = decay average + (1 - decay) model, tensor by tensor: an exponential moving average of the weights; see
 * burn/train/average.h. It begins as model.valid() or a clone. */
template <class M>
void average(M &average, const M &model, double decay) {
  check(burn_module_average(as_module(average), as_module(model), decay));
}

/* -- loss scaling ----------------------------------------------------------------------------- */

BURN_CPP_CONFIG_OPTIONAL(GradScalerConfig, BurnGradScalerConfig, BURN_GRAD_SCALER_CONFIG);

/* For training in f16; see burn/train/grad_scaler.h. */
class GradScaler {
 public:
  explicit GradScaler(const GradScalerConfig &config = {}) : scaler_(burn_grad_scaler(config.get())) {
    check(burn_grad_scaler_status(&scaler_));
  }
  BurnGradScaler *get() noexcept { return &scaler_; } /* for a learner, which this object outlives */
  double scale() const { return scaler_.scale; }      /* of the next loss */

  /* Backward from the loss times the scale, update; false where it was left out. */
  template <class M>
  bool step(Optimizer &optimizer, M &model, Tensor loss, double learning_rate) {
    Tensor scaled(burn_grad_scaler_scale(&scaler_, loss.release()));
    GradientsParams gradients(scaled.backward(), model);
    bool stepped = false;
    check(burn_grad_scaler_step(&scaler_, optimizer.get(), as_module(model), gradients.release(), learning_rate,
                                &stepped));
    return stepped;
  }

 private:
  BurnGradScaler scaler_;
};

/* -- schedules -------------------------------------------------------------------------------- */

BURN_CPP_CONFIG(ConstantRateConfig, BurnConstantRateConfig, BURN_CONSTANT_RATE_CONFIG);
BURN_CPP_CONFIG(LinearRateConfig, BurnLinearRateConfig, BURN_LINEAR_RATE_CONFIG);
BURN_CPP_CONFIG(ExponentialRateConfig, BurnExponentialRateConfig, BURN_EXPONENTIAL_RATE_CONFIG);
BURN_CPP_CONFIG(CosineAnnealingConfig, BurnCosineAnnealingConfig, BURN_COSINE_ANNEALING_CONFIG);
BURN_CPP_CONFIG(StepRateConfig, BurnStepRateConfig, BURN_STEP_RATE_CONFIG);
BURN_CPP_CONFIG(NoamConfig, BurnNoamConfig, BURN_NOAM_CONFIG);
BURN_CPP_CONFIG(WarmUpConfig, BurnWarmUpConfig, BURN_WARM_UP_CONFIG);

/* Any schedule, with what it is made of. Copies share it. */
class Schedule {
 public:
  /* The learning rate of an iteration, from 0. */
  double operator()(std::uint64_t iteration) const { return burn_schedule_rate(&schedule_, iteration); }
  const BurnSchedule &get() const noexcept { return schedule_; } /* lives as long as this object and its copies */

 protected:
  Schedule(std::shared_ptr<const void> owner, BurnSchedule schedule) : owner_(std::move(owner)), schedule_(schedule) {
    check(burn_schedule_check(&schedule_));
  }
  template <class C>
  Schedule(const C &config, BurnSchedule (*make)(C *)) : Schedule(std::make_shared<C>(config), make) {}

 private:
  template <class C>
  Schedule(std::shared_ptr<C> config, BurnSchedule (*make)(C *)) : Schedule(config, make(config.get())) {}
  std::shared_ptr<const void> owner_;
  BurnSchedule schedule_;
};

#define BURN_INTERNAL_CPP_SCHEDULE(Name, Config, ROWS, function)                                                     \
  class Name : public Schedule {                                                                                     \
   public:                                                                                                           \
    explicit Name(const Config &config) : Schedule(*config.get(), function) {}                                       \
    explicit Name(BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_PARAMETER, BURN_INTERNAL_CONFIG_NOTHING_OPT))) \
        : Name(Config(                                                                                               \
              BURN_INTERNAL_DROP_FIRST(~ROWS(BURN_INTERNAL_CONFIG_ARGUMENT, BURN_INTERNAL_CONFIG_NOTHING_OPT)))) {}  \
  }
BURN_INTERNAL_CPP_SCHEDULE(ConstantRate, ConstantRateConfig, BURN_CONSTANT_RATE_CONFIG, burn_schedule_constant);
BURN_INTERNAL_CPP_SCHEDULE(LinearRate, LinearRateConfig, BURN_LINEAR_RATE_CONFIG, burn_schedule_linear);
BURN_INTERNAL_CPP_SCHEDULE(ExponentialRate, ExponentialRateConfig, BURN_EXPONENTIAL_RATE_CONFIG,
                           burn_schedule_exponential);
BURN_INTERNAL_CPP_SCHEDULE(CosineAnnealing, CosineAnnealingConfig, BURN_COSINE_ANNEALING_CONFIG,
                           burn_schedule_cosine_annealing);
BURN_INTERNAL_CPP_SCHEDULE(StepRate, StepRateConfig, BURN_STEP_RATE_CONFIG, burn_schedule_step);
BURN_INTERNAL_CPP_SCHEDULE(Noam, NoamConfig, BURN_NOAM_CONFIG, burn_schedule_noam);
#undef BURN_INTERNAL_CPP_SCHEDULE

/* A schedule of your own: the rate of an iteration, from 0. The function must not throw: that ends the program. */
class OwnSchedule : public Schedule {
 public:
  using Rate = std::function<double(std::uint64_t iteration)>;
  OwnSchedule(const std::string &name, Rate rate)
      : OwnSchedule(std::make_shared<Own>(Own{name, std::move(rate), {}})) {}

 private:
  struct Own {
    std::string name;
    Rate rate;
    BurnScheduleInterface table;
  };
  static BurnSchedule schedule_of(Own &own) {
    own.table.name = own.name.c_str();
    own.table.rate = [](const void *self, std::uint64_t iteration) noexcept {
      return static_cast<const Own *>(self)->rate(iteration);
    };
    return {&own.table, {nullptr, &own}};
  }
  explicit OwnSchedule(const std::shared_ptr<Own> &own) : Schedule(own, schedule_of(*own)) {}
};

namespace detail {

struct WarmUpParts {
  Schedule then;
  BurnWarmUpRate rate;
  BurnSchedule schedule() { return burn_schedule_warm_up(&rate); }
};

/* Several schedules as C has them. */
struct ScheduleList {
  std::vector<Schedule> owners;
  std::vector<BurnSchedule> schedules;
  explicit ScheduleList(const std::vector<Schedule> &given) : owners(given) {
    for (const Schedule &schedule : given) schedules.push_back(schedule.get());
  }
};
struct ComposedParts : ScheduleList {
  BurnComposedRate rate;
  ComposedParts(const std::vector<Schedule> &given, BurnRateReduction reduction)
      : ScheduleList(given), rate{{reduction}, schedules.data(), schedules.size()} {}
  BurnSchedule schedule() { return burn_schedule_composed(&rate); }
};
struct SequentialParts : ScheduleList {
  std::vector<std::uint64_t> milestones;
  BurnSequentialRate rate;
  SequentialParts(const std::vector<Schedule> &given, const std::vector<std::uint64_t> &begins)
      : ScheduleList(given), milestones(begins), rate{schedules.data(), schedules.size(), milestones.data()} {
    if (milestones.size() + 1 != schedules.size())
      throw Error(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "sequential: %zu milestones for %zu schedules",
                                   milestones.size(), schedules.size()));
  }
  BurnSchedule schedule() { return burn_schedule_sequential(&rate); }
};

}  // namespace detail

/* A line up to the first rate of a schedule, then that schedule: WarmUp(100, CosineAnnealing(1e-3, 900)). */
class WarmUp : public Schedule {
 public:
  WarmUp(const WarmUpConfig &config, const Schedule &then)
      : WarmUp(std::make_shared<detail::WarmUpParts>(detail::WarmUpParts{then, {config, then.get()}})) {}
  WarmUp(std::size_t num_iters, const Schedule &then) : WarmUp(WarmUpConfig(num_iters), then) {}

 private:
  explicit WarmUp(const std::shared_ptr<detail::WarmUpParts> &parts) : Schedule(parts, parts->schedule()) {}
};

/* The mean, sum or product of the rates of several. */
class ComposedRate : public Schedule {
 public:
  ComposedRate(const std::vector<Schedule> &schedules, BurnRateReduction reduction = BURN_PROD_OF_RATES)
      : ComposedRate(std::make_shared<detail::ComposedParts>(schedules, reduction)) {}

 private:
  explicit ComposedRate(const std::shared_ptr<detail::ComposedParts> &parts) : Schedule(parts, parts->schedule()) {}
};

/* One after the other: schedule k + 1 begins at iteration milestones[k]. */
class SequentialRate : public Schedule {
 public:
  SequentialRate(const std::vector<Schedule> &schedules, const std::vector<std::uint64_t> &milestones)
      : SequentialRate(std::make_shared<detail::SequentialParts>(schedules, milestones)) {}

 private:
  explicit SequentialRate(const std::shared_ptr<detail::SequentialParts> &parts) : Schedule(parts, parts->schedule()) {}
};

/* -- data ------------------------------------------------------------------------------------- */

/* A column of items in memory: Column("x", values, {28, 28}); without a shape an item is one number. */
struct Column {
  std::string name;
  BurnDType dtype;
  Shape shape; /* of one item */
  const void *data = nullptr;
  std::size_t items = 0;

  Column(const std::string &of, BurnDType type, const Shape &item) : name(of), dtype(type), shape(item) {}
  /* The values stay the caller's and are copied by Dataset::memory. */
  template <class T>
  Column(const std::string &of, const std::vector<T> &values, const Shape &item = {})
      : Column(of, burn::detail::Element<T>::dtype, item) {
    std::size_t size = 1;
    for (std::int64_t dim : shape) size *= static_cast<std::size_t>(dim);
    if (size == 0 || values.size() % size != 0)
      throw Error(burn_status_make(BURN_STATUS_INVALID_SHAPE, "column %s: %zu values for items of %zu", of.c_str(),
                                   values.size(), size));
    data = values.data(), items = values.size() / size;
  }
};

/* Items by index; copies share it. */
class Dataset {
 public:
  /* Takes over a dataset of C. */
  explicit Dataset(BurnDataset *handle) : handle_(handle, burn_dataset_drop) {}
  static Dataset mnist(const std::string &folder, std::uint32_t split) {
    return made([&](BurnStatus *status) { return burn_dataset_mnist(folder.c_str(), split, status); });
  }
  static Dataset digits(std::size_t count, std::uint64_t seed) {
    const BurnDigitsConfig config = {count, seed};
    return made([&](BurnStatus *status) { return burn_dataset_digits(&config, status); });
  }
  /* A JSON object per line; the columns' data are not used. */
  static Dataset json_lines(const std::string &path, const std::vector<Column> &columns, bool skip_bad = false) {
    const std::vector<BurnColumn> rows = of_c(columns);
    const BurnReadConfig config = {skip_bad, nullptr};
    return made([&](BurnStatus *status) {
      return burn_dataset_json_lines(path.c_str(), rows.data(), rows.size(), &config, status);
    });
  }
  /* Comma-separated values; the columns' data are not used. */
  static Dataset csv(const std::string &path, const std::vector<Column> &columns, const BurnCsvConfig &config = {}) {
    const std::vector<BurnColumn> rows = of_c(columns);
    return made(
        [&](BurnStatus *status) { return burn_dataset_csv(path.c_str(), rows.data(), rows.size(), &config, status); });
  }
  static Dataset text_lines(const std::string &path, const BurnTextConfig &config) {
    return made([&](BurnStatus *status) { return burn_dataset_text_lines(path.c_str(), &config, status); });
  }
  /* Arrays of a NumPy file; without names all of an archive. */
  static Dataset numpy(const std::string &path, const std::vector<std::string> &names = {}) {
    std::vector<const char *> texts;
    for (const std::string &name : names) texts.push_back(name.c_str());
    const char *const *given = texts.empty() ? nullptr : texts.data();
    return made([&](BurnStatus *status) { return burn_dataset_numpy(path.c_str(), given, texts.size(), status); });
  }
  /* A sound file per item; labels, if there are any, replace those of the config. */
  static Dataset wav(const std::vector<std::string> &paths, BurnWavConfig config,
                     const std::vector<std::int64_t> &labels = {}) {
    std::vector<const char *> texts;
    for (const std::string &path : paths) texts.push_back(path.c_str());
    if (!labels.empty() && labels.size() != paths.size())
      throw Error(
          burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "wav: %zu labels for %zu files", labels.size(), paths.size()));
    if (!labels.empty()) config.labels = labels.data();
    return made([&](BurnStatus *status) { return burn_dataset_wav(texts.data(), texts.size(), &config, status); });
  }
  static Dataset memory(const std::vector<Column> &columns) {
    std::vector<const void *> data;
    for (const Column &column : columns) {
      data.push_back(column.data);
      if (column.items != columns[0].items)
        throw Error(burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "column %s: %zu items, %s has %zu",
                                     column.name.c_str(), column.items, columns[0].name.c_str(), columns[0].items));
    }
    const std::vector<BurnColumn> rows = of_c(columns);
    const std::size_t count = columns.empty() ? 0 : columns[0].items;
    return made(
        [&](BurnStatus *status) { return burn_dataset_memory(rows.data(), rows.size(), data.data(), count, status); });
  }
  /* Items of one's own: get(index, columns) writes item `index` to columns[i], from several threads at once. */
  static Dataset from(const std::vector<Column> &columns, std::size_t count,
                      std::function<void(std::size_t, void *const *)> get) {
    const std::vector<BurnColumn> rows = of_c(columns);
    const BurnDatasetInterface table = {
        rows.size(), rows.data(), count, call_get, drop_get, new Get(std::move(get))}; /* C drops it, also on failure */
    return made([&](BurnStatus *status) { return burn_dataset_create(&table, status); });
  }

  Dataset mnist_normalize() const {
    return made([&](BurnStatus *status) { return burn_dataset_mnist_normalize(shared(), status); });
  }
  Dataset slice(std::size_t start, std::size_t end) const {
    return made([&](BurnStatus *status) { return burn_dataset_slice(shared(), start, end, status); });
  }
  Dataset shuffle(std::uint64_t seed) const {
    return made([&](BurnStatus *status) { return burn_dataset_shuffle(shared(), seed, status); });
  }
  Dataset cache() const {
    return made([&](BurnStatus *status) { return burn_dataset_cache(shared(), status); });
  }
  /* map(index, in, out) reads the columns of item `index` and writes those listed, on several threads at once. */
  Dataset map(const std::vector<Column> &columns,
              std::function<void(std::size_t, const void *const *, void *const *)> map) const {
    const std::vector<BurnColumn> rows = of_c(columns);
    BurnMapInterface table = {};
    table.column_count = rows.size(), table.columns = rows.data();
    table.map_item = call_map, table.destroy = drop_map;
    table.context = new Map(std::move(map)); /* C drops it, also on failure */
    return made([&](BurnStatus *status) { return burn_dataset_map(shared(), &table, status); });
  }
  Dataset select(const std::vector<std::size_t> &indices) const {
    return made(
        [&](BurnStatus *status) { return burn_dataset_select(shared(), indices.data(), indices.size(), status); });
  }
  Dataset windows(std::size_t size) const {
    return made([&](BurnStatus *status) { return burn_dataset_windows(shared(), size, status); });
  }
  Dataset sample(const BurnSampleConfig &config) const {
    return made([&](BurnStatus *status) { return burn_dataset_sample(shared(), &config, status); });
  }
  /* Parts one after the other, by fractions of the items. */
  std::vector<Dataset> split(const std::vector<double> &fractions) const {
    return parts(fractions.size(), fractions.data());
  }
  std::vector<Dataset> split(std::size_t count) const { return parts(count, nullptr); } /* equal ones */
  static Dataset compose(const std::vector<Dataset> &datasets) {
    std::vector<BurnDataset *> sources;
    sources.reserve(datasets.size());
    for (const Dataset &dataset : datasets) sources.push_back(dataset.shared());
    return made([&](BurnStatus *status) { return burn_dataset_compose(sources.data(), sources.size(), status); });
  }
  std::size_t count() const { return burn_dataset_count(get()); }
  BurnDataset *get() const noexcept { return handle_.get(); }
  BurnDataset *shared() const { return burn_dataset_clone(get()); } /* for a function of C that takes it */

 private:
  using Get = std::function<void(std::size_t, void *const *)>;
  using Map = std::function<void(std::size_t, const void *const *, void *const *)>;
  std::vector<Dataset> parts(std::size_t count, const double *fractions) const {
    std::vector<BurnDataset *> handles(count);
    std::vector<Dataset> made;
    BurnStatus status = BURN_OK;
    (void)burn_dataset_split(shared(), fractions, count, handles.data(), &status);
    check(status);
    for (BurnDataset *handle : handles) made.push_back(Dataset(handle));
    return made;
  }
  template <class Make>
  static Dataset made(Make make) {
    BurnStatus status = BURN_OK;
    BurnDataset *handle = make(&status);
    check(status);
    return Dataset(handle);
  }
  static std::vector<BurnColumn> of_c(const std::vector<Column> &columns) {
    std::vector<BurnColumn> rows;
    for (const Column &column : columns) rows.push_back({column.name.c_str(), column.dtype, column.shape});
    return rows;
  }
  /* What the function of an item throws, as a status. */
  template <class Call>
  static BurnStatus status_of(std::size_t index, Call call) try {
    call();
    return BURN_OK;
  } catch (const Error &error) {
    return error.status();
  } catch (const std::exception &error) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "item %zu: %s", index, error.what());
  } catch (...) {
    return burn_status_make(BURN_STATUS_INVALID_ARGUMENT, "item %zu: an exception that is not a std::exception", index);
  }
  static BurnStatus call_get(void *context, std::size_t index, void *const *columns) {
    return status_of(index, [&] { (*static_cast<Get *>(context))(index, columns); });
  }
  static BurnStatus call_map(void *context, std::size_t index, const void *const *in, void *const *out) {
    return status_of(index, [&] { (*static_cast<Map *>(context))(index, in, out); });
  }
  static void drop_map(void *context) { delete static_cast<Map *>(context); }
  static void drop_get(void *context) { delete static_cast<Get *>(context); }
  std::shared_ptr<BurnDataset> handle_;
};

/* Texts as numbers and back; see burn/tokenizer.h. */
class Tokenizer {
 public:
  /* Takes over a tokenizer of C. */
  explicit Tokenizer(BurnTokenizer *handle) : handle_(handle, burn_tokenizer_destroy) {}
  static Tokenizer characters(const std::string &text) {
    return made([&](BurnStatus *status) { return burn_tokenizer_characters(text.data(), text.size(), status); });
  }
  static Tokenizer byte_pair(const std::string &vocab_path, const std::string &merges_path,
                             const std::vector<std::string> &specials = {}) {
    const std::vector<const char *> texts = pointers(specials);
    const BurnSpecialTokens given = {texts.data(), texts.size()};
    return made([&](BurnStatus *status) {
      return burn_tokenizer_byte_pair_read(vocab_path.c_str(), merges_path.c_str(), &given, status);
    });
  }
  static Tokenizer byte_pair_train(const std::string &text, std::size_t vocabulary,
                                   const std::vector<std::string> &specials = {}) {
    const std::vector<const char *> texts = pointers(specials);
    const BurnBytePairConfig config = {vocabulary, 0, {texts.data(), texts.size()}};
    return made(
        [&](BurnStatus *status) { return burn_tokenizer_byte_pair_train(text.data(), text.size(), &config, status); });
  }
  void byte_pair_write(const std::string &vocab_path, const std::string &merges_path) const {
    check(burn_tokenizer_byte_pair_write(get(), vocab_path.c_str(), merges_path.c_str()));
  }
  std::vector<std::int64_t> encode(const std::string &text) const {
    BurnTokenList tokens = {};
    const BurnStatus status = burn_tokenizer_encode(get(), text.data(), text.size(), &tokens);
    const std::vector<std::int64_t> ids(tokens.ids, tokens.ids + tokens.count);
    burn_token_list_release(&tokens);
    check(status);
    return ids;
  }
  std::string decode(const std::vector<std::int64_t> &ids) const {
    char *text = nullptr;
    std::size_t length = 0;
    check(burn_tokenizer_decode(get(), ids.data(), ids.size(), &text, &length));
    const std::unique_ptr<char, void (*)(void *)> owner(text, std::free);
    return std::string(text, length);
  }
  std::size_t vocabulary() const { return burn_tokenizer_vocabulary(get()); }
  BurnTokenizer *get() const noexcept { return handle_.get(); }

 private:
  static std::vector<const char *> pointers(const std::vector<std::string> &texts) {
    std::vector<const char *> rows;
    for (const std::string &text : texts) rows.push_back(text.c_str());
    return rows;
  }
  template <class Make>
  static Tokenizer made(Make make) {
    BurnStatus status = BURN_OK;
    BurnTokenizer *handle = make(&status);
    check(status);
    return Tokenizer(handle);
  }
  std::shared_ptr<BurnTokenizer> handle_;
};

/* A sound; see BurnWav. */
struct Wav {
  std::vector<float> samples; /* [frames, channels] */
  std::uint32_t channels = 1, sample_rate = 0;
  BurnWavFormat format = BURN_WAV_PCM_16;

  static Wav read(const std::string &path) {
    BurnWav sound;
    check(burn_wav_read(path.c_str(), &sound));
    const std::unique_ptr<BurnWav, void (*)(BurnWav *)> owner(&sound, burn_wav_release);
    return {{sound.samples, sound.samples + sound.frames * sound.channels},
            sound.channels,
            sound.sample_rate,
            sound.format};
  }
  void write(const std::string &path) const {
    const std::size_t frames = channels > 0 ? samples.size() / channels : 0;
    const BurnWav sound = {const_cast<float *>(samples.data()), frames, channels, sample_rate, format};
    check(burn_wav_write(path.c_str(), &sound));
  }
};

/* One batch while it is that of the loop. */
class Batch {
 public:
  explicit Batch(BurnBatch *batch) : batch_(batch) {}
  /* The tensor of a column, [batch, ..]; once. */
  Tensor take(const std::string &column) { return Tensor(burn_batch_take(batch_, column.c_str())); }
  std::size_t index() const { return batch_->index; }           /* within the epoch */
  std::size_t item_count() const { return batch_->item_count; } /* in this batch */

 private:
  BurnBatch *batch_;
};

/* The batches of an epoch, for a loop over them; their loader lives as long. A failure of the dataset throws where the
 * next batch would begin. */
class Batches {
 public:
  explicit Batches(BurnBatches *handle, std::shared_ptr<BurnLoader> loader = nullptr)
      : loader_(std::move(loader)), handle_(handle) {}
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;
  ~Batches() {
    if (handle_ && burn_batches_stop(handle_) != BURN_OK) { /* a loop that was left has its own reason */
    }
  }
  struct End {};
  class Iterator {
   public:
    explicit Iterator(Batches *batches) : batches_(batches) {}
    Batch operator*() const { return Batch(&batches_->batch_); }
    Iterator &operator++() {
      batches_->advance();
      return *this;
    }
    bool operator!=(End) const { return batches_->handle_ != nullptr; }

   private:
    Batches *batches_;
  };
  Iterator begin() {
    advance();
    return Iterator(this);
  }
  End end() const { return {}; }

 private:
  void advance() {
    if (!burn_batches_next(handle_, &batch_)) check(burn_batches_stop(std::exchange(handle_, nullptr)));
  }
  std::shared_ptr<BurnLoader> loader_;
  BurnBatches *handle_;
  BurnBatch batch_ = {};
};

/* How a loader makes batches; see BurnLoaderConfig. */
struct LoaderConfig {
  std::size_t batch_size = 1;
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::size_t workers = 0;
  std::size_t prefetch = 0;
  bool drop_last = false;
  bool skip_bad = false;
};

/* Batches of a dataset as tensors. */
class Loader {
 public:
  Loader(const Dataset &dataset, const LoaderConfig &config) {
    const BurnLoaderConfig given = {
        config.batch_size,         config.shuffle, config.seed, config.workers, config.prefetch, config.drop_last,
        {config.skip_bad, nullptr}};
    BurnStatus status = BURN_OK;
    handle_.reset(burn_loader_create(dataset.shared(), &given, &status), burn_loader_destroy);
    check(status);
  }
  /* Epoch `epoch`, from 1, beginning at a batch; one at a time. */
  Batches epoch(const Device &device, std::size_t epoch, std::size_t first_batch = 0) {
    return Batches(burn_loader_start(get(), device, epoch, first_batch), handle_);
  }
  std::size_t batch_count() const { return burn_loader_batch_count(get()); }
  std::size_t item_count() const { return burn_loader_item_count(get()); }
  BurnLoader *get() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<BurnLoader> handle_; /* with the batches of an epoch */
};

}  // namespace burn::train

#include <burn/learner.hpp>

#endif
