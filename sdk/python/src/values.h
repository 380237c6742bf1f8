/* values.h - what the files here have for each other: objects from memory, memory from objects. Functions that
 * return false have set a Python exception. `keep` holds what the memory points at: the list of a call, the dict of a
 * struct, or NULL for a struct in C's memory. */
#ifndef BURN_PYTHON_VALUES_H
#define BURN_PYTHON_VALUES_H

#include "runtime.h"

extern PyObject *handle_base, *struct_base;
extern HandleInfo *const tensor_info, *const device_info; /* of the generated table */

bool handle_check(PyObject *object);
bool struct_check(PyObject *object);
bool handle_pointer(PyObject *object, const HandleInfo *info, void **out);
/* False if what it was borrowed from has been closed. */
bool struct_data(PyObject *object, void **out);
PyObject *struct_contents(PyObject *object);
/* Something more that is held for as long as the struct, or the one that it lies in. */
bool struct_hold(PyObject *object, PyObject *held);
const StructInfo *struct_info(PyObject *type);

/* Memory that a Python object stands for. */
typedef struct Memory {
  void *address;
  size_t bytes; /* SIZE_MAX: not known */
  bool read_only;
} Memory;
bool memory_of(PyObject *value, Memory *out, PyObject *keep);
void forget_value(const StructInfo *info, void *value);

PyObject *read_number(Kind kind, const void *at);
PyObject *read_item(Kind kind, const void *what, const void *at, PyObject *owner);
bool write_fixed_text(char *at, size_t bytes, PyObject *value);
bool write_number(Kind kind, void *at, PyObject *value);
bool write_item(Kind kind, const void *what, void *at, PyObject *value, PyObject *keep);
bool write_struct(const StructInfo *info, void *at, PyObject *value, PyObject *keep);
bool write_list(const StructInfo *info, void *at, PyObject *values, PyObject *keep);

/* The exception that a callback has left, as that of the call. */
void raise_pending(void);

bool add_types(PyObject *module);

extern PyMethodDef memory_methods[], dlpack_methods[]; /* of memory.c, capsules.c */

#endif
