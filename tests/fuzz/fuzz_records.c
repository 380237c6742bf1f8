/* fuzz_records.c - record files, .mpk and .mpk.gz: into a module (all or nothing), as a tree of values, and written and
 * read again.
 *
 * Input: a byte that says how the file is compressed, then the file. */
#include "fuzz_target.h"

#include <burn/nn.h>

#define NET_FIELDS(X)                    \
  X(BurnLinear, linear, "3 -> 2")        \
  X(BurnBatchNorm, norm, "2 channels")   \
  X(BurnModuleList, list, "two linears") \
  X(BurnSize, width, "a constant")
BURN_MODULE(Net, NET_FIELDS);

enum { NET_FLOATS = 64 };
typedef struct Weights {
  float values[NET_FLOATS];
  size_t count;
} Weights;

static Net net_make(BurnDevice *device) {
  const BurnLinearConfig linear = BurnLinearConfig_defaults(3, 2);
  const BurnBatchNormConfig norm = BurnBatchNormConfig_defaults(2);
  Net net = {burn_linear_init(&linear, device), burn_batch_norm_init(&norm, device),
             burn_module_list(BurnLinear_type(), 2), 7};
  for (size_t i = 0; i < net.list.count; i++)
    *(BurnLinear *)burn_module_list_at(&net.list, i) = burn_linear_init(&linear, device);
  return net;
}

static BurnStatus weights_add(void *context, const BurnModuleTensor *tensor) {
  Weights *weights = context;
  BurnTensor *value = tensor->param ? burn_param_value(tensor->param) : burn_buffer_value(tensor->buffer);
  const size_t count = (size_t)burn_element_count(value);
  FUZZ_REQUIRE(weights->count + count <= NET_FLOATS, "%s has grown to %zu elements", tensor->path, count);
  const BurnStatus status = burn_read_f32(value, weights->values + weights->count, count);
  weights->count += count;
  return status;
}

static Weights weights_of(Net *net) {
  Weights weights = {{0}, 0};
  FUZZ_REQUIRE(fuzz_ok(burn_module_visit(burn_module(Net, net), weights_add, &weights)),
               "a module cannot be read any more");
  return weights;
}

/* Loads or refuses; after a refusal the module is as it was. */
static void into_module(BurnStatus (*load)(BurnModule module, const void *from, const BurnRecordConfig *config),
                        const void *from, const BurnRecordConfig *config) {
  Net net = net_make(fuzz_device("ndarray"));
  const Weights before = weights_of(&net);
  const bool loaded = fuzz_ok(load(burn_module(Net, &net), from, config));
  const Weights after = weights_of(&net);
  FUZZ_REQUIRE(loaded || memcmp(&before, &after, sizeof before) == 0, "a refused record changed the module");
  Net_release(&net);
}

static BurnStatus load_file(BurnModule module, const void *path, const BurnRecordConfig *config) {
  return burn_record_load(module, path, config);
}

static BurnStatus load_value(BurnModule module, const void *value, const BurnRecordConfig *config) {
  (void)config;
  return burn_value_into_module(value, module);
}

/* What could be read can be written, and reads the same again. */
static void there_and_back(const BurnValue *value, const BurnRecordConfig *config) {
  const char *names[] = {"first", "second"};
  const char *files[] = {config->format == BURN_RECORD_MPK ? "first.mpk" : "first.mpk.gz",
                         config->format == BURN_RECORD_MPK ? "second.mpk" : "second.mpk.gz"};
  BurnValue *again = NULL;
  size_t count[2];
  const BurnStatus written = burn_value_write(value, names[0], config);
  const bool is_narrow = config->precision != BURN_PRECISION_DOUBLE;
  if (is_narrow && burn_status_code(written) == BURN_STATUS_OUT_OF_RANGE) return; /* a number does not fit */
  FUZZ_REQUIRE(fuzz_ok(written), "what was read cannot be written: %s", burn_status_message(written));
  FUZZ_REQUIRE(fuzz_ok(burn_value_read(names[0], config, &again)), "what was written cannot be read");
  FUZZ_REQUIRE(fuzz_ok(burn_value_write(again, names[1], config)), "what was read again cannot be written");
  uint8_t *first = fuzz_file_read(files[0], &count[0]), *second = fuzz_file_read(files[1], &count[1]);
  FUZZ_REQUIRE(count[0] == count[1] && memcmp(first, second, count[0]) == 0,
               "a record changes when it is written again");
  free(first);
  free(second);
  burn_value_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  enum { PLAIN, GZIP, GZIP_OF_OURS, KINDS };
  FuzzInput input = {bytes, count};
  const uint8_t how = fuzz_byte(&input);
  const uint32_t kind = how % KINDS;
  const BurnRecordConfig config = {kind == PLAIN ? BURN_RECORD_MPK : BURN_RECORD_MPK_GZ, how / KINDS % 3};
  const char *name = kind == PLAIN ? "record.mpk" : "record.mpk.gz";
  fuzz_scratch_clear();
  if (kind == GZIP_OF_OURS)
    fuzz_file_write_gzip(name, input);
  else
    fuzz_file_write(name, input);
  into_module(load_file, "record", &config);
  BurnValue *value = NULL;
  if (fuzz_ok(burn_value_read("record", &config, &value))) {
    into_module(load_value, value, &config);
    there_and_back(value, &config);
  } else {
    FUZZ_REQUIRE(!value, "a failed read leaves a value");
  }
  burn_value_destroy(value);
  return 0;
}
