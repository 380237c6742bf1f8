/* calls.c - arguments of Python as those of C, results the other way, callbacks, and the module burn._c itself. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

static PyObject *error_type; /* burn.BurnError */

/* -- a call ----------------------------------------------------------------------------------- */

static void finish(Call *call) {
  for (int i = 0; i < call->function->count; i++) {
    if (call->used[i]) ((Handle *)call->arguments[i])->users--;
  }
  for (int i = 0; i < call->memory_count; i++) free(call->memory[i]);
  for (int i = 0; i < call->object_count; i++) Py_DECREF(call->objects[i]);
}

static bool place_keywords(Call *call, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(keywords, &position, &name, &value)) {
    int i = 0;
    while (i < call->function->count && PyUnicode_CompareWithASCIIString(name, call->function->names[i]) != 0) i++;
    if (i == call->function->count || call->arguments[i]) {
      PyErr_Format(PyExc_TypeError, "%s: the argument %R is unknown or given twice", call->function->name, name);
      return false;
    }
    call->arguments[i] = value;
  }
  return true;
}

PyObject *burn_python_enter(const Function *function, PyObject *self, PyObject *arguments, PyObject *keywords) {
  Call call;
  memset(&call, 0, offsetof(Call, memory));
  call.memory_count = call.object_count = 0;
  call.function = function;
  int count = 0;
  if (self) call.arguments[count++] = self;
  const int given = (int)PyTuple_Size(arguments);
  if (given + count > function->count) {
    return PyErr_Format(PyExc_TypeError, "%s takes %d arguments, not %d", function->name, function->count,
                        given + count);
  }
  for (int i = 0; i < given; i++) call.arguments[count++] = PyTuple_GetItem(arguments, i);
  if (keywords && !place_keywords(&call, keywords)) return NULL;
  for (int i = 0; i < function->count; i++) {
    if (!call.arguments[i]) {
      return PyErr_Format(PyExc_TypeError, "%s: the argument '%s' is missing", function->name, function->names[i]);
    }
  }
  PyObject *result = function->call(&call);
  finish(&call);
  if (!burn_python_pending()) return result;
  Py_XDECREF(result);
  raise_pending();
  return NULL;
}

/* The exception that is set, with the names of function and parameter before its text. One of another kind than those
 * of conversions is an own one of the argument, and stays as it is. */
static void argument_failed(Call *call, int index) {
  call->failed = true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type && PyErr_GivenExceptionMatches(type, PyExc_UnicodeError)) { /* whose own parameters are other ones */
    Py_INCREF(PyExc_ValueError);
    Py_DECREF(type);
    type = PyExc_ValueError;
  }
  if (type && type != PyExc_TypeError && type != PyExc_ValueError && type != PyExc_OverflowError) {
    PyErr_Restore(type, value, traceback);
    return;
  }
  PyErr_Format(type ? type : PyExc_TypeError, "%s: %s: %S", call->function->name, call->function->names[index],
               value ? value : Py_None);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

static PyObject *keeper(Call *call) {
  if (call->object_count == 0) {
    PyObject *list = PyList_New(0);
    if (!list) return NULL;
    call->objects[call->object_count++] = list;
  }
  return call->objects[0];
}

static void *room(Call *call, size_t bytes) {
  void *memory = call->memory_count < CALL_TEMPORARIES ? calloc(1, bytes ? bytes : 1) : NULL;
  if (!memory) {
    PyErr_NoMemory();
    call->failed = true;
    return NULL;
  }
  return call->memory[call->memory_count++] = memory;
}

/* -- arguments -------------------------------------------------------------------------------- */

int64_t argument_signed(Call *call, int index, int64_t low, int64_t high) {
  int64_t value = 0;
  if (call->failed) return 0;
  if (!write_number(KIND_I64, &value, call->arguments[index])) argument_failed(call, index);
  if (!call->failed && (value < low || value > high)) {
    PyErr_Format(PyExc_OverflowError, "%lld is not in %lld .. %lld", (long long)value, (long long)low, (long long)high);
    argument_failed(call, index);
  }
  return value;
}

