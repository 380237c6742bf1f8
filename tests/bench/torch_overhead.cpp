/* torch_overhead.cpp - what a call of ours costs beside the call of ATen that it becomes, on stack torch:cpu: ns per
 * op, in one process that links the libtorch which the plugin loads.
 *
 * The two sides of a case work on tensors of the same sizes. They take turns, a sample each per round; shown are the
 * medians and the median difference of a round. ATen runs in InferenceMode, as it does in the plugin. A new case is a
 * row in `make_cases`. */
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
#include <memory>
#include <utility>
#include <vector>

namespace {

constexpr double sample_seconds = 0.02;

/* Each side does an op so many times. */
using Run = std::function<void(std::size_t count)>;
struct Case {
  const char *name, *ours_counted;
  Run aten, ours;
  std::size_t aten_count = 1, ours_count = 1;                        /* repetitions in a sample */
  std::vector<double> aten_samples{}, ours_samples{}, differences{}; /* ns per op */
};

double nanoseconds(const Run &run, std::size_t count) {
  const auto begin = std::chrono::steady_clock::now();
  run(count);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
         static_cast<double>(count);
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

/* The plain C calls. The last result of a sample is looked at: an op that fails does not pass as a fast one. */
template <class Op>
Run repeat_ours(Op op) {
  return [op](std::size_t count) {
    for (std::size_t i = 1; i < count; i++) burn_drop(op());
    burn::Tensor{op()};
  };
}

template <class Op>
Run repeat_aten(Op op) {
  return [op](std::size_t count) {
    const c10::InferenceMode no_gradients;
    for (std::size_t i = 0; i < count; i++) op();
  };
}

/* Each result is added to: nobody else may hold it, or it would not be overwritten. */
Run repeat_ours_in_place(burn::Tensor sum, burn::Tensor b) {
  const auto only = std::make_shared<burn::Tensor>(std::move(sum));
  return [only, b](std::size_t count) {
    BurnTensor *x = only->release();
    for (std::size_t i = 0; i < count; i++) x = burn_add(x, burn_clone(b.get()));
    *only = burn::Tensor(x);
  };
}

std::vector<Case> make_cases(const burn::Device &device) {
  const c10::InferenceMode no_gradients;
  const auto normal = [&device](const burn::Shape &shape) { return burn::Tensor::normal(device, shape); };
  std::vector<Case> cases;
  const at::Tensor a = at::randn({2}), b = at::randn({2}), m = at::randn({64, 64}), n = at::randn({64, 64}),
                   v = at::randn({1024});
  const burn::Tensor oa = normal({2}), ob = normal({2}), om = normal({64, 64}), on = normal({64, 64}),
                     ov = normal({1024});
  cases.push_back({"add of 2, new result", "2 clones, add, drop", repeat_aten([a, b] { return at::add(a, b); }),
                   repeat_ours([oa, ob] { return burn_add(burn_clone(oa.get()), burn_clone(ob.get())); })});
  cases.push_back({"add of 2, in place", "1 clone, add into its first input",
                   repeat_aten([sum = at::randn({2}), b] { return sum.add_(b); }),
                   repeat_ours_in_place(normal({2}), ob)});
  cases.push_back({"matmul of 64x64", "2 clones, matmul, drop", repeat_aten([m, n] { return at::matmul(m, n); }),
                   repeat_ours([om, on] { return burn_matmul(burn_clone(om.get()), burn_clone(on.get())); })});
  cases.push_back({"relu of 1K", "1 clone, relu, drop", repeat_aten([v] { return at::relu(v); }),
                   repeat_ours([ov] { return burn_relu(burn_clone(ov.get())); })});
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
    std::printf("libtorch %s, ns per op, medians of %zu rounds\n%-22s %-34s %9s %9s %9s %6s\n", BURN_TORCH_VERSION,
                rounds, "op, f32", "counted, of ours", "ATen", "ours", "overhead", "ratio");
  }
  for (const Case &c : cases) {
    const double aten = median(c.aten_samples), ours = median(c.ours_samples), overhead = median(c.differences);
    if (json) {
      std::printf(
          "{\"bench\":\"torch\",\"libtorch\":\"%s\",\"case\":\"%s\",\"aten_ns\":%.6g,\"ours_ns\":%.6g,\"overhead_ns\":%"
          ".6g,"
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
  const int parsed =
      arguments_parse(argc, argv, "usage: torch_overhead [options]   calls on torch:cpu beside calls of ATen",
                      arguments, 2, nullptr, 0);
  if (parsed != ARGUMENTS_OK) return parsed == ARGUMENTS_HELP ? 0 : 2;
  if (rounds < 1) {
    std::fprintf(stderr, "torch_overhead: --rounds 0 measures nothing\n");
    return 2;
  }
  try {
    const burn::Device device("torch:cpu");
    std::vector<Case> cases = make_cases(device);
    measure(cases, rounds);
    show(cases, rounds, json);
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "torch_overhead: %s\n", problem.what());
    return 1;
  }
  return 0;
}
