/* torch_overhead.cpp - what a call of ours costs beside the call of ATen that it becomes, on stack torch:cpu: ns per op, in one process that
 * links the libtorch which the plugin loads.
 *
 * The two sides of a case work on tensors of the same sizes. They take turns, a sample each per round; shown are the medians and the median
 * difference of a round. ATen runs in InferenceMode, as it does in the plugin. A new case is a row in `make_cases`. */
#include <ATen/ops/add.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <c10/core/InferenceMode.h>

#include <burn/burn.hpp>

extern "C" {
#include "../../sdk/examples/common/arguments.h"
}

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr double sample_seconds = 0.02;

/* Each side does an op so many times. */
using Run = std::function<void(std::size_t count)>;
struct Case {
  const char *name, *ours_counted;
  Run aten, ours;
  std::size_t aten_count = 1, ours_count = 1; /* repetitions in a sample */
  std::vector<double> aten_samples, ours_samples, differences; /* ns per op */
};

double nanoseconds(const Run &run, std::size_t count) {
  const auto begin = std::chrono::steady_clock::now();
  run(count);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(count);
}

/* Warms up, and finds how often to repeat in a sample. */
std::size_t repetitions(const Run &run) {
  std::size_t count = 1;
  double one = nanoseconds(run, count);
  while (one * static_cast<double>(count) < sample_seconds * 1e9 / 4) {
    count *= 2;
    one = nanoseconds(run, count);
  }
  return std::max<std::size_t>(1, static_cast<std::size_t>(sample_seconds * 1e9 / one));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/* A handle of ours that fails by an exception, and the plain C calls on it. */
BurnTensor *checked(BurnTensor *x) {
  burn::check(burn_tensor_status(x));
  return x;
}

BurnTensor *random_tensor(BurnDevice *device, BurnShape shape) {
  return checked(burn_random_normal(device, shape, BURN_DTYPE_F32, 0, 1));
}

/* Drops what it holds. */
struct Handle {
  BurnTensor *x;
  explicit Handle(BurnTensor *tensor) : x(tensor) {}
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() { burn_drop(x); }
};
using Shared = std::shared_ptr<Handle>;

Shared share(BurnTensor *x) { return std::make_shared<Handle>(x); }

/* The last result of a sample is looked at: an op that fails does not pass as a fast one. */
template <class Op> Run repeat_ours(Op op) {
  return [op](std::size_t count) {
    for (std::size_t i = 1; i < count; i++) burn_drop(op());
    burn_drop(checked(op()));
  };
}

template <class Op> Run repeat_aten(Op op) {
  return [op](std::size_t count) {
    const c10::InferenceMode no_gradients;
    for (std::size_t i = 0; i < count; i++) op();
  };
}

std::vector<Case> make_cases(BurnDevice *device) {
  const c10::InferenceMode no_gradients;
  const at::Tensor a = at::randn({2}), b = at::randn({2}), sum = at::randn({2}), m = at::randn({64, 64}), n = at::randn({64, 64}),
                   v = at::randn({1024});
  const Shared oa = share(random_tensor(device, burn::Shape{2})), ob = share(random_tensor(device, burn::Shape{2})),
               osum = share(random_tensor(device, burn::Shape{2})), om = share(random_tensor(device, burn::Shape{64, 64})),
               on = share(random_tensor(device, burn::Shape{64, 64})), ov = share(random_tensor(device, burn::Shape{1024}));
  const Run in_place = [osum, ob](std::size_t count) {
    for (std::size_t i = 0; i < count; i++) osum->x = burn_add(osum->x, burn_clone(ob->x));
    checked(osum->x);
  };
  std::vector<Case> cases;
  cases.push_back({"add of 2, new result", "2 clones, add, drop", repeat_aten([a, b] { return at::add(a, b); }),
                   repeat_ours([oa, ob] { return burn_add(burn_clone(oa->x), burn_clone(ob->x)); })});
  cases.push_back({"add of 2, in place", "1 clone, add into its first input", repeat_aten([sum, b] { return sum.add_(b); }), in_place});
  cases.push_back({"matmul of 64x64", "2 clones, matmul, drop", repeat_aten([m, n] { return at::matmul(m, n); }),
                   repeat_ours([om, on] { return burn_matmul(burn_clone(om->x), burn_clone(on->x)); })});
  cases.push_back({"relu of 1K", "1 clone, relu, drop", repeat_aten([v] { return at::relu(v); }),
                   repeat_ours([ov] { return burn_relu(burn_clone(ov->x)); })});
  return cases;
}

void measure(std::vector<Case> &cases, std::size_t rounds) {
  for (Case &c : cases) {
    c.aten_count = repetitions(c.aten);
    c.ours_count = repetitions(c.ours);
  }
  for (std::size_t r = 0; r < rounds; r++) {
    for (Case &c : cases) {
      c.aten_samples.push_back(nanoseconds(c.aten, c.aten_count));
      c.ours_samples.push_back(nanoseconds(c.ours, c.ours_count));
      c.differences.push_back(c.ours_samples.back() - c.aten_samples.back());
    }
  }
}

void show(const std::vector<Case> &cases, std::size_t rounds, bool json) {
  if (!json) {
    std::printf("libtorch %s, ns per op, medians of %zu rounds\n%-22s %-34s %9s %9s %9s %6s\n", BURN_TORCH_VERSION, rounds, "op, f32",
                "counted, of ours", "ATen", "ours", "overhead", "ratio");
  }
  for (const Case &c : cases) {
    const double aten = median(c.aten_samples), ours = median(c.ours_samples), overhead = median(c.differences);
    if (json) {
      std::printf("{\"bench\":\"torch\",\"libtorch\":\"%s\",\"case\":\"%s\",\"aten_ns\":%.6g,\"ours_ns\":%.6g,\"overhead_ns\":%.6g,"
                  "\"rounds\":%zu}\n",
                  BURN_TORCH_VERSION, c.name, aten, ours, overhead, rounds);
    } else {
      std::printf("%-22s %-34s %9.0f %9.0f %9.0f %6.2f\n", c.name, c.ours_counted, aten, ours, overhead, ours / aten);
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  std::size_t rounds = 11;
  bool json = false;
  const Argument arguments[] = {
      {"rounds", ARGUMENT_SIZE, &rounds, "N", "samples of each side, in turns"},
      {"json", ARGUMENT_FLAG, &json, nullptr, "one JSON object per case"},
  };
  const int parsed = arguments_parse(argc, argv, "usage: torch_overhead [options]   calls on torch:cpu beside calls of ATen", arguments, 2,
                                     nullptr, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (rounds < 1) {
    std::fprintf(stderr, "torch_overhead: --rounds 0 measures nothing\n");
    return 2;
  }
  try {
    const burn::Device device("torch:cpu");
    std::vector<Case> cases = make_cases(device.handle());
    measure(cases, rounds);
    show(cases, rounds, json);
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "torch_overhead: %s\n", problem.what());
    return 1;
  }
  return 0;
}