uint64_t argument_unsigned(Call *call, int index, uint64_t high) {
  uint64_t value = 0;
  if (call->failed) return 0;
  if (!write_number(KIND_U64, &value, call->arguments[index])) argument_failed(call, index);
  if (!call->failed && value > high) {
    PyErr_Format(PyExc_OverflowError, "%llu is above %llu", (unsigned long long)value, (unsigned long long)high);
    argument_failed(call, index);
  }
  return value;
}

double argument_double(Call *call, int index) {
  if (call->failed) return 0;
  const double value = PyFloat_AsDouble(call->arguments[index]);
  if (PyErr_Occurred()) argument_failed(call, index);
  return value;
}

bool argument_bool(Call *call, int index) {
  if (call->failed) return false;
  const int truth = PyObject_IsTrue(call->arguments[index]);
  if (truth < 0) argument_failed(call, index);
  return truth > 0;
}

const char *argument_text(Call *call, int index) {
  const char *text = NULL;
  if (call->failed) return NULL;
  PyObject *keep = keeper(call);
  if (!keep || !write_item(KIND_STRING, NULL, &text, call->arguments[index], keep)) argument_failed(call, index);
  call->bytes[index] = text ? strlen(text) : SIZE_MAX;
  return text;
}

void *argument_handle(Call *call, int index, const HandleInfo *info) {
  void *pointer = NULL;
  if (call->failed) return NULL;
  if (!handle_pointer(call->arguments[index], info, &pointer)) argument_failed(call, index);
  if (pointer) {
    ((Handle *)call->arguments[index])->users++;
    call->used[index] = true;
  }
  return pointer;
}

void argument_required(Call *call, int index, const void *pointer, const char *expected) {
  if (call->failed || pointer) return;
  PyErr_Format(PyExc_TypeError, "%s is expected, not %R", expected, call->arguments[index]);
  argument_failed(call, index);
}

void argument_alone(Call *call, int index) {
  const Handle *handle = (const Handle *)call->arguments[index];
  if (call->failed || !call->used[index]) return;
  size_t here = 0;
  for (int i = 0; i < call->function->count; i++) here += call->used[i] && call->arguments[i] == (PyObject *)handle;
  if (here == 1 && handle->users == 1) return;
  PyErr_Format(PyExc_ValueError, "this %s is in use: %s", handle->info->name,
               here > 1 ? "it is also another argument" : "a call goes on with it, or C has made of it what is there");
  argument_failed(call, index);
}

static void *memory_argument(Call *call, int index, bool written) {
  Memory memory = {.bytes = SIZE_MAX};
  if (call->failed) return NULL;
  PyObject *keep = keeper(call);
  bool done = keep && memory_of(call->arguments[index], &memory, keep);
  if (done && written && memory.read_only) {
    PyErr_SetString(PyExc_TypeError, "C writes to this memory, which is read-only: a bytearray is expected");
    done = false;
  }
  if (!done) argument_failed(call, index);
  call->bytes[index] = memory.bytes;
  return memory.address;
}

void *argument_address(Call *call, int index) { return memory_argument(call, index, false); }
void *argument_writable(Call *call, int index) { return memory_argument(call, index, true); }

void *argument_number_address(Call *call, int index) {
  PyObject *value = call->arguments[index];
  if (call->failed || value == Py_None || PyLong_Check(value)) return argument_address(call, index);
  PyErr_Format(PyExc_TypeError, "an address is expected (int or None), not %R", (PyObject *)Py_TYPE(value));
  argument_failed(call, index);
  return NULL;
}

void argument_fits(Call *call, int index, uint64_t count, size_t bytes) {
  const size_t there = call->bytes[index];
  if (call->failed || there == SIZE_MAX || (count <= SIZE_MAX / bytes && count * bytes <= there)) return;
  PyErr_Format(PyExc_ValueError, "%llu items of %zu bytes are wanted, in memory of %zu bytes",
               (unsigned long long)count, bytes, there);
  argument_failed(call, index);
}

void argument_fits_shape(Call *call, int index, const BurnShape *shape, size_t bytes) {
  uint64_t count = shape->rank && shape->rank <= BURN_MAX_RANK ? 1 : 0; /* others C refuses, as it does sizes below 0 */
  for (uint32_t i = 0; count && i < shape->rank; i++) {
    const uint64_t size = shape->dims[i] > 0 ? (uint64_t)shape->dims[i] : 0;
    count = size && count > UINT64_MAX / size ? UINT64_MAX : count * size;
  }
  if (count && bytes) argument_fits(call, index, count, bytes);
}

