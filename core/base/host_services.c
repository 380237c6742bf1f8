/* host_services.c - the interfaces of burn/plugin/services.h: inline functions of the plugin headers as functions. */
#include "core_internal.h"

#include <burn/plugin/random.h>
#include <burn/plugin/services.h>

#include <stdlib.h>
#include <string.h>

static void BURN_API_CALL random_words(uint64_t seed, uint64_t offset, uint64_t first, uint64_t count,
                                       uint32_t *words) {
  for (uint64_t i = 0; i < count; i++) words[i] = burn_random_word(seed, offset, first + i);
}

static const BurnRandomInterface random_interface = {sizeof random_interface, 1, random_words};

static struct BurnBuilder *BURN_API_CALL builder_begin(const BurnBackend *backend, const BurnOpCall *call) {
  BurnBuilder *builder = malloc(sizeof *builder);
  if (!builder) return NULL;
  *builder = call ? burn_builder_begin_for(burn__host(), backend, call) : burn_builder_begin(burn__host(), backend);
  return builder;
}

static void BURN_API_CALL builder_call(struct BurnBuilder *builder, uint32_t op, uint32_t input_count,
                                       BurnPrimitive *const *inputs, uint32_t attr_count, const BurnAttr *attrs,
                                       uint32_t output_count, BurnPrimitive **out) {
  for (uint32_t i = 0; i < output_count; i++) out[i] = NULL;
  if (builder) burn_build_call(builder, op, input_count, inputs, attr_count, attrs, output_count, out);
}

static BurnPrimitive *BURN_API_CALL builder_last_use(struct BurnBuilder *builder, BurnPrimitive *x) {
  return builder ? burn_build_last_use(builder, x) : NULL;
}

static void BURN_API_CALL builder_fail(struct BurnBuilder *builder, BurnStatus status) {
  if (builder) burn_builder_fail(builder, status);
}

static BurnStatus BURN_API_CALL builder_finish(struct BurnBuilder *builder, const BurnOpCall *call,
                                               BurnPrimitive *const *results) {
  if (!builder) return BURN_FAIL(OUT_OF_MEMORY, "no memory for a builder");
  const BurnStatus status = call ? burn_builder_finish(builder, call, results) : burn_builder_end(builder);
  free(builder);
  return status;
}

static const BurnBuilderInterface builder_interface = {
    sizeof builder_interface, 1, builder_begin, builder_call, builder_last_use, builder_fail, builder_finish};

const void *burn__host_interface(const char *name, uint32_t min_version) {
  static const struct {
    const char *name;
    const void *table;
    uint32_t version;
  } interfaces[] = {{BURN_RANDOM_INTERFACE_NAME, &random_interface, 1},
                    {BURN_BUILDER_INTERFACE_NAME, &builder_interface, 1}};
  for (size_t i = 0; i < sizeof interfaces / sizeof interfaces[0]; i++) {
    if (strcmp(interfaces[i].name, name) == 0 && min_version <= interfaces[i].version) return interfaces[i].table;
  }
  return NULL;
}
