/* param_group.h - some parameters of a module, by their paths or ids: what an optimizer updates in its own way
 * (burn/train/optimizer.h), what is quantized (quantizer.h), what gets an adapter (lora.h). */
#ifndef BURN_PARAM_GROUP_H
#define BURN_PARAM_GROUP_H

#include <burn/module.h>

BURN_EXTERN_C_BEGIN

/* Some parameters of a module: those that one of the tests finds, and all where there is no test; without those of
 * `excludes`. Lists end with NULL. */
typedef struct BurnParamGroup {
  const char *const *paths;     /* exactly these: "fc1.weight" */
  const char *const *parts;     /* paths that have every one of these in them: "blocks.", "weight" */
  const char *const *any_parts; /* paths that have one of these in them */
  const uint64_t *ids;          /* these parameters; */
  size_t id_count;              /* so many */
  bool (*matches)(void *context, const char *path, uint64_t id); /* a test of your own */
  void *context;
  const struct BurnParamGroup *excludes;
} BurnParamGroup;

/* True if the parameter with this path and id is one of the group; a group that is NULL has all. */
BURN_API bool burn_param_group_has(const BurnParamGroup *group, const char *path, uint64_t id);

/* BURN_OK if the module has all paths and ids that the group (and what it excludes) names, else INVALID_ARGUMENT:
 * "<who>: a group has the parameter fc3.bias, which Mlp has not". */
BURN_API BURN_USE_RESULT BurnStatus burn_param_group_check(const BurnParamGroup *group, BurnModule module,
                                                           const char *who);

BURN_EXTERN_C_END

#endif
