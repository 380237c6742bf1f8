/* callbacks.c - functions of Python that C calls: their results, and what they raise. */
#include "values.h"

#include <stdarg.h>
#include <string.h>

static PyObject *pending_type, *pending_value, *pending_traceback; /* what a callback has raised */

bool burn_python_pending(void) { return pending_type != NULL; }

void raise_pending(void) {
  PyErr_Clear();
  PyErr_Restore(pending_type, pending_value, pending_traceback);
  pending_type = pending_value = pending_traceback = NULL;
}

/* Keeps the first exception for the call that led here. */
static void leave_pending(void) {
  if (pending_type || !PyErr_Occurred()) {
    PyErr_Clear();
    return;
  }
  PyErr_Fetch(&pending_type, &pending_value, &pending_traceback);
}

PyObject *call_back(const void *context, const char *field, int count, ...) {
  PyObject *object = (PyObject *)(uintptr_t)context;
  PyObject *arguments = PyTuple_New(count);
  va_list list;
  va_start(list, count);
  bool bad = !arguments;
  for (int i = 0; i < count; i++) {
    PyObject *argument = va_arg(list, PyObject *);
    if (!arguments) Py_XDECREF(argument);
    bad = !argument || !arguments || PyTuple_SetItem(arguments, i, argument) != 0 || bad;
  }
  va_end(list);
  PyObject *function = NULL;
  if (!bad && !object) {
    PyErr_SetString(PyExc_TypeError, "a function of Python is called, but its context is None");
    bad = true;
  }
  if (!bad && field) function = PyObject_GetAttrString(object, field);
  PyObject *result = bad || (field && !function) ? NULL : PyObject_CallObject(field ? function : object, arguments);
  Py_XDECREF(function);
  Py_XDECREF(arguments);
  if (!result) leave_pending();
  return result;
}

BurnStatus callback_status(void) {
  if (!pending_type) return BURN_OK;
  return burn_status_make(BURN_STATUS_CANCELLED, "a Python function has raised an exception");
}

double callback_double(PyObject *value) {
  const double number = value ? PyFloat_AsDouble(value) : 0;
  if (PyErr_Occurred()) leave_pending();
  return number;
}

int64_t callback_integer(PyObject *value) {
  const int64_t number = value && value != Py_None ? PyLong_AsLongLong(value) : 0;
  if (PyErr_Occurred()) leave_pending();
  return number;
}

bool callback_bool(PyObject *value) {
  const int truth = value ? PyObject_IsTrue(value) : 0;
  if (truth < 0) leave_pending();
  return truth > 0;
}

BurnTensor *callback_tensor(PyObject *value) {
  void *pointer = NULL;
  if (value && !handle_pointer(value, tensor_info, &pointer)) leave_pending();
  return pointer ? burn_clone(pointer) : burn_tensor_failed(callback_status());
}

static PyObject *interned; /* texts that callbacks have given: C may look at them for as long as the process lives */

static bool intern_text(const char **text) {
  PyObject *bytes = PyBytes_FromString(*text);
  if (!interned) interned = PyDict_New();
  PyObject *one = bytes && interned ? PyDict_GetItem(interned, bytes) : NULL;
  if (bytes && interned && !one && PyDict_SetItem(interned, bytes, bytes) == 0) one = bytes;
  if (one) *text = PyBytes_AsString(one);
  Py_XDECREF(bytes);
  return one != NULL;
}

/* Gives the texts of a struct memory that is never freed, one for each text. */
static bool intern_texts(const StructInfo *info, void *data) {
  for (size_t i = 0; i < info->member_count; i++) {
    const Member *member = &info->members[i];
    const char **texts = (const char **)(void *)((char *)data + member->offset);
    for (size_t k = 0; member->kind == KIND_STRING && k < (member->count ? member->count : 1); k++) {
      if (texts[k] && !intern_text(&texts[k])) return false;
    }
  }
  return true;
}

void callback_value(PyObject *value, const StructInfo *info, void *out) {
  PyObject *keep = PyList_New(0);
  memset(out, 0, info->bytes);
  if (value && keep && !(write_struct(info, out, value, keep) && intern_texts(info, out))) leave_pending();
  if (pending_type) {
    memset(out, 0, info->bytes);
  } else if (value) {
    take_value(info, out);
  }
  Py_XDECREF(keep);
}

PyObject *callback_list(Kind kind, const void *what, size_t bytes, const void *items, size_t count) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *item = read_item(kind, what, (const char *)items + i * bytes, NULL);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  return list;
}
