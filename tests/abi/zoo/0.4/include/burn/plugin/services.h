/* services.h - what the headers have as inline functions, as functions of the host: for plugins in languages that
 * cannot compile C.
 *
 * host->get_interface(name, 1) returns these tables, which live as long as the process. C and C++ plugins use the
 * inline functions (random.h, build.h), which do the same. What else is inline: facts of dtypes are host->dtype_info,
 * and what a decorator leaves out of its table the host does. */
#ifndef BURN_PLUGIN_SERVICES_H
#define BURN_PLUGIN_SERVICES_H

#include <burn/plugin/backend.h>

/* Interface "burn.random", version 1: the generator of random.h. */
#define BURN_RANDOM_INTERFACE_NAME "burn.random"
typedef struct BurnRandomInterface {
  uint32_t struct_size;
  uint32_t version;
  /* words[i] becomes the word of element first + i of a random op with this seed and offset, for i < count. */
  void(BURN_API_CALL *words)(uint64_t seed, uint64_t offset, uint64_t first, uint64_t count, uint32_t *words);
} BurnRandomInterface;
#define BURN_RANDOM_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnRandomInterface, words)

/* Interface "burn.builder", version 1: ops written with other ops, as build.h does it. Results are borrowed from the
 * builder, which releases them when it ends; the first failure sticks, later calls give NULL. */
#define BURN_BUILDER_INTERFACE_NAME "burn.builder"
struct BurnBuilder;
typedef struct BurnBuilderInterface {
  uint32_t struct_size;
  uint32_t version;
  /* A builder that runs calls on `backend`, with the flags of `call` and as parts of it (NULL is allowed: no flags, no
   * origin). NULL without memory; every other function takes such a NULL as a builder that failed. */
  struct BurnBuilder *(BURN_API_CALL *begin)(const BurnBackend *backend, const BurnOpCall *call);
  /* One op; its results are written to out [output_count], NULL after a failure. */
  void(BURN_API_CALL *call)(struct BurnBuilder *builder, uint32_t op, uint32_t input_count,
                            BurnPrimitive *const *inputs, uint32_t attr_count, const BurnAttr *attrs,
                            uint32_t output_count, BurnPrimitive **out);
  /* The next call with x among its inputs may write into the storage of x; see burn_build_last_use. Returns x. */
  BurnPrimitive *(BURN_API_CALL *last_use)(struct BurnBuilder *builder, BurnPrimitive *x);
  /* Records a failure; the first one wins. */
  void(BURN_API_CALL *fail)(struct BurnBuilder *builder, BurnStatus status);
  /* Ends the builder: gives `results` [call->output_count] out as the outputs of `call`, all or none. Returns the first
   * failure. Without a call (NULL) nothing is given out. */
  BurnStatus(BURN_API_CALL *finish)(struct BurnBuilder *builder, const BurnOpCall *call, BurnPrimitive *const *results);
} BurnBuilderInterface;
#define BURN_BUILDER_INTERFACE_MIN_BYTES BURN_BYTES_THROUGH(BurnBuilderInterface, finish)

#endif
