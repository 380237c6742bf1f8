/* memory.c - numbers of C as those of Python and back, texts in place, and objects of Python that are memory for C. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* -- numbers ---------------------------------------------------------------------------------- */

PyObject *read_number(Kind kind, const void *at) {
  switch (kind) {
    case KIND_BOOL:
      return PyBool_FromLong(*(const bool *)at);
    case KIND_I8:
      return PyLong_FromLong(*(const int8_t *)at);
    case KIND_I16:
      return PyLong_FromLong(*(const int16_t *)at);
    case KIND_I32:
      return PyLong_FromLong(*(const int32_t *)at);
    case KIND_I64:
      return PyLong_FromLongLong(*(const int64_t *)at);
    case KIND_U8:
      return PyLong_FromLong(*(const uint8_t *)at);
    case KIND_U16:
      return PyLong_FromLong(*(const uint16_t *)at);
    case KIND_U32:
      return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case KIND_U64:
      return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case KIND_F32:
      return PyFloat_FromDouble((double)*(const float *)at);
    default:
      return PyFloat_FromDouble(*(const double *)at);
  }
}

bool write_number(Kind kind, void *at, PyObject *value) {
  if (kind == KIND_F32 || kind == KIND_F64) {
    const double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) return false;
    if (kind == KIND_F32) {
      *(float *)at = (float)number;
    } else {
      *(double *)at = number;
    }
    return true;
  }
  if (kind == KIND_BOOL) {
    const int truth = PyObject_IsTrue(value);
    *(bool *)at = truth > 0;
    return truth >= 0;
  }
  static const int bits[] = {[KIND_I8] = 8, [KIND_I16] = 16, [KIND_I32] = 32, [KIND_I64] = 64,
                             [KIND_U8] = 8, [KIND_U16] = 16, [KIND_U32] = 32, [KIND_U64] = 64};
  const bool is_signed = kind <= KIND_I64;
  PyObject *number = PyNumber_Index(value);
  if (!number) return false;
  uint64_t word = 0;
  bool fits = true;
  if (is_signed) {
    const int64_t signed_word = PyLong_AsLongLong(number);
    const int64_t high = bits[kind] == 64 ? INT64_MAX : ((int64_t)1 << (bits[kind] - 1)) - 1;
    fits = signed_word <= high && signed_word >= -high - 1;
    word = (uint64_t)signed_word;
  } else {
    word = PyLong_AsUnsignedLongLong(number);
    fits = bits[kind] == 64 || word >> bits[kind] == 0;
  }
  Py_DECREF(number);
  if (PyErr_Occurred()) return false;
  if (!fits) PyErr_Format(PyExc_OverflowError, "%R does not fit %d bits", value, bits[kind]);
  memcpy(at, &word, (size_t)bits[kind] / 8); /* little-endian, as all systems that CPython has wheels for */
  return fits;
}

bool write_fixed_text(char *at, size_t bytes, PyObject *value) {
  PyObject *encoded = PyUnicode_AsUTF8String(value);
  if (!encoded) return false;
  const size_t length = (size_t)PyBytes_Size(encoded);
  const bool fits = length < bytes;
  if (fits) {
    memset(at, 0, bytes);
    memcpy(at, PyBytes_AsString(encoded), length);
  } else {
    PyErr_Format(PyExc_ValueError, "a text of %zu bytes does not fit %zu", length, bytes - 1);
  }
  Py_DECREF(encoded);
  return fits;
}

/* -- memory ----------------------------------------------------------------------------------- */

/* How many bytes an array has, SIZE_MAX if it does not say. */
static size_t array_bytes(PyObject *interface) {
  PyObject *shape = PyDict_GetItemString(interface, "shape"), *type = PyDict_GetItemString(interface, "typestr");
  if (!shape || !PyTuple_Check(shape) || !type || !PyUnicode_Check(type)) return SIZE_MAX;
  PyObject *letters = PyUnicode_AsASCIIString(type); /* "<f4" */
  size_t bytes = letters && PyBytes_Size(letters) > 2 ? strtoul(PyBytes_AsString(letters) + 2, NULL, 10) : SIZE_MAX;
  Py_XDECREF(letters);
  for (Py_ssize_t i = 0; i < PyTuple_Size(shape) && bytes != SIZE_MAX && !PyErr_Occurred(); i++) {
    const size_t size = PyLong_AsSize_t(PyTuple_GetItem(shape, i));
    bytes = size && bytes > SIZE_MAX / size ? SIZE_MAX : bytes * size;
  }
  return bytes;
}

