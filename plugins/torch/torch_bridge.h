/* torch_bridge.h - what burn_torch.so, which is plain C and small, and libburn_torch_aten.so, which is C++ and pulls in
 * libtorch, know of each other: one function. */
#ifndef BURN_TORCH_BRIDGE_H
#define BURN_TORCH_BRIDGE_H

#include <burn/plugin/options.h>
#include <burn/plugin/plugin.h>

#include <stdbool.h>

/* threads, tf32, deterministic and cudnn_benchmark are settings of libtorch, which has them once per process: the
 * device opened last decides, of GPUs the GPU opened last. */
#define TORCH_OPTIONS(X)                                                                                             \
  X(DEVICE, "device", "cpu|cuda|mps", "cpu", BURN_OPTION_HARMLESS,                                                   \
    "the kind of device; as a word of its own, too: torch:cuda:0")                                                   \
  X(THREADS, "threads", "1..1024", "", BURN_OPTION_HARMLESS, "of ATen; else the host's number")                      \
  X(TF32, "tf32", "true|false", "false", BURN_OPTION_HARMLESS, "products and convolutions of f32 in TF32, on CUDA")  \
  X(DETERMINISTIC, "deterministic", "true|false", "true", BURN_OPTION_HARMLESS, "the same bits every time, on GPUs") \
  X(BENCHMARK, "cudnn_benchmark", "true|false", "false", BURN_OPTION_HARMLESS,                                       \
    "looks for the fastest convolution, if not deterministic")                                                       \
  X(RANDOM, "random", "host|aten", "host", BURN_OPTION_HARMLESS,                                                     \
    "the numbers that every backend gives, or ATen's generator")                                                     \
  X(PRIMITIVES, "primitives", "true|false", "false", BURN_OPTION_HARMLESS,                                           \
    "true leaves composite ops to the host's decompositions")

enum { TORCH_OPTIONS(BURN_OPTION_NUMBER) OPTION_COUNT };

/* The options as they were read. */
typedef struct TorchSettings {
  const char *device;
  uint64_t threads;
  bool tf32, deterministic, cudnn_benchmark;
  bool aten_random, primitives;
} TorchSettings;

/* Opens device `index` of the kind that the settings name. Otherwise as open of BurnBackendInterface. */
typedef BurnStatus (*TorchBridgeOpen)(const BurnHost *host, const TorchSettings *settings, uint32_t index,
                                      uint32_t owner, BurnBackend *out);

#define TORCH_BRIDGE_FILE "libburn_torch_aten.so"
#define TORCH_BRIDGE_SYMBOL "burn_torch_bridge_open_v3"

#endif
