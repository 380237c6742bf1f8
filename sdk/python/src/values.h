/* values.h - what values.c has for calls.c and capsules.c: objects from memory, memory from objects. Functions that
 * return false have set a Python exception. `keep` is a list or dict that holds what the memory points at. */
#ifndef BURN_PYTHON_VALUES_H
#define BURN_PYTHON_VALUES_H

#include "runtime.h"

extern PyObject *handle_base, *struct_base;
extern HandleInfo *const tensor_info, *const device_info; /* of the generated table */

bool handle_check(PyObject *object);
bool struct_check(PyObject *object);
bool handle_pointer(PyObject *object, const HandleInfo *info, void **out);
bool address_of(PyObject *value, void **out);
void forget_value(const StructInfo *info, void *value);

PyObject *read_item(Kind kind, const void *what, const void *at, PyObject *owner);
bool write_number(Kind kind, void *at, PyObject *value);
bool write_item(Kind kind, const void *what, void *at, PyObject *value, PyObject *keep);
bool write_struct(const StructInfo *info, void *at, PyObject *value, PyObject *keep);
bool write_list(const StructInfo *info, void *at, PyObject *values, PyObject *keep);

bool add_types(PyObject *module);

extern PyMethodDef dlpack_methods[]; /* capsules.c */

#endif