/* NumPy's and similar arrays, whose elements lie one after the other. */
static bool array_memory(PyObject *value, Memory *out) {
  PyObject *interface = PyObject_GetAttrString(value, "__array_interface__");
  if (!interface) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "an address is expected (int, bytes, bytearray, array or None), not %R",
                 (PyObject *)Py_TYPE(value));
    return false;
  }
  PyObject *data = PyDict_Check(interface) ? PyDict_GetItemString(interface, "data") : NULL;
  const bool has_address = data && PyTuple_Check(data) && PyTuple_Size(data) == 2;
  PyObject *strides = has_address ? PyDict_GetItemString(interface, "strides") : NULL;
  if (!has_address) {
    PyErr_SetString(PyExc_TypeError, "the array has no address");
  } else if (strides && strides != Py_None) {
    PyErr_SetString(PyExc_ValueError, "the array is not contiguous: numpy.ascontiguousarray makes one that is");
  } else {
    out->address = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
    out->read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1)) != 0;
    out->bytes = array_bytes(interface);
  }
  Py_DECREF(interface);
  return !PyErr_Occurred();
}

/* A bytearray keeps its size as long as there is a memoryview of it. */
static bool bytearray_memory(PyObject *value, Memory *out, PyObject *keep) {
  PyObject *view = PyMemoryView_FromObject(value);
  out->address = PyByteArray_AsString(value);
  out->bytes = (size_t)PyByteArray_Size(value);
  const bool done = view && (!keep || PyList_Append(keep, view) == 0);
  Py_XDECREF(view);
  return done;
}

bool memory_of(PyObject *value, Memory *out, PyObject *keep) {
  *out = (Memory){.bytes = SIZE_MAX};
  if (value == Py_None) return true;
  if (PyLong_Check(value)) {
    out->address = PyLong_AsVoidPtr(value);
    return !PyErr_Occurred();
  }
  if (PyByteArray_Check(value)) return bytearray_memory(value, out, keep);
  if (PyBytes_Check(value)) {
    *out = (Memory){PyBytes_AsString(value), (size_t)PyBytes_Size(value), true};
    return true;
  }
  if (struct_check(value)) return struct_data(value, &out->address);
  if (handle_check(value)) out->address = ((Handle *)value)->pointer;
  return out->address || array_memory(value, out);
}

/* -- memory for Python ------------------------------------------------------------------------ */

/* bytes_at(address, count) */
static PyObject *bytes_at(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long address;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(arguments, "Kn", &address, &count)) return NULL;
  return PyBytes_FromStringAndSize((const char *)(uintptr_t)address, count);
}

/* copy_to(address, what has an address, count) */
static PyObject *copy_to(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long address;
  PyObject *source;
  Py_ssize_t count;
  Memory from;
  if (!PyArg_ParseTuple(arguments, "KOn", &address, &source, &count) || !memory_of(source, &from, NULL)) return NULL;
  if (count < 0 || from.bytes < (size_t)count) {
    return PyErr_Format(PyExc_ValueError, "%zd bytes are wanted, there are %zu", count, from.bytes);
  }
  if (count) memcpy((void *)(uintptr_t)address, from.address, (size_t)count);
  Py_RETURN_NONE;
}

/* free(address): what C gives as memory of malloc. */
static PyObject *free_memory(PyObject *module, PyObject *arguments) {
  (void)module;
  unsigned long long address;
  if (!PyArg_ParseTuple(arguments, "K", &address)) return NULL;
  free((void *)(uintptr_t)address);
  Py_RETURN_NONE;
}

PyMethodDef memory_methods[] = {
    {"bytes_at", bytes_at, METH_VARARGS, "bytes_at(address, count): a copy of memory"},
    {"copy_to", copy_to, METH_VARARGS, "copy_to(address, source, count): writes memory"},
    {"free", free_memory, METH_VARARGS, "free(address): frees what C gave as memory of malloc"},
    {NULL, NULL, 0, NULL}};
