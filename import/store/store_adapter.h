/* store_adapter.h - what PyTorch calls the tensors of a module. */
#ifndef BURN_IMPORT_STORE_ADAPTER_H
#define BURN_IMPORT_STORE_ADAPTER_H

#include <burn/module.h>

/* The path without the cases of variants: "norm.gamma" for "norm.Batch.gamma"; malloc'd, NULL without memory. */
char *burn__store_plain_path(BurnModule module, const char *path);

/* PyTorch's name of the tensor's field, "weight" of a norm's gamma; NULL where it is the same. */
const char *burn__store_torch_field(const BurnModuleTensor *tensor);

/* A path with another last step; malloc'd, NULL without memory. */
char *burn__store_with_field(const char *path, const char *field);

/* Whether the tensor is [in, out] here and [out, in] there: the weight of a Linear. */
bool burn__store_is_transposed(const BurnModuleTensor *tensor);

/* Whether a tensor of PyTorch's has no place in any module here. */
bool burn__store_is_torch_only(const char *name);

#endif