void *argument_written(Call *call, int index, const StructInfo *info) {
  PyObject *value = call->arguments[index];
  const bool made = PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value);
  if (made && (info->holder || info->module) && !call->failed) {
    PyErr_Format(PyExc_TypeError, "C writes to it: a %s is expected, not %R", info->name, (PyObject *)Py_TYPE(value));
    argument_failed(call, index);
  }
  return argument_struct(call, index, info);
}

void *argument_struct(Call *call, int index, const StructInfo *info) {
  PyObject *value = call->arguments[index];
  if (value == Py_None || call->failed) return NULL;
  call->bytes[index] = info->bytes;
  if (struct_check(value) && ((Struct *)value)->info == info) {
    void *data;
    if (!struct_data(value, &data)) argument_failed(call, index);
    return data;
  }
  void *out = room(call, info->bytes);
  PyObject *keep = keeper(call);
  if (out && keep && !write_struct(info, out, value, keep)) argument_failed(call, index);
  return out;
}

void argument_value(Call *call, int index, const StructInfo *info, void *out) {
  if (call->failed) return;
  PyObject *keep = keeper(call);
  if (!keep || !write_struct(info, out, call->arguments[index], keep)) argument_failed(call, index);
}

/* Bytes and bytearrays as they lie in memory, for a list of numbers of one byte; false for others. */
static bool bytes_in_place(Call *call, PyObject *value, size_t bytes, void **list, size_t *count) {
  Memory memory;
  PyObject *keep = keeper(call);
  if (bytes != 1 || !(PyBytes_Check(value) || PyByteArray_Check(value))) return false;
  if (!keep || !memory_of(value, &memory, keep)) return false;
  *list = memory.address;
  *count = memory.bytes;
  return true;
}

/* A tuple of the items of a sequence, which lives as long as the call, whatever becomes of the list meanwhile. Anything
 * else ("flip(1)") would be an address with a count of 0: nothing would be done, without a word. */
static PyObject *as_tuple(Call *call, int index, PyObject *value) {
  PyObject *keep = keeper(call);
  PyObject *list = NULL;
  if (keep && (PyUnicode_Check(value) || !PySequence_Check(value))) {
    const bool is_number = PyLong_Check(value) != 0;
    PyErr_Format(PyExc_TypeError, "a list is expected, not %R", is_number ? value : (PyObject *)Py_TYPE(value));
  } else if (keep) {
    list = PySequence_Tuple(value);
  }
  if (!list || PyList_Append(keep, list) != 0) argument_failed(call, index);
  Py_XDECREF(list);
  return call->failed ? NULL : list;
}

void *argument_list(Call *call, int index, Kind kind, const void *what, size_t bytes, size_t *count) {
  PyObject *value = call->arguments[index];
  void *in_place = NULL;
  *count = 0;
  if (value == Py_None || call->failed) return NULL;
  if (bytes_in_place(call, value, bytes, &in_place, count)) return in_place;
  value = as_tuple(call, index, value);
  if (!value) return NULL;
  *count = (size_t)PyTuple_Size(value);
  call->bytes[index] = *count * bytes;
  char *list = room(call, (*count + 1) * bytes); /* lists that end with NULL do */
  PyObject *keep = keeper(call);
  for (size_t i = 0; list && keep && !call->failed && i < *count; i++) {
    PyObject *item = PyTuple_GetItem(value, (Py_ssize_t)i);
    void *at = list + i * bytes;
    const bool done =
        kind == KIND_HANDLE ? handle_pointer(item, what, (void **)at) : write_item(kind, what, at, item, keep);
    if (!done) argument_failed(call, index);
  }
  return list;
}

void *argument_uncounted(Call *call, int index, Kind kind, const void *what, size_t bytes, size_t *count) {
  PyObject *value = call->arguments[index];
  *count = 0;
  call->bytes[index] = SIZE_MAX;
  const bool is_list = value == Py_None || PyList_Check(value) || PyTuple_Check(value) || PyLong_Check(value);
  const bool is_address = !is_list && kind != KIND_STRING && kind != KIND_HANDLE && kind != KIND_POINTER;
  return is_address ? argument_address(call, index) : argument_list(call, index, kind, what, bytes, count);
}

