/* torch_kernel.cpp - kernels of packs on CUDA: texts compiled by NVRTC for the device, loaded and launched by the
 * driver in the stream that ATen's work goes into. Both libraries are found at run time. */
#include "torch_transfer.h"

#include <ATen/ops/empty.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace burn_torch {
namespace {

/* -- NVRTC, with the types of nvrtc.h: a program is a pointer, nvrtcResult an int ------------- */

struct Nvrtc {
  int (*nvrtcCreateProgram)(void **program, const char *source, const char *name, int headers,
                            const char *const *header_texts, const char *const *header_names) = nullptr;
  int (*nvrtcCompileProgram)(void *program, int count, const char *const *options) = nullptr;
  int (*nvrtcGetCUBINSize)(void *program, size_t *bytes) = nullptr;
  int (*nvrtcGetCUBIN)(void *program, char *image) = nullptr;
  int (*nvrtcGetProgramLogSize)(void *program, size_t *bytes) = nullptr;
  int (*nvrtcGetProgramLog)(void *program, char *log) = nullptr;
  int (*nvrtcDestroyProgram)(void **program) = nullptr;
  bool complete = false;
};

template <class Function>
bool take(void *symbol, Function &out) {
  std::memcpy(&out, &symbol, sizeof symbol);
  return symbol != nullptr;
}

/* libtorch brings its own; it is loaded already, or lies where libtorch looks. */
void *nvrtc_library() {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
  void *library = nullptr;
  for (const char *name : names) {
    if (!library) library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  }
  for (const char *name : names) {
    if (!library) library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  }
  return library;
}

Nvrtc load_nvrtc() {
  Nvrtc n;
  void *library = nvrtc_library();
  if (!library) return n;
  n.complete = take(dlsym(library, "nvrtcCreateProgram"), n.nvrtcCreateProgram) &&
               take(dlsym(library, "nvrtcCompileProgram"), n.nvrtcCompileProgram) &&
               take(dlsym(library, "nvrtcGetCUBINSize"), n.nvrtcGetCUBINSize) &&
               take(dlsym(library, "nvrtcGetCUBIN"), n.nvrtcGetCUBIN) &&
               take(dlsym(library, "nvrtcGetProgramLogSize"), n.nvrtcGetProgramLogSize) &&
               take(dlsym(library, "nvrtcGetProgramLog"), n.nvrtcGetProgramLog) &&
               take(dlsym(library, "nvrtcDestroyProgram"), n.nvrtcDestroyProgram);
  return n;
}

const Nvrtc &nvrtc() {
  static const Nvrtc loaded = load_nvrtc();
  return loaded;
}

std::string log_of(void *program) {
  size_t bytes = 0;
  if (nvrtc().nvrtcGetProgramLogSize(program, &bytes) != 0 || bytes <= 1) return "no words of the compiler";
  std::string log(bytes, '\0');
  if (nvrtc().nvrtcGetProgramLog(program, &log[0]) != 0) return "no words of the compiler";
  log.resize(bytes - 1);
  return log;
}

/* A program that ends with its scope. */
struct Program {
  void *handle = nullptr;
  Program() = default;
  ~Program() { nvrtc().nvrtcDestroyProgram(&handle); }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
};

std::string architecture_of(const Torch &torch) {
  BurnDeviceDescription about{};
  about.struct_size = sizeof about;
  describe_cuda(torch.device.index(), &about);
  return about.architecture;
}

/* The text as an image for this device. Products and sums are not contracted: the numbers are the CPU's. */
std::string compiled(const Torch &torch, const BurnDeviceCode &code) {
  if (!nvrtc().complete) fail(BURN_STATUS_UNIMPLEMENTED, "CUDA C needs libnvrtc, which is not found");
  const std::string text(static_cast<const char *>(code.data), code.bytes);
  const std::string architecture = "--gpu-architecture=" + architecture_of(torch);
  const char *const options[] = {architecture.c_str(), "-fmad=false", "--std=c++17"};
  Program program;
  if (nvrtc().nvrtcCreateProgram(&program.handle, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
    fail(BURN_STATUS_INTERNAL, "NVRTC makes no program");
  if (nvrtc().nvrtcCompileProgram(program.handle, 3, options) != 0)
    fail(BURN_STATUS_INVALID_ARGUMENT, "%s", log_of(program.handle).c_str());
  size_t bytes = 0;
  if (nvrtc().nvrtcGetCUBINSize(program.handle, &bytes) != 0 || bytes == 0)
    fail(BURN_STATUS_INTERNAL, "NVRTC gives no image for %s", architecture.c_str());
  std::string image(bytes, '\0');
  if (nvrtc().nvrtcGetCUBIN(program.handle, &image[0]) != 0) fail(BURN_STATUS_INTERNAL, "NVRTC gives no image");
  return image;
}

/* -- the driver ------------------------------------------------------------------------------- */

struct Modules {
  int (*cuModuleLoadData)(void **module, const void *image) = nullptr;
  int (*cuModuleUnload)(void *module) = nullptr;
  int (*cuModuleGetFunction)(void **function, void *module, const char *name) = nullptr;
  int (*cuFuncSetAttribute)(void *function, int attribute, int value) = nullptr;
  int (*cuLaunchKernel)(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned threads_x,
                        unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void *stream, void **parameters,
                        void **extra) = nullptr;
  bool complete = false;
};

Modules load_modules() {
  Modules m;
  m.complete = take(cuda_symbol("cuModuleLoadData"), m.cuModuleLoadData) &&
               take(cuda_symbol("cuModuleUnload"), m.cuModuleUnload) &&
               take(cuda_symbol("cuModuleGetFunction"), m.cuModuleGetFunction) &&
               take(cuda_symbol("cuFuncSetAttribute"), m.cuFuncSetAttribute) &&
               take(cuda_symbol("cuLaunchKernel"), m.cuLaunchKernel);
  return m;
}

const Modules &modules() {
  static const Modules loaded = load_modules();
  return loaded;
}

/* What is behind a BurnLoadedKernel. */
struct Loaded {
  int index; /* of the device */
  void *module = nullptr, *function = nullptr;
  explicit Loaded(int device_index) : index(device_index) {}
  ~Loaded() {
    const CurrentContext current(index);
    if (module && current.is_set()) modules().cuModuleUnload(module);
  }
  Loaded(const Loaded &) = delete;
  Loaded &operator=(const Loaded &) = delete;
};

/* The arguments as they lie in the memory of the parameters. */
struct Arguments {
  alignas(8) unsigned char bytes[8 * (BURN_MAX_FIXED_INPUTS + BURN_MAX_OUTPUTS) + BURN_MAX_PARAMETER_BYTES];
  size_t used = 0;
  void add(const void *value, size_t size) {
    std::memcpy(bytes + used, value, size);
    used += size;
  }
  void add_address(const at::Tensor &x) {
    const uint64_t address = x.defined() ? reinterpret_cast<uintptr_t>(x.data_ptr()) : 0;
    add(&address, sizeof address);
  }
};

enum { MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, SHARED_BYTES_AT_LEAST = 48 * 1024 }; /* CUfunction_attribute */

void start(const Torch &torch, const Loaded &kernel, const BurnDeviceLaunch &launch, Arguments &arguments) {
  void *extra[] = {reinterpret_cast<void *>(1), arguments.bytes, reinterpret_cast<void *>(2), &arguments.used, nullptr};
  const uint32_t *groups = launch.groups, *threads = launch.threads;
  const CurrentContext current(kernel.index);
  if (!current.is_set()) fail(BURN_STATUS_INTERNAL, "the device's context cannot be made current");
  int error = 0;
  if (launch.shared_bytes > SHARED_BYTES_AT_LEAST) {
    error = modules().cuFuncSetAttribute(kernel.function, MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         static_cast<int>(launch.shared_bytes));
  }
  if (error == 0) {
    error = modules().cuLaunchKernel(kernel.function, groups[0], groups[1], groups[2], threads[0], threads[1],
                                     threads[2], launch.shared_bytes, cuda_stream(torch), nullptr, extra);
  }
  if (error != 0) {
    fail(BURN_STATUS_INVALID_ARGUMENT,
         "CUDA refuses to start %u x %u x %u groups of %u x %u x %u threads with %u bytes of shared memory: error %d",
         groups[0], groups[1], groups[2], threads[0], threads[1], threads[2], launch.shared_bytes, error);
  }
}

}  // namespace

int32_t BURN_API_CALL kernel_takes_code(void *self, const BurnDeviceCode *code) {
  const Torch &torch = *static_cast<Torch *>(self);
  if (!torch.device.is_cuda() || !modules().complete) return 0;
  if (code->format != BURN_CODE_CUDA_C && code->format != BURN_CODE_PTX && code->format != BURN_CODE_CUBIN) return 0;
  return !code->architecture || architecture_of(torch) == code->architecture;
}

BurnStatus BURN_API_CALL kernel_load(void *self, const BurnDeviceCode *code, const char *entry,
                                     BurnLoadedKernel **out) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, "kernel", [&] {
    std::string image(static_cast<const char *>(code->data), code->bytes); /* of PTX with a zero at its end */
    if (code->format == BURN_CODE_CUDA_C) image = compiled(torch, *code);
    auto loaded = std::make_unique<Loaded>(torch.device.index());
    const CurrentContext current(loaded->index);
    int error = current.is_set() ? modules().cuModuleLoadData(&loaded->module, image.c_str()) : 0;
    if (!current.is_set() || error != 0) fail(BURN_STATUS_INVALID_ARGUMENT, "CUDA refuses the code: error %d", error);
    error = modules().cuModuleGetFunction(&loaded->function, loaded->module, entry);
    if (error != 0) fail(BURN_STATUS_NOT_FOUND, "the code has no function '%s': error %d", entry, error);
    *out = reinterpret_cast<BurnLoadedKernel *>(loaded.release());
  });
}

