/* torch_transfer.h - what the bridge shares of the device's queue: waits, events, pinned memory, late failures. */
#ifndef BURN_TORCH_TRANSFER_H
#define BURN_TORCH_TRANSFER_H

#include "torch_internal.h"

#include <burn/plugin/device.h>

namespace burn_torch {

/* The interface "burn.device". */
extern const BurnDeviceInterface device_interface;

/* True if work goes on after a call has returned: then only what follows counts waits. */
inline bool is_asynchronous(const Torch &torch) { return torch.device.is_cuda(); }

/* Waits for all work, and counts it. */
void wait_for_all(Torch &torch);

/* Around what waits for all work by itself (item(), a copy to pageable memory): counts it. */
struct Waiting {
  Torch &torch;
  explicit Waiting(Torch &waiting_torch) : torch(waiting_torch) {
    if (is_asynchronous(torch)) torch.host_waits.fetch_add(1, std::memory_order_relaxed);
  }
};

/* The elements at `data` (row-major) as a tensor of the host; bools are bytes, of which any but 0 is true. It only
 * borrows them; or it is a copy in memory that the device copies from without a detour, and that ATen keeps as long as
 * it does. */
at::Tensor around(const BurnTensorDesc &desc, const void *data);
at::Tensor pinned_copy(const BurnTensorDesc &desc, const void *data);

/* A tensor of the device with the elements of one of these, in the queue. */
at::Tensor upload(Torch &torch, const BurnTensorDesc &desc, const at::Tensor &host);

/* The smallest and largest element of integers at `data`, known from now on of x: so the device is not asked for them.
 */
void note_bounds(BurnPrimitive *x, const BurnTensorDesc &desc, const void *data);

/* The stream that this thread's work goes into, as CUDA's driver knows it; NULL is the default one. */
void *cuda_stream(const Torch &torch);

/* -- torch_jit.cpp: false where the device has no such kernel, or the call is not one for it --- */

/* random_uniform and random_bernoulli without the host. */
bool random_on_device(Run &run);
/* adam_step in one launch. */
bool adam_on_device(Run &run);

/* -- torch_kernel.cpp: kernels of packs on CUDA, the slots of "burn.device" ------------------- */

int32_t BURN_API_CALL kernel_takes_code(void *self, const BurnDeviceCode *code);
BurnStatus BURN_API_CALL kernel_load(void *self, const BurnDeviceCode *code, const char *entry, BurnLoadedKernel **out);
void BURN_API_CALL kernel_unload(void *self, BurnLoadedKernel *kernel);
BurnStatus BURN_API_CALL kernel_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                       const BurnDeviceLaunch *launch);

/* -- torch_driver.cpp: CUDA's driver, found at run time --------------------------------------- */

/* Fills what the driver knows of a CUDA device; nothing where there is no driver. */
void describe_cuda(int index, BurnDeviceDescription *out);
/* The context of a device as the driver knows it; NULL where there is none. */
void *cuda_context(int index);
/* A function of the driver; NULL where there is no driver, or not this one. */
void *cuda_symbol(const char *name);
/* That context is this thread's current one while this lives. */
class CurrentContext {
 public:
  explicit CurrentContext(int index);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  bool is_set() const { return is_set_; }

 private:
  bool is_set_;
};
/* Work in stream `first` so far comes before work that is put into `then` from now on. Streams are CUstreams of the
 * device, or DLPack's numbers 1 and 2. */
void order_streams(int index, void *first, void *then);

}  // namespace burn_torch

#endif
