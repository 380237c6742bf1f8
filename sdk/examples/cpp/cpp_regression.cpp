/* cpp_regression.cpp - fits a line in C++: tensors as values, operators,
 * gradients, exceptions.
 *
 * y = 3 x - 2 plus noise; plain gradient descent on weight and bias. Runs on
 * any backend: BURN_BACKEND=... cpp_regression */
#include <burn/burn.hpp>

#include <cstdio>
#include <iostream>

#include "arguments.hpp"

int main(int argc, char **argv) try {
  if (!begin_program(argc, argv, "cpp_regression")) return 0;
  burn::Device device = burn::Device::training();
  device.seed(42);
  const burn::Tensor x = burn::Tensor::uniform(device, {256, 1}, -1, 1);
  const burn::Tensor noise = burn::Tensor::normal(device, {256, 1}, 0, 0.05);
  const burn::Tensor y = 3 * x - 2 + noise;

  burn::Tensor weight = burn::Tensor::zeros(device, {1, 1}).require_grad();
  burn::Tensor bias = burn::Tensor::zeros(device, {1, 1}).require_grad();
  double loss_value = 0;
  for (int step = 1; step <= 200; step++) {
    const burn::Tensor error = x.matmul(weight) + bias - y;
    const burn::Tensor loss = error.powf_scalar(2).mean();
    const burn::Gradients gradients = loss.backward();
    const auto update = [&](const burn::Tensor &parameter) {
      const burn::Tensor change = parameter.grad(gradients) * 0.2;
      const burn::Tensor next = burn::call(burn_inner, parameter) - change;
      return burn::call(burn_from_inner, next, device.get()).require_grad();
    };
    weight = update(weight);
    bias = update(bias);
    loss_value = loss.item();
    if (step % 50 == 0) std::printf("step %3d  loss %.6f\n", step, loss_value);
  }
  std::printf("y = %.3f x %+.3f\n", weight.item(), bias.item());
  std::printf(
      "result: {\"backend\": \"%s\", \"seed\": 42, \"loss\": %.6f, "
      "\"weight\": %.4f, \"bias\": %.4f}\n",
      device.name().c_str(), loss_value, weight.item(), bias.item());
  return 0;
} catch (const std::exception &error) {
  std::cerr << "cpp_regression: " << error.what() << "\n";
  return 1;
}
