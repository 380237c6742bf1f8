/* burn_hpp_test.cpp - burn.hpp: ownership, operators, braces, exceptions, gradients. Every check prints what it
 * expected. */
#include "expect.hpp"

#include <burn/burn.hpp>

#include <cmath>
#include <sstream>
#include <stdexcept>

using burn::Device;
using burn::Shape;
using burn::Tensor;

static bool equals(const Tensor &x, const std::vector<double> &values) {
  const std::vector<double> have = x.to_vector<double>();
  if (have.size() != values.size()) return false;
  for (std::size_t i = 0; i < have.size(); i++)
    if (std::fabs(have[i] - values[i]) > 1e-5) return false;
  return true;
}

static void test_values(const Device &device) {
  const Tensor x(device, {1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
  EXPECT((x.shape() == Shape{2, 2}) && x.rank() == 2 && x.size() == 4 && x.dim(-1) == 2 && x.dtype() == BURN_DTYPE_F32);
  EXPECT(equals(x.matmul(x.transpose()), {5, 11, 11, 25}));
  EXPECT(equals(x.sum_dim(-1).reshape(Shape{2}), {3, 7}));
  EXPECT(equals(x.permute({1, 0}), {1, 3, 2, 4}));
  EXPECT(equals(x.greater_scalar(2).cast<float>(), {0, 0, 1, 1}));
  EXPECT(x.max().item<float>() == 4.0f && x.to_int().dtype() == BURN_DTYPE_I64);
  EXPECT(equals(Tensor(device, std::vector<std::int64_t>{7, 8}, {2}), {7, 8}));
  EXPECT(equals(Tensor::cat({x, x}, 0), {1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT((Tensor::stack({x, x}, 0).shape() == Shape{2, 2, 2}));
  EXPECT(equals(Tensor::arange(device, 0, 3), {0, 1, 2}) && equals(Tensor::eye(device, 2), {1, 0, 0, 1}));
}

static void test_operators(const Device &device) {
  const Tensor x(device, {1.0f, 2.0f}), y(device, {10.0f, 20.0f});
  EXPECT(equals(x + y, {11, 22}) && equals(x - y, {-9, -18}) && equals(x * y, {10, 40}) && equals(y / x, {10, 10}));
  EXPECT(equals(x + 1, {2, 3}) && equals(1 + x, {2, 3}) && equals(1 - x, {0, -1}) && equals(2 / x, {2, 1}));
  EXPECT(equals(-x, {-1, -2}) && equals((x + y) * 2 - x, {21, 42}));
  Tensor z = x;
  z += y;
  z *= 2;
  EXPECT(equals(z, {22, 44}) && equals(x, {1, 2}));
  std::ostringstream text;
  text << x;
  EXPECT(text.str().find("1") != std::string::npos && text.str().find("f32") != std::string::npos);
}

/* 2^53 + 1, which no double holds. */
static void test_integers_keep_their_bits(const Device &device) {
  const std::int64_t odd = 9007199254740993, least = INT64_MIN;
  const Tensor x = Tensor::full(device, {1}, odd, BURN_DTYPE_I64);
  EXPECT(x.item<std::int64_t>() == odd && x.to_vector<std::int64_t>()[0] == odd);
  EXPECT(Tensor::full(device, {1}, least, BURN_DTYPE_I64).item<std::int64_t>() == least);
  EXPECT(Tensor::uniform(device, {1}, odd, odd + 1, BURN_DTYPE_I64).item<std::int64_t>() == odd);
  EXPECT((x + odd - odd).item<std::int64_t>() == odd && (odd - x).item<std::int64_t>() == 0 &&
         (x * -1).item<std::int64_t>() == -odd);
  EXPECT((x / odd).item<int>() == 1 && (odd + (x - x)).item<std::int64_t>() == odd);
  Tensor y = x;
  y += odd;
  y -= 1;
  EXPECT(y.item<std::int64_t>() == 2 * odd - 1);
  EXPECT(x.equal_scalar(odd).item<bool>() && !x.equal_scalar(odd - 1).item<bool>() &&
         x.greater_scalar(odd - 1).item<bool>());
  EXPECT((x - x).clamp(odd, INT64_MAX).item<std::int64_t>() == odd && x.full_like(-odd).item<std::int64_t>() == -odd);
  EXPECT(x.mask_fill(x.equal_scalar(odd), odd + 1).item<std::int64_t>() == odd + 1);
  EXPECT(x.pad({{1, 0}}, BURN_PAD_CONSTANT, odd).to_vector<std::int64_t>() == (std::vector<std::int64_t>{odd, odd}));
  EXPECT((x.to_float() * 0 + 2.5f).item<float>() == 2.5f && (x.to_float() * 0).clamp(1, 1.5).item<float>() == 1.0f);
  EXPECT(Tensor::full(device, {1}, 0.5).item<bool>() && Tensor::full(device, {1}, 2u).item<double>() == 2.0);
}

/* Shapes, lists, pairs and options in braces, and absent tensors as nullptr. */
static void test_braces(const Device &device) {
  const Tensor x(device, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3});
  const std::vector<int> both = {0, 1};
  EXPECT((x.reshape({3, -1}).shape() == Shape{3, 2}) && (x.reshape({6}).expand({2, 6}).shape() == Shape{2, 6}));
  EXPECT((x.unsqueeze_dims({0, -1}).shape() == Shape{1, 2, 3, 1}) &&
         (x.unsqueeze_dims({0}).squeeze_dims({0}).shape() == Shape{2, 3}));
  EXPECT(equals(x.permute({1, 0}), {1, 4, 2, 5, 3, 6}) &&
         equals(x.permute(std::vector<int>{1, 0}), {1, 4, 2, 5, 3, 6}));
  EXPECT(equals(x.flip({1}), {3, 2, 1, 6, 5, 4}) && equals(x.sum_dims(both), {21}) &&
         equals(x.mean_dims({0, 1}), {3.5}));
  EXPECT(equals(x.slice({BURN_RANGE(0, 1), BURN_RANGE(1, 3)}), {2, 3}) &&
         equals(x.slice({{0, 2, 1}, {0, 3, 2}}), {1, 3, 4, 6}));
  EXPECT(equals(x.slice_fill({BURN_RANGE_ALL, {0, 1, 1}}, 9), {9, 2, 3, 9, 5, 6}));
  EXPECT(equals(x.slice_assign({{0, 1, 1}}, Tensor::zeros(device, {1, 3})), {0, 0, 0, 4, 5, 6}));
  EXPECT((x.repeat({2, 1}).shape() == Shape{4, 3}) && (x.movedims({0}, {1}).shape() == Shape{3, 2}));
  EXPECT((x.roll({3, 2}, {1, 0}).shape() == Shape{2, 3}) && equals(x.roll({3, 2}, {1, 0}), {1, 2, 3, 4, 5, 6}));
  EXPECT(equals(x.pad({{1, 0}, {0, 1}}), {0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0}));
  const auto [highest, where] = x.max_dim_with_indices(1);
  EXPECT(equals(highest, {3, 6}) && equals(where, {2, 2}) && equals(x.topk_with_indices(1, 0).second, {1, 1, 1}));
  EXPECT(equals(x.sort_descending_with_indices(1).first, {3, 2, 1, 6, 5, 4}));
  EXPECT(x.split(2, 1).size() == 2 && equals(x.split(2, 1)[0], {1, 2, 4, 5}) && equals(x.split(2, 1)[1], {3, 6}));
  EXPECT(x.chunk(2, 0).size() == 2 && equals(x.chunk(2, -2)[1], {4, 5, 6}) && x.chunk(9, 1).size() == 3);
  EXPECT(equals(x.split_with_sizes({1, 2}, 1)[1], {2, 3, 5, 6}) && equals(x.iter_dim(1)[2], {3, 6}));
  const Tensor image = x.reshape({1, 1, 2, 3}), kernel = Tensor::ones(device, {1, 1, 1, 3});
  EXPECT(equals(image.conv2d(kernel, nullptr, BURN_CONV2D_OPTIONS), {6, 15}));
  EXPECT(equals(image.conv2d(kernel, Tensor(), {{2, 1}, {0, 0}, {1, 1}, 1, {0, 0}, false, {0, 0}}), {6}));
  EXPECT(equals(image.max_pool2d(BURN_POOL2D_OPTIONS(2, 3)), {6}) &&
         equals(image.adaptive_avg_pool2d({1, 3}), {2.5, 3.5, 4.5}));
  EXPECT((image.interpolate({4, 6}, BURN_INTERPOLATE_OPTIONS(BURN_INTERPOLATE_NEAREST)).shape() == Shape{1, 1, 4, 6}));
}

static void test_ownership(const Device &device) {
  const std::int64_t before = device.memory().live_tensors;
  {
    Tensor x(device, {1.0f, 2.0f}), y = x, z = std::move(x);
    EXPECT(x.is_empty() && !y.is_empty() && equals(z, {1, 2}));
    y = z;
    z = Tensor();
    EXPECT(z.is_empty() && equals(y, {1, 2}));
    Tensor again = y, named = burn::call(burn_add, std::move(again), y);
    EXPECT(again.is_empty() && !y.is_empty());
    EXPECT(equals(named, {2, 4}));
    BurnTensor *raw = named.release();
    EXPECT(named.is_empty() && equals(Tensor(raw), {2, 4}));
  }
  EXPECT(device.memory().live_tensors == before);
}

template <class Function>
static std::string message_of(Function function, std::uint32_t code) {
  try {
    function();
  } catch (const burn::Error &error) {
    EXPECT(error.code() == code);
    return error.what();
  }
  return "nothing was thrown";
}

static void test_failures(const Device &device) {
  const Tensor x(device, {1.0f, 2.0f, 3.0f}, {1, 3});
  const std::string text = message_of([&] { return x.matmul(x); }, BURN_STATUS_INVALID_SHAPE);
  EXPECT(text.find("matmul") != std::string::npos && text.find("[1,3]") != std::string::npos);
  EXPECT(message_of(
             [&] {
               return Tensor(device, {1.0f, 2.0f}, {3});
             },
             BURN_STATUS_INVALID_SHAPE)
             .find("2 values") != std::string::npos);
  EXPECT(message_of([&] { return x.item(); }, BURN_STATUS_INVALID_ARGUMENT).find("3") != std::string::npos);
  EXPECT(message_of([&] { return x.permute({0}); }, BURN_STATUS_INVALID_ARGUMENT) == "permute: 1 axes for 2 axes");
  EXPECT(message_of([&] { return x.chunk(0, 0); }, BURN_STATUS_INVALID_ARGUMENT) == "chunk: 0 chunks are not possible");
  EXPECT(message_of([&] { return x.topk_with_indices(9, 0); }, BURN_STATUS_OUT_OF_RANGE).find("topk") == 0);
  EXPECT(message_of([&] { return x.split(1, 7); }, BURN_STATUS_OUT_OF_RANGE).find("split: dim 7") == 0);
  EXPECT(message_of([&] { return x.roll({1}, {0, 1}); }, BURN_STATUS_INVALID_ARGUMENT) == "roll: 1 shifts for 2 dims");
  EXPECT(message_of([&] { return x.reshape({2, 2}); }, BURN_STATUS_INVALID_SHAPE).find("reshape") != std::string::npos);
  EXPECT(message_of([] { return Device("nosuch"); }, BURN_STATUS_NOT_FOUND).find("no backend 'nosuch'") !=
         std::string::npos);
}

static void test_gradients() {
  const Device device = Device::training("ndarray");
  EXPECT(device.is_autodiff() && !device.inner().is_autodiff());
  const Tensor x = Tensor(device, {1.0f, 2.0f, 3.0f}).require_grad();
  const burn::Gradients gradients = (x * x + 2 * x).sum().backward();
  EXPECT(equals(x.grad(gradients), {4, 6, 8}));
  EXPECT(Tensor(device, {1.0f}).grad(gradients).is_empty());
}

/* The same gradient, with less held in between; the guard ends with its block. */
static void test_checkpoints() {
  const Device device = Device::training("ndarray");
  const Tensor x = Tensor(device, {1.0f, 2.0f, 3.0f}).require_grad();
  Tensor y = x;
  {
    const burn::Checkpoint checkpoint(device);
    y = (x * x).exp().log();
  }
  EXPECT(message_of([&] { return burn::check(burn_checkpoint_end(device)), x; }, BURN_STATUS_FAILED_PRECONDITION)
             .find("no region open") != std::string::npos);
  const burn::Gradients gradients = y.sum().backward();
  EXPECT(equals(x.grad(gradients), {2, 4, 6}));
}

/* The guard's end submits the region, or end() does with a report; without fusion there is none. */
static void test_captures() {
  const Device device("fusion<ndarray>");
  const Tensor x(device, {1.0f, 2.0f, 3.0f});
  Tensor y = x;
  {
    const burn::Capture capture(device);
    y = (x * x).exp();
    EXPECT(message_of([&] { return burn::Capture(device), x; }, BURN_STATUS_FAILED_PRECONDITION)
               .find("regions do not nest") != std::string::npos);
  }
  burn::Capture second(device);
  y = (x * x) + 1;
  const BurnCaptureReport report = second.end();
  EXPECT(report.calls == 2 && report.parts == 1);
  EXPECT(message_of([&] { return burn::check(burn_capture_end(device, nullptr)), x; }, BURN_STATUS_FAILED_PRECONDITION)
             .find("call capture_begin before") != std::string::npos);
  EXPECT(equals(y, {2, 5, 10}));
  const Device plain("ndarray");
  EXPECT(
      message_of([&] { return burn::Capture(plain), x; }, BURN_STATUS_FAILED_PRECONDITION).find("put fusion on it") !=
      std::string::npos);
}

/* A callback's exception passes through libburn to the caller: its functions have unwind tables. */
struct Holder {
  BurnParam weight;
};

static BurnStatus throwing_visitor(void *, const BurnModuleTensor *tensor) { throw std::runtime_error(tensor->path); }
static void throwing_hook(void *, BurnStatus, const char *, int, const char *message) {
  throw std::runtime_error(message);
}

static void test_exceptions_of_callbacks() {
  BurnDevice *device = burn_device_open("ndarray");
  const BurnField fields[] = {{"weight", BurnParam_type, 0, "", false}};
  const BurnType type = {BURN_TYPE_MODULE, "Holder", sizeof(Holder), 1, fields, nullptr, 0, nullptr};
  Holder holder = {burn_param(burn_ones(device, BURN_SHAPE(2), BURN_DTYPE_F32))};
  std::string visited, hooked;
  try {
    const BurnStatus status = burn_module_visit({&type, &holder}, throwing_visitor, nullptr);
    EXPECT(status != BURN_OK);
  } catch (const std::runtime_error &error) {
    visited = error.what();
  }
  EXPECT(visited == "weight");
  burn_error_hook(throwing_hook, nullptr);
  try {
    EXPECT(burn_status_make(BURN_STATUS_IO, "from the hook") != BURN_OK);
  } catch (const std::runtime_error &error) {
    hooked = error.what();
  }
  burn_error_hook(nullptr, nullptr);
  EXPECT(hooked == "from the hook");
  burn_drop(holder.weight.value);
  burn_device_close(device);
}

int main() {
  try {
    const Device device("ndarray");
    test_values(device);
    test_operators(device);
    test_integers_keep_their_bits(device);
    test_braces(device);
    test_ownership(device);
    test_failures(device);
    test_exceptions_of_callbacks();
    test_gradients();
    test_checkpoints();
    test_captures();
  } catch (const std::exception &error) {
    std::cerr << "unexpected: " << error.what() << "\n";
    return 1;
  }
  std::cout << (failures ? "FAILED" : "all checks passed") << "\n";
  return failures != 0;
}
