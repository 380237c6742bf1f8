/* capsules.c - tensors as DLPack's capsules, of both versions, and capsules of others as tensors. */
#include "values.h"

#include <stdlib.h>

static const char new_name[] = "dltensor_versioned", old_name[] = "dltensor";

static void end_new(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, new_name)) return; /* a consumer has it */
  BurnDlpackManaged *shared = PyCapsule_GetPointer(capsule, new_name);
  if (shared->deleter) shared->deleter((struct DLManagedTensorVersioned *)shared);
}

/* The struct of DLPack 0 around a new one. */
typedef struct OldTensor {
  BurnDlpackUnversioned tensor;
  BurnDlpackManaged *shared;
} OldTensor;

static void delete_old(struct DLManagedTensor *tensor) {
  OldTensor *old = (OldTensor *)tensor;
  if (old->shared->deleter) old->shared->deleter((struct DLManagedTensorVersioned *)old->shared);
  free(old);
}

static void end_old(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, old_name)) return;
  BurnDlpackUnversioned *shared = PyCapsule_GetPointer(capsule, old_name);
  shared->deleter((struct DLManagedTensor *)shared);
}

static PyObject *old_capsule(BurnDlpackManaged *shared) {
  OldTensor *old = calloc(1, sizeof *old);
  if (!old) {
    shared->deleter((struct DLManagedTensorVersioned *)shared);
    return PyErr_NoMemory();
  }
  old->shared = shared;
  old->tensor.tensor = shared->tensor;
  old->tensor.manager_ctx = old;
  old->tensor.deleter = delete_old;
  return PyCapsule_New(old, old_name, end_old);
}

/* dlpack_capsule(tensor, stream or None, versioned) */
static PyObject *dlpack_capsule(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor, *stream;
  int versioned;
  void *pointer;
  if (!PyArg_ParseTuple(arguments, "OOp", &tensor, &stream, &versioned)) return NULL;
  if (!handle_pointer(tensor, tensor_info, &pointer)) return NULL;
  struct DLManagedTensorVersioned *shared = NULL;
  const int64_t number = stream == Py_None ? 0 : PyLong_AsLongLong(stream);
  if (PyErr_Occurred()) return NULL;
  const BurnStatus status = stream == Py_None ? burn_to_dlpack(burn_clone(pointer), &shared)
                                              : burn_to_dlpack_on(burn_clone(pointer), number, &shared);
  if (status != BURN_OK) return result_status(status);
  BurnDlpackManaged *ours = (BurnDlpackManaged *)shared;
  return versioned ? PyCapsule_New(ours, new_name, end_new) : old_capsule(ours);
}

/* dlpack_device(tensor): DLPack's (type, number) of the memory. */
static PyObject *dlpack_device(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *tensor;
  void *pointer;
  if (!PyArg_ParseTuple(arguments, "O", &tensor) || !handle_pointer(tensor, tensor_info, &pointer)) return NULL;
  struct DLManagedTensorVersioned *shared = NULL;
  const BurnStatus status = burn_to_dlpack(burn_clone(pointer), &shared);
  if (status != BURN_OK) return result_status(status);
  const BurnDlpackManaged *ours = (BurnDlpackManaged *)shared;
  PyObject *result = Py_BuildValue("(ii)", (int)ours->tensor.device_type, (int)ours->tensor.device_id);
  if (ours->deleter) ours->deleter(shared);
  return result;
}

/* from_dlpack_capsule(capsule, device) */
static PyObject *from_dlpack_capsule(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *capsule, *device;
  void *pointer;
  if (!PyArg_ParseTuple(arguments, "OO", &capsule, &device)) return NULL;
  if (!handle_pointer(device, device_info, &pointer)) return NULL;
  const bool versioned = PyCapsule_IsValid(capsule, new_name) != 0;
  void *shared = PyCapsule_GetPointer(capsule, versioned ? new_name : old_name);
  if (!shared || PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") != 0) return NULL;
  return result_tensor(versioned ? burn_from_dlpack(shared, pointer) : burn_from_dlpack_unversioned(shared, pointer));
}

PyMethodDef dlpack_methods[] = {
    {"dlpack_capsule", dlpack_capsule, METH_VARARGS, "dlpack_capsule(tensor, stream, versioned): a capsule of DLPack"},
    {"dlpack_device", dlpack_device, METH_VARARGS, "dlpack_device(tensor): DLPack's (type, number) of its memory"},
    {"from_dlpack_capsule", from_dlpack_capsule, METH_VARARGS, "from_dlpack_capsule(capsule, device): a tensor"},
    {NULL, NULL, 0, NULL}};