void *argument_array(Call *call, int index, Kind kind, size_t bytes, size_t wanted) {
  PyObject *value = call->arguments[index];
  if (call->failed) return NULL;
  if (!PyList_Check(value) && !PyTuple_Check(value)) {
    PyErr_Format(PyExc_TypeError, "a list of %zu numbers is expected, not %R", wanted, value);
    argument_failed(call, index);
    return NULL;
  }
  size_t count = 0;
  void *array = argument_list(call, index, kind, NULL, bytes, &count);
  if (count != wanted && !call->failed) {
    PyErr_Format(PyExc_ValueError, "%zu numbers are expected, not %zu", wanted, count);
    argument_failed(call, index);
  }
  return array;
}

size_t argument_count(Call *call, int index, const void *list, size_t count, size_t first_count) {
  if (list && count != first_count && !call->failed) {
    PyErr_Format(PyExc_ValueError, "%zu items, and the list before it has %zu", count, first_count);
    argument_failed(call, index);
  }
  return first_count;
}

void *argument_room(Call *call, int index, size_t *count) {
  *count = (size_t)argument_unsigned(call, index, 1 << 20);
  return call->failed ? NULL : room(call, *count * sizeof(void *));
}

void *take_always(Call *call, int index, void *pointer) {
  Handle *handle = (Handle *)call->arguments[index];
  if (!pointer) return NULL;
  handle->pointer = NULL;
  if (handle->held && call->object_count < CALL_TEMPORARIES) { /* which C may look at until the call is over */
    call->objects[call->object_count++] = handle->held;
    handle->held = NULL;
  }
  return pointer;
}

void *take_handle(Call *call, int index, const HandleInfo *info, void *pointer) {
  if (pointer && info->clone) return info->clone(pointer);
  return take_always(call, index, pointer);
}

void take_list(const HandleInfo *info, void *list, size_t count) {
  void **items = list;
  for (size_t i = 0; i < count; i++) items[i] = items[i] ? info->clone(items[i]) : NULL;
}

void end_value(Call *call, int index, const StructInfo *info, void *value) {
  PyObject *given = call->arguments[index];
  if (struct_check(given)) {
    forget_value(info, ((Struct *)given)->data);
  } else {
    take_value(info, value);
  }
}

/* -- results ---------------------------------------------------------------------------------- */

PyObject *result_none(void) { Py_RETURN_NONE; }

static PyObject *raise_status(BurnStatus status) {
  if (PyErr_Occurred()) return NULL; /* of several results that have failed the first is raised */
  PyObject *text = result_text(burn_status_message(status)); /* which may end within a letter */
  PyObject *error = text ? PyObject_CallFunctionObjArgs(error_type, text, NULL) : NULL;
  Py_XDECREF(text);
  PyObject *number = PyLong_FromUnsignedLongLong(status);
  PyObject *code = PyLong_FromUnsignedLong(burn_status_code(status));
  if (error && number && code) {
    PyObject_SetAttrString(error, "status", number);
    PyObject_SetAttrString(error, "code", code);
    PyErr_SetObject(error_type, error);
  }
  Py_XDECREF(error);
  Py_XDECREF(number);
  Py_XDECREF(code);
  return NULL;
}

PyObject *result_status(BurnStatus status) {
  if (status != BURN_OK) return raise_status(status);
  Py_RETURN_NONE;
}

PyObject *result_tensor(BurnTensor *tensor) {
  const BurnStatus status = tensor ? burn_tensor_status(tensor) : BURN_OK;
  if (status == BURN_OK) return result_handle(tensor_info, tensor, NULL);
  burn_drop(tensor);
  return raise_status(status);
}

static void free_capsule(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, NULL)); }

static void end_use(PyObject *capsule) {
  Handle *handle = PyCapsule_GetPointer(capsule, "burn.use");
  handle->users--;
  Py_DECREF(handle);
}

