/* torch_bridge.h - what burn_torch.so, which is plain C and small, and libburn_torch_aten.so, which is C++ and pulls in
 * libtorch, know of each other: one function. */
#ifndef BURN_TORCH_BRIDGE_H
#define BURN_TORCH_BRIDGE_H

#include <burn/plugin/plugin.h>

/* Opens device `index` of the kind `device` ("cpu", "cuda", "mps"). Otherwise as open of BurnBackendInterface. */
typedef BurnStatus (*TorchBridgeOpen)(const BurnHost *host, const char *device, uint32_t index, const BurnOptions *options,
                                      uint32_t owner, BurnBackend *out);

#define TORCH_BRIDGE_FILE "libburn_torch_aten.so"
#define TORCH_BRIDGE_SYMBOL "burn_torch_bridge_open_v1"

#endif
