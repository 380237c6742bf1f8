// plugin.cpp - the plugin: descriptor, probe, open, and the backend table. Start here, at the end.
//
// It has a kernel for every primitive op and for nothing else, and no options.
#include "call.hpp"

#include <burn/plugin/options.h>

namespace backend {
namespace {

const char name[] = "my_backend";

// An opened instance: `self` of all functions below.
struct Instance {
  const BurnHost *host;
  Memory memory;
  Kernel kernels[BURN_OP_LIMIT];  // by op; nullptr: the host decomposes it
};

Instance *instance(void *self) { return static_cast<Instance *>(self); }

// -- calls ----------------------------------------------------------------------------------------------------------

uint32_t op_support(void *self, uint32_t op) {
  return op < BURN_OP_LIMIT && instance(self)->kernels[op] ? BURN_SUPPORT_YES : BURN_SUPPORT_NO;
}

BurnStatus submit(void *self, const BurnOpCall *raw) {
  Instance *me = instance(self);
  return guard(me->host, me->host->op_info(raw->op)->name, [&] {
    Call call(me->memory, *raw);
    me->kernels[raw->op](call);
    call.give_out();
  });
}

// -- tensors --------------------------------------------------------------------------------------------------------

size_t bytes_of(const BurnPrimitive *x) {
  return static_cast<size_t>(burn_primitive_count(x)) * burn_dtype_bytes(x->dtype);
}

BurnStatus create(void *self, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out) {
  return guard(instance(self)->host, name, [&] {
    BurnPrimitive *x = instance(self)->memory.make(*desc);
    if (data) memcpy(x->buffer, data, bytes_of(x));
    *out = x;
  });
}

BurnStatus read(void *self, BurnPrimitive *x, void *data, uint64_t bytes) {
  return guard(instance(self)->host, name, [&] {
    if (bytes != bytes_of(x)) fail(BURN_STATUS_INVALID_ARGUMENT, bytes_of(x), " bytes, but ", bytes, " are read");
    if (bytes > 0) memcpy(data, x->buffer, bytes);
  });
}

void retain(void *, BurnPrimitive *x) { Memory::retain(x); }
void release(void *self, BurnPrimitive *x) { instance(self)->memory.release(x); }

// -- questions ------------------------------------------------------------------------------------------------------

uint32_t dtype_usage(void *, BurnDType dtype) {
  return burn_dtype_bytes(dtype) ? BURN_USAGE_STORE | BURN_USAGE_ARITHMETIC : 0;
}

BurnStatus query(void *self, uint32_t key, int64_t *out) {
  const Memory &memory = instance(self)->memory;
  return guard(instance(self)->host, name, [&] {
    switch (key) {
      case BURN_QUERY_BYTES_IN_USE:
      case BURN_QUERY_BYTES_RESERVED: *out = memory.live_bytes; break;
      case BURN_QUERY_BYTES_PEAK: *out = memory.peak_bytes; break;
      case BURN_QUERY_LIVE_TENSORS: *out = memory.live_tensors; break;
      default: fail(BURN_STATUS_NOT_FOUND, "there is no query ", key);
    }
  });
}

// -- the plugin -----------------------------------------------------------------------------------------------------

void close(void *self) {
  const BurnHost *host = instance(self)->host;
  instance(self)->~Instance();
  host->free(self, sizeof(Instance));
}

Kernel kernel_of(uint32_t op) {
  for (auto family : {create_kernel, elementwise_kernel, lines_kernel, moves_kernel, index_kernel, compute_kernel}) {
    if (Kernel kernel = family(op)) return kernel;
  }
  return nullptr;
}

void fill(BurnBackend *out, void *self) {
  out->self = self;
  out->name = name;
  out->close = close;
  out->op_support = op_support;
  out->submit = submit;
  out->create = create;
  out->read = read;
  out->retain = retain;
  out->release = release;
  out->dtype_usage = dtype_usage;
  out->query = query;
}

BurnStatus open(const BurnHost *host, uint32_t index, const BurnOptions *, uint32_t owner, BurnBackend *out) {
  const BurnStatus checked = burn_plugin_check_open(host, out, name);
  if (checked != BURN_OK) return checked;
  return guard(host, name, [&] {
    if (index != 0) fail(BURN_STATUS_NOT_FOUND, "there is no device ", index, ", only 0");
    void *room = host->allocate(sizeof(Instance));
    if (!room) fail(BURN_STATUS_OUT_OF_MEMORY, "no memory for an instance");
    Instance *me = new (room) Instance{host, {host, owner}, {}};
    for (uint32_t op = 0; op < BURN_OP_LIMIT; op++) me->kernels[op] = kernel_of(op);
    fill(out, me);
  });
}

// Score 1: it works everywhere and is nobody's first choice. CPU backends have about 100, GPU backends 1000 and more.
void probe(const BurnHost *, BurnProbe *out) {
  out->score = 1;
  strcpy(out->reason, "always here");
  burn_probe_add(out, 0, "any processor, one thread", 0);
}

const BurnBackendInterface backend_interface = {sizeof(BurnBackendInterface), 1, probe, open};
const BurnOptionsInterface options_interface = BURN_OPTIONS_INTERFACE(0, nullptr);

const void *get_interface(const char *wanted, uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (strcmp(wanted, BURN_OPTIONS_INTERFACE_NAME) == 0) return &options_interface;
  return strcmp(wanted, "burn.backend") == 0 ? &backend_interface : nullptr;
}

// In the order of the struct: C++17 has no designated initialisers.
const BurnPlugin plugin = {
    sizeof(BurnPlugin),
    BURN_ABI_MAJOR,
    BURN_ABI_MINOR,
    BURN_TARGET_MINOR,
    BURN_PLUGIN_BACKEND,
    0,
    name,
    "0.1.0",
    "MIT OR Apache-2.0",
    "every primitive op in C++; slow",
    get_interface,
};

}  // namespace
}  // namespace backend

BURN_PLUGIN_ENTRY(backend::plugin)