/* What holds an argument: a handle is used, a struct has the contents that C may have copied. */
static PyObject *hold(PyObject *argument) {
  if (struct_check(argument)) return struct_contents(argument);
  Py_INCREF(argument);
  if (!handle_check(argument)) return argument;
  PyObject *capsule = PyCapsule_New(argument, "burn.use", end_use);
  if (!capsule) Py_DECREF(argument);
  if (capsule) ((Handle *)argument)->users++;
  return capsule;
}

/* A tuple of the arguments but for number `without`, what was made of them, and its memory, which the call does not
 * free any more. */
static PyObject *held_by(Call *call, int without) {
  const int count = call->function->count;
  PyObject *held = PyTuple_New(count + call->object_count + call->memory_count);
  for (int i = 0; held && i < count + call->object_count; i++) {
    PyObject *object = i < count ? call->arguments[i] : call->objects[i - count];
    PyObject *item = hold(i == without ? Py_None : object);
    if (!item || PyTuple_SetItem(held, i, item) != 0) Py_CLEAR(held);
  }
  for (int i = 0; held && i < call->memory_count; i++) {
    PyObject *capsule = PyCapsule_New(call->memory[i], NULL, free_capsule);
    if (capsule) call->memory[i] = NULL;
    if (!capsule || PyTuple_SetItem(held, count + call->object_count + i, capsule) != 0) Py_CLEAR(held);
  }
  return held;
}

PyObject *result_holding(Call *call, const HandleInfo *info, void *pointer) {
  PyObject *handle = result_handle(info, pointer, NULL);
  if (!handle || !pointer) return handle;
  ((Handle *)handle)->held = held_by(call, -1);
  if (!((Handle *)handle)->held) Py_CLEAR(handle);
  return handle;
}

PyObject *result_value_holding(Call *call, const StructInfo *info, const void *value) {
  PyObject *held = held_by(call, -1);
  PyObject *made = held ? result_value(info, value) : NULL;
  if (made && !struct_hold(made, held)) Py_CLEAR(made);
  Py_XDECREF(held);
  return made;
}

static PyObject *process_held; /* by function: what the process looks at */

static bool process_hold(Call *call, PyObject *held) {
  if (!process_held) process_held = PyDict_New();
  return process_held && PyDict_SetItemString(process_held, call->function->name, held) == 0;
}

/* Adds to what a handle holds. */
static bool handle_hold(Handle *handle, PyObject *held) {
  PyObject *both = handle->held ? PyTuple_Pack(2, handle->held, held) : held;
  if (!both) return false;
  if (!handle->held) Py_INCREF(both);
  Py_XDECREF(handle->held);
  handle->held = both;
  return true;
}

void hold_arguments(Call *call, int index) {
  if (call->failed || (index >= 0 && call->arguments[index] == Py_None)) return;
  PyObject *held = held_by(call, index), *holder = index >= 0 ? call->arguments[index] : NULL;
  const bool done = held && (!holder                ? process_hold(call, held)
                             : handle_check(holder) ? handle_hold((Handle *)holder, held)
                             : struct_check(holder) ? struct_hold(holder, held)
                                                    : true); /* an address: its owner cares for it */
  Py_XDECREF(held);
  if (!done) call->failed = true;
}

PyObject *result_text(const char *text) {
  if (!text) Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *result_given_text(char *text) {
  PyObject *result = result_text(text);
  free(text);
  return result;
}

PyObject *result_address(const void *address) {
  if (!address) Py_RETURN_NONE;
  return PyLong_FromVoidPtr((void *)(uintptr_t)address);
}

PyObject *result_room(const HandleInfo *info, void **items, size_t count) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *item = info == tensor_info ? result_tensor(items[i]) : result_handle(info, items[i], NULL);
    if (item && PyList_SetItem(list, (Py_ssize_t)i, item) == 0) continue;
    Py_CLEAR(list);
    while (++i < count) info->drop(items[i]);
  }
  return list;
}

