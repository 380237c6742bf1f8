/* module_internal.h - what param.c, module.c and the records share: ids, buffer cells, the walk over a module. */
#ifndef BURN_CORE_MODULE_INTERNAL_H
#define BURN_CORE_MODULE_INTERNAL_H

#include <burn/module.h>

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
BurnStatus burn__module_walk(BurnModule module, const BurnModuleWalk *walk);
/* A walk that does nothing else. */
void burn__module_name_params(BurnModule module);

/* True if the type has a place for tensors: a parameter, a buffer, a constant, a list, an option or a variant of
 * modules, at any depth. */
bool burn__type_has_tensors(const BurnType *type);

/* The case that a variant of modules is: its name, type and offset. NULL if its number is none. */
const BurnField *burn__module_case(const BurnType *type, const void *data);

#endif
