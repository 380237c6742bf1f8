/* module_internal.h - what param.c, module.c and the records share: ids, buffer cells, the walk over a module. */
#ifndef BURN_CORE_MODULE_INTERNAL_H
#define BURN_CORE_MODULE_INTERNAL_H

#include <burn/quantizer.h>

/* A random id, never 0. */
uint64_t burn__param_id(void);

/* True if the tensor is a float tensor on a device with autodiff, so that it can be a tracked leaf. */
bool burn__is_trackable(const BurnTensor *x);

/* Takes a float tensor of a device with autodiff; the same values as a tracked leaf. */
BurnTensor *burn__as_leaf(BurnTensor *value);

uint64_t burn__buffer_id(const BurnBuffer *buffer);
void burn__buffer_set_id(const BurnBuffer *buffer, uint64_t id);
/* Ends the cell and its tensor; buffer->cell becomes NULL. */
void burn__buffer_release(BurnBuffer *buffer);

/* -- param_extra.c: what a parameter is beyond a plain tensor --------------------------------- */

typedef struct BurnObserver BurnObserver; /* calibration.c */
void burn__observer_release(BurnObserver *observer);

/* How the input of a layer with this weight is multiplied. */
typedef enum BurnParamInput {
  BURN_PARAM_INPUT_FLOAT = 0,
  BURN_PARAM_INPUT_DYNAMIC,
  BURN_PARAM_INPUT_FIXED
} BurnParamInput;

struct BurnParamExtra {
  bool is_quantized; /* the parameter's value has the quantized values, and these have the rest: */
  BurnQuantScheme scheme;
  BurnQuantParameters scales;
  BurnDType dtype; /* of the floats that they stand for */
  BurnParamInput input;
  BurnTensor *input_scale; /* [1] f32 of a FIXED one */
  BurnObserver *observer;  /* during a calibration */
  bool is_adapted;
  BurnParam a, b;    /* plain ones */
  double lora_scale; /* alpha / rank */
};

/* The extra of the parameter, made if it has none; NULL without memory. */
BurnParamExtra *burn__param_extra(BurnParam *param);
/* Ends all of it: what is left is `value`, as it is. */
void burn__param_extra_release(BurnParam *param);
static inline bool burn__param_is_quantized(const BurnParam *param) {
  return param->extra && param->extra->is_quantized;
}
static inline bool burn__param_is_adapted(const BurnParam *param) { return param->extra && param->extra->is_adapted; }

/* Takes q; the parameter keeps its id, adapter and observer. `dtype` is that of the floats. Without memory the value is
 * a failed tensor. */
void burn__param_quantize(BurnParam *param, BurnQuantTensor q, BurnDType dtype);
/* Takes a value, which the parameter has in the place of its own, plain; the adapter stays. */
void burn__param_replace(BurnParam *param, BurnTensor *value);
/* The values as floats; the adapter stays. */
void burn__param_dequantize(BurnParam *param);
/* Takes a scale [1] f32, or NULL for the range of each batch. The parameter is quantized. */
void burn__param_set_input(BurnParam *param, BurnTensor *scale);

/* Gives the parameter of a copied struct an extra of its own: `each` takes a clone of every tensor that is not
 * a parameter. The factors of the adapter are not copied yet: the walk meets them after it. */
typedef BurnTensor *(*BurnTensorFunction)(void *context, BurnTensor *x);
void burn__param_extra_copy(BurnParam *param, BurnTensorFunction each, void *context);
/* Replaces those tensors: `each` takes them. */
void burn__param_extra_map(BurnParam *param, BurnTensorFunction each, void *context);
BurnStatus burn__param_status(const BurnParam *param);

/* True if this is a factor of an adapter. */
bool burn__is_factor(const BurnModuleTensor *tensor);
/* What a tensor of a module has stored, as a clone; NULL if absent. */
BurnTensor *burn__stored(const BurnModuleTensor *tensor);
/* Its elements if they are floats or stand for floats, else 0. */
int64_t burn__float_count(const BurnModuleTensor *tensor);

/* The path as a text that stays for the life of the process; NULL without memory for it. */
const char *burn__path_kept(const char *path);
/* Stores a value as it is. Parameters belong to no scope. */
static inline void burn__param_store(BurnParam *param, BurnTensor *value) {
  param->value = burn_scope_keep(NULL, value);
}

/* Bytes of a path, terminator included. */
enum { BURN_MODULE_PATH_BYTES = 1024 };

/* The one walk over a module, in row order. It writes the paths of the parameters into them, if they stay. */
typedef struct BurnModuleWalk {
  void *context;
  bool ends;        /* the parameters need no names any more */
  bool needs_paths; /* a path that does not fit ends the walk with a failure; else it is cut */
  /* Every parameter and buffer, absent ones too. */
  BurnStatus (*tensor)(void *context, const BurnModuleTensor *tensor);
  /* Every constant that is present; may be NULL. */
  BurnStatus (*constant)(void *context, const char *path, BurnConstant *constant);
  /* Every list, before and after its items; may be NULL. An option is a list of one or none here. */
  BurnStatus (*list_begin)(void *context, const char *path, BurnModuleList *list);
  void (*list_end)(void *context, BurnModuleList *list);
} BurnModuleWalk;
/* INVALID_ARGUMENT for one that is NULL: also what a walk over it says. */
BurnStatus burn__module_check(BurnModule module);
BurnStatus burn__module_walk(BurnModule module, const BurnModuleWalk *walk);
/* A walk that does nothing else. */
void burn__module_name_params(BurnModule module);

/* True if the type has a place for tensors: a parameter, a buffer, a constant, a list, an option or a variant of
 * modules, at any depth. */
bool burn__type_has_tensors(const BurnType *type);

/* The case that a variant of modules is: its name, type and offset. NULL if its number is none. */
const BurnField *burn__module_case(const BurnType *type, const void *data);

#endif