PyObject *result_with(PyObject *first, int count, PyObject **outputs) {
  bool bad = false;
  for (int i = 0; i < count; i++) bad = bad || !outputs[i];
  const bool alone = first == Py_None && count == 1;
  PyObject *all = bad || !first ? NULL : alone ? outputs[0] : PyTuple_New(count + (first != Py_None));
  if (alone || !all) {
    Py_XDECREF(first);
    for (int i = alone && !bad; i < count; i++) Py_XDECREF(outputs[i]);
    return all;
  }
  int at = 0;
  if (first != Py_None) {
    PyTuple_SetItem(all, at++, first);
  } else {
    Py_DECREF(first);
  }
  for (int i = 0; i < count; i++) PyTuple_SetItem(all, at++, outputs[i]);
  return all;
}

/* -- functions of the module itself ------------------------------------------------------------ */

/* register(name, class): objects of a handle type are made as `class`, a subclass of it, from now on. */
static PyObject *register_class(PyObject *module, PyObject *arguments) {
  (void)module;
  const char *name;
  PyObject *type;
  if (!PyArg_ParseTuple(arguments, "sO", &name, &type)) return NULL;
  for (size_t i = 0; i < burn_python_handle_count; i++) {
    if (strcmp(burn_python_handles[i].name, name) == 0) {
      if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)burn_python_handles[i].type)) {
        return PyErr_Format(PyExc_TypeError, "%R is no subclass of %R", type, burn_python_handles[i].type);
      }
      Py_INCREF(type);
      Py_DECREF(burn_python_handles[i].type);
      burn_python_handles[i].type = type;
      Py_RETURN_NONE;
    }
  }
  return PyErr_Format(PyExc_ValueError, "there is no handle type %s", name);
}

/* view(type, address, owner or None): a struct that lies at an address. */
static PyObject *view(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *type, *owner, *number;
  if (!PyArg_ParseTuple(arguments, "OOO", &type, &number, &owner)) return NULL;
  const StructInfo *info = struct_info(type);
  void *address = info ? PyLong_AsVoidPtr(number) : NULL;
  return PyErr_Occurred() ? NULL : result_view(info, address, owner);
}

/* in_main_interpreter(): C calls Python back in that one, and types and devices are there once for all. */
static PyObject *in_main_interpreter(PyObject *module, PyObject *nothing) {
  (void)module;
  (void)nothing;
  return PyBool_FromLong(PyInterpreterState_GetID(PyInterpreterState_Get()) == 0);
}

static PyMethodDef own_methods[] = {
    {"in_main_interpreter", in_main_interpreter, METH_NOARGS, "in_main_interpreter(): whether burn can be used here"},
    {"register", register_class, METH_VARARGS, "register(name, class): objects of a handle type are made as class"},
    {"view", view, METH_VARARGS, "view(type, address, owner): a struct that lies at an address"},
    {NULL, NULL, 0, NULL}};

/* -- the module ------------------------------------------------------------------------------- */

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "burn._c",
                                        "All functions of Burn's C API, by their names in C.",
                                        -1,
                                        burn_python_functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static bool add_numbers(PyObject *module) {
  for (size_t i = 0; i < burn_python_constant_count; i++) {
    PyObject *value = PyLong_FromLongLong(burn_python_constants[i].value);
    if (!value || PyModule_AddObject(module, burn_python_constants[i].name, value) != 0) return false;
  }
  PyObject *callbacks = PyDict_New();
  for (size_t i = 0; callbacks && i < burn_python_callback_count; i++) {
    PyObject *address = PyLong_FromSize_t(burn_python_callbacks[i].address);
    if (!address || PyDict_SetItemString(callbacks, burn_python_callbacks[i].name, address) != 0) return false;
    Py_DECREF(address);
  }
  return callbacks && PyModule_AddObject(module, "callbacks", callbacks) == 0;
}

PyMODINIT_FUNC PyInit__c(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module || !add_types(module) || !add_numbers(module) || PyModule_AddFunctions(module, own_methods) != 0 ||
      PyModule_AddFunctions(module, memory_methods) != 0 || PyModule_AddFunctions(module, dlpack_methods) != 0)
    return NULL;
  error_type = PyErr_NewExceptionWithDoc("burn.BurnError", "A failure in Burn: its message; .code is a BURN_STATUS_*.",
                                         PyExc_RuntimeError, NULL);
  if (!error_type) return NULL;
  Py_INCREF(error_type);
  return PyModule_AddObject(module, "BurnError", error_type) == 0 ? module : NULL;
}