void BURN_API_CALL kernel_unload(void *self, BurnLoadedKernel *kernel) {
  Torch &torch = *static_cast<Torch *>(self);
  (void)guarded(torch, "kernel", [&] { wait_for_all(torch); }); /* what runs needs its code */
  delete reinterpret_cast<Loaded *>(kernel);
}

BurnStatus BURN_API_CALL kernel_launch(void *self, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                       const BurnDeviceLaunch *launch) {
  Torch &torch = *static_cast<Torch *>(self);
  return guarded(torch, torch.host->op_info(call->op)->name, [&] {
    std::array<at::Tensor, BURN_MAX_FIXED_INPUTS> inputs;
    std::array<at::Tensor, BURN_MAX_OUTPUTS> outputs;
    Arguments arguments;
    torch.recent.add(call->op);
    for (uint32_t i = 0; i < call->input_count; i++) {
      if (call->inputs[i]) inputs[i] = tensor_of(call->inputs[i])->value;
      if (call->inputs[i] && launch->row_major >> i & 1u) inputs[i] = inputs[i].contiguous();
      arguments.add_address(inputs[i]);
    }
    for (uint32_t i = 0; i < call->output_count; i++) {
      const BurnTensorDesc &desc = call->output_descs[i];
      outputs[i] = at::empty(sizes_of(desc), options_of(torch, desc.dtype));
      arguments.add_address(outputs[i]);
    }
    arguments.add(launch->parameters, launch->parameter_bytes);
    const bool is_empty = std::count(launch->groups, launch->groups + 3, 0u) > 0;
    if (!is_empty) start(torch, *reinterpret_cast<Loaded *>(kernel), *launch, arguments);
    for (uint32_t i = 0; i < call->output_count; i++) call->outputs[i] = wrap(torch, std::move(outputs[i]));
  });
}

}  // namespace burn_torch
