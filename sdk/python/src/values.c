/* values.c - memory of C as objects of Python, and back: handles, structs, their members. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

/* -- handles ---------------------------------------------------------------------------------- */

/* Ends what a handle has, as a call of C does: other threads run meanwhile, for C may wait for one of them (a tensor
 * waits for none), and an exception that is on its way is none of the callbacks that C calls. */
static void drop_pointer(const HandleInfo *info, void *pointer) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyThreadState *state = info == tensor_info ? NULL : PyEval_SaveThread();
  info->drop(pointer);
  if (state) PyEval_RestoreThread(state);
  PyErr_Restore(type, value, traceback);
}

static void handle_dealloc(PyObject *self) {
  Handle *handle = (Handle *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (handle->pointer && !handle->owner && handle->info->drop) drop_pointer(handle->info, handle->pointer);
  Py_XDECREF(handle->owner);
  Py_XDECREF(handle->held);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *handle_repr(PyObject *self) {
  const Handle *handle = (Handle *)self;
  return PyUnicode_FromFormat("<%s at %p>", handle->info ? handle->info->name : "empty", handle->pointer);
}

PyObject *result_handle(const HandleInfo *info, void *pointer, PyObject *owner) {
  if (!pointer) Py_RETURN_NONE;
  Handle *handle = (Handle *)PyType_GenericAlloc((PyTypeObject *)info->type, 0);
  if (!handle) return NULL;
  handle->info = info;
  handle->pointer = pointer;
  Py_XINCREF(owner);
  handle->owner = owner;
  return (PyObject *)handle;
}

bool handle_check(PyObject *object) { return PyObject_TypeCheck(object, (PyTypeObject *)handle_base); }
bool struct_check(PyObject *object) { return PyObject_TypeCheck(object, (PyTypeObject *)struct_base); }

/* Whether what an object was borrowed from is still there. Tensors are no owners: what they tell is their device's. */
static bool still_there(PyObject *owner) {
  while (owner && (handle_check(owner) || struct_check(owner))) {
    if (struct_check(owner)) {
      owner = ((Struct *)owner)->owner;
      continue;
    }
    const Handle *handle = (Handle *)owner;
    if (!handle->pointer && handle->info && handle->info != tensor_info) {
      PyErr_Format(PyExc_ValueError, "the %s that this belongs to was taken or closed before", handle->info->name);
      return false;
    }
    owner = handle->owner;
  }
  return true;
}

bool handle_pointer(PyObject *object, const HandleInfo *info, void **out) {
  *out = NULL;
  if (object == Py_None) return true;
  if (!handle_check(object) || ((Handle *)object)->info != info) {
    PyErr_Format(PyExc_TypeError, "%s is expected, not %R", info->name, (PyObject *)Py_TYPE(object));
    return false;
  }
  *out = ((Handle *)object)->pointer;
  if (!*out) PyErr_Format(PyExc_ValueError, "this %s was taken or closed before", info->name);
  return *out != NULL && still_there(((Handle *)object)->owner);
}

/* -- tensors in structs ----------------------------------------------------------------------- */

static void each_tensor(const StructInfo *info, void *data, void (*visit)(BurnTensor **tensor)) {
  for (size_t i = 0; i < info->member_count; i++) {
    const Member *member = &info->members[i];
    char *at = (char *)data + member->offset;
    for (size_t k = 0; k < (member->count ? member->count : 1); k++) {
      if (member->kind == KIND_HANDLE && member->what == tensor_info) visit((BurnTensor **)(void *)at + k);
      if (member->kind == KIND_STRUCT) each_tensor(member->what, at + k * member->bytes, visit);
    }
  }
}

static void drop_tensor(BurnTensor **tensor) {
  burn_drop(*tensor);
  *tensor = NULL;
}
static void clone_tensor(BurnTensor **tensor) { *tensor = burn_clone(*tensor); }
static void forget_tensor(BurnTensor **tensor) { *tensor = NULL; }

void take_value(const StructInfo *info, void *value) { each_tensor(info, value, clone_tensor); }
void forget_value(const StructInfo *info, void *value) { each_tensor(info, value, forget_tensor); }

/* -- structs ---------------------------------------------------------------------------------- */

static void end_contents(Struct *self) {
  if (self->info->module) {
    burn_module_release((BurnModule){self->info->type(), self->data});
  } else if (strcmp(self->info->name, "BurnParam") == 0) {
    burn_param_release(self->data);
  } else if (self->info->holder) {
    each_tensor(self->info, self->data, drop_tensor);
  }
}

static void struct_dealloc(PyObject *object) {
  Struct *self = (Struct *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (self->data && !self->owner) {
    end_contents(self);
    free(self->data);
  }
  Py_XDECREF(self->owner);
  Py_XDECREF(self->keep);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

bool struct_data(PyObject *object, void **out) {
  *out = ((Struct *)object)->data;
  return still_there(((Struct *)object)->owner);
}

/* The struct in whose memory another one lies, or the last one that is known. */
static Struct *root_of(Struct *self) {
  while (self->owner && struct_check(self->owner)) self = (Struct *)self->owner;
  return self;
}

/* What is to be held for a copy of a struct: it, and what its members point at now, which they may cease to do. */
PyObject *struct_contents(PyObject *object) {
  Struct *root = root_of((Struct *)object);
  PyObject *now = root->keep ? PyDict_Copy(root->keep) : PyDict_New();
  PyObject *both = now ? PyTuple_Pack(2, object, now) : NULL;
  Py_XDECREF(now);
  return both;
}

bool struct_hold(PyObject *object, PyObject *held) {
  Struct *root = root_of((Struct *)object);
  if (!root->keep) root->keep = PyDict_New();
  PyObject *number = root->keep ? PyLong_FromSsize_t(PyDict_Size(root->keep)) : NULL; /* another key than any place */
  const int bad = number ? PyDict_SetItem(root->keep, number, held) : -1;
  Py_XDECREF(number);
  return bad == 0;
}

static Struct *new_struct(const StructInfo *info) {
  Struct *self = (Struct *)PyType_GenericAlloc((PyTypeObject *)info->python_type, 0);
  if (self) self->info = info;
  return self;
}

PyObject *result_view(const StructInfo *info, const void *data, PyObject *owner) {
  if (!data) Py_RETURN_NONE;
  Struct *self = new_struct(info);
  if (!self) return NULL;
  self->data = (void *)(uintptr_t)data;
  self->owner = owner ? owner : Py_None;
  Py_INCREF(self->owner);
  return (PyObject *)self;
}

PyObject *result_constant(const StructInfo *info, const void *data, PyObject *owner) {
  PyObject *made = result_view(info, data, owner);
  if (made && made != Py_None) ((Struct *)made)->constant = true;
  return made;
}

PyObject *result_value(const StructInfo *info, const void *value) {
  Struct *self = new_struct(info);
  if (!self) return NULL;
  self->data = calloc(1, info->bytes ? info->bytes : 1);
  if (!self->data) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  if (value) memcpy(self->data, value, info->bytes);
  return (PyObject *)self;
}

static const Member *find_member(const StructInfo *info, PyObject *name) {
  for (size_t i = 0; i < info->member_count; i++) {
    if (PyUnicode_CompareWithASCIIString(name, info->members[i].name) == 0) return &info->members[i];
  }
  return NULL;
}

/* -- members ---------------------------------------------------------------------------------- */

PyObject *read_item(Kind kind, const void *what, const void *at, PyObject *owner) {
  switch (kind) {
    case KIND_STRING:
      return result_text(*(const char *const *)at);
    case KIND_HANDLE: {
      void *pointer = *(void *const *)at;
      if (pointer && what == tensor_info) return result_tensor(burn_clone(pointer));
      return result_handle(what, pointer, owner ? owner : Py_None);
    }
    case KIND_STRUCT:
      return result_view(what, at, owner);
    case KIND_POINTER:
      return what ? result_view(what, *(void *const *)at, owner) : result_address(*(void *const *)at);
    case KIND_STRINGS:
    case KIND_HANDLES:
      return result_address(*(void *const *)at);
    case KIND_OPAQUE:
      return result_address(at);
    default:
      return read_number(kind, at);
  }
}

static PyObject *read_member(const Member *member, Struct *self) {
  const char *at = (const char *)self->data + member->offset;
  if (member->kind == KIND_TEXT) return PyUnicode_DecodeUTF8(at, (Py_ssize_t)strnlen(at, member->count), "replace");
  if (!member->count) return read_item(member->kind, member->what, at, (PyObject *)self);
  PyObject *list = PyTuple_New((Py_ssize_t)member->count);
  for (size_t i = 0; list && i < member->count; i++) {
    PyObject *item = read_item(member->kind, member->what, at + i * member->bytes, (PyObject *)self);
    if (!item || PyTuple_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  return list;
}

/* Puts an object (taken) into a keeper, which is a list or, for a struct, a dict by place: an address, and for what a
 * whole struct brings along, which begins where its first member does, the struct's type. */
static bool kept_as(PyObject *keep, const void *at, const StructInfo *whole, PyObject *object) {
  if (!object) return false;
  int bad = 0;
  if (keep && PyList_Check(keep)) {
    bad = PyList_Append(keep, object);
  } else if (keep) {
    PyObject *key = Py_BuildValue("(KK)", (unsigned long long)(uintptr_t)at, (unsigned long long)(uintptr_t)whole);
    bad = key ? PyDict_SetItem(keep, key, object) : -1;
    Py_XDECREF(key);
  }
  Py_DECREF(object);
  return bad == 0;
}

static bool kept(PyObject *keep, const void *at, PyObject *object) { return kept_as(keep, at, NULL, object); }

/* What is made for a member of a struct in C's memory would end before it. */
static bool can_keep(PyObject *keep) {
  if (!keep) {
    PyErr_SetString(PyExc_TypeError,
                    "this struct lies in C's memory, which keeps nothing alive: bytes (of a text) or "
                    "an address of what you keep are expected");
  }
  return keep != NULL;
}

static bool write_text(void *at, PyObject *value, PyObject *keep) {
  *(const char **)at = NULL;
  if (value == Py_None) return true;
  if (!PyBytes_Check(value) && !can_keep(keep)) return false;
  PyObject *bytes = PyUnicode_Check(value) ? PyUnicode_AsUTF8String(value) : PyObject_Bytes(value);
  if (!bytes) return false;
  char *text;
  if (PyBytes_AsStringAndSize(bytes, &text, NULL) != 0) { /* a NUL, after which C would see nothing */
    Py_DECREF(bytes);
    return false;
  }
  *(const char **)at = text;
  return kept(keep, at, bytes);
}

/* A list of str or handles as an array of pointers. */
static bool write_pointers(Kind kind, const void *what, void *at, PyObject *values, PyObject *keep) {
  *(void **)at = NULL;
  if (values == Py_None) return true;
  if (!can_keep(keep)) return false;
  if (!PyList_Check(values) && !PyTuple_Check(values)) {
    PyErr_Format(PyExc_TypeError, "a list is expected, not %R", (PyObject *)Py_TYPE(values));
    return false;
  }
  const Py_ssize_t count = PySequence_Size(values);
  PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(char *));
  if (!bytes) return false;
  char *memory = PyByteArray_AsString(bytes);
  memset(memory, 0, (size_t)(count + 1) * sizeof(char *));
  *(void **)at = memory;
  if (!kept(keep, at, bytes)) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(values, i);
    const bool done = item && write_item(kind, what, memory + (size_t)i * sizeof(char *), item, keep);
    Py_XDECREF(item);
    if (!done) return false;
  }
  return true;
}

/* Whether what is written belongs to a struct that stays, and not to a call, for which its arguments are alive. */
static bool stays(PyObject *keep) { return !keep || PyDict_Check(keep); }

static bool write_handle(const HandleInfo *info, void *at, PyObject *value, PyObject *keep) {
  void *pointer;
  if (!handle_pointer(value, info, &pointer)) return false;
  if (info == tensor_info && stays(keep)) { /* the struct has a handle of its own */
    burn_drop(*(BurnTensor **)at);
    *(BurnTensor **)at = burn_clone(pointer);
    return true;
  }
  *(void **)at = pointer;
  Py_INCREF(value);
  return kept(keep, at, value);
}

static bool write_pointer(const StructInfo *info, void *at, PyObject *value, PyObject *keep) {
  Memory memory;
  if (info && (PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value))) {
    return write_list(info, at, value, keep);
  }
  PyObject *parts = PyList_New(0); /* the value, and a view where it must keep its size */
  const bool done = parts && PyList_Append(parts, value) == 0 && memory_of(value, &memory, parts);
  if (done) *(void **)at = memory.address;
  if (done) return kept(keep, at, parts);
  Py_XDECREF(parts);
  return false;
}

bool write_item(Kind kind, const void *what, void *at, PyObject *value, PyObject *keep) {
  switch (kind) {
    case KIND_STRING:
      return write_text(at, value, keep);
    case KIND_STRINGS:
      return write_pointers(KIND_STRING, NULL, at, value, keep);
    case KIND_HANDLES:
      return write_pointers(KIND_HANDLE, what, at, value, keep);
    case KIND_HANDLE:
      return write_handle(what, at, value, keep);
    case KIND_STRUCT:
      return write_struct(what, at, value, keep);
    case KIND_POINTER:
      return write_pointer(what, at, value, keep);
    case KIND_OPAQUE:
      PyErr_SetString(PyExc_TypeError, "a union is set in C only");
      return false;
    default:
      return write_number(kind, at, value);
  }
}

static bool write_array(const Member *member, char *at, PyObject *value, PyObject *keep) {
  const Py_ssize_t count = PySequence_Size(value);
  if (count < 0) return false;
  if ((size_t)count > member->count) {
    PyErr_Format(PyExc_ValueError, "%s: %zd items are more than the %zu that it can have", member->name, count,
                 member->count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(value, i);
    const bool done = item && write_item(member->kind, member->what, at + (size_t)i * member->bytes, item, keep);
    Py_XDECREF(item);
    if (!done) return false;
  }
  return true;
}

static bool write_member(const Member *member, void *data, PyObject *value, PyObject *keep) {
  char *at = (char *)data + member->offset;
  if (member->kind == KIND_TEXT) return write_fixed_text(at, member->count, value);
  if (member->count) return write_array(member, at, value, keep);
  return write_item(member->kind, member->what, at, value, keep);
}

/* Members by name, in a dict. */
static bool write_named(const StructInfo *info, void *at, PyObject *values, PyObject *keep) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(values, &position, &name, &value)) {
    const Member *member = find_member(info, name);
    if (!member) {
      PyErr_Format(PyExc_TypeError, "%s has no member %R", info->name, name);
      return false;
    }
    if (!write_member(member, at, value, keep)) return false;
  }
  return true;
}

/* Members in their order. A struct of one array takes its items, and BurnShape its dims. */
static bool write_ordered(const StructInfo *info, void *at, PyObject *values, PyObject *keep) {
  const Py_ssize_t count = PySequence_Size(values);
  if (strcmp(info->name, "BurnShape") == 0) {
    const bool done = write_array(&info->members[1], (char *)at + info->members[1].offset, values, keep);
    if (done) ((BurnShape *)at)->rank = (uint32_t)count;
    return done;
  }
  if (info->member_count == 1 && info->members[0].count) return write_array(&info->members[0], at, values, keep);
  if ((size_t)count > info->member_count) {
    PyErr_Format(PyExc_TypeError, "%s has %zu members, not %zd", info->name, info->member_count, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(values, i);
    const bool done = item && write_member(&info->members[i], at, item, keep);
    Py_XDECREF(item);
    if (!done) return false;
  }
  return true;
}

/* A module of Python stands for its BurnModule. */
static bool write_module(const StructInfo *info, void *at, PyObject *value, PyObject *keep) {
  PyObject *module = PyObject_CallMethod(value, "_module", NULL);
  const bool done = module && write_struct(info, at, module, keep);
  Py_XDECREF(module);
  return done;
}

/* Whether the contents of a struct are ended with it, so that they cannot be in two places. */
static bool has_contents(const StructInfo *info) {
  return (info->module && info->member_count) || strcmp(info->name, "BurnParam") == 0 ||
         strcmp(info->name, "BurnBuffer") == 0;
}

static bool copy_struct(const StructInfo *info, void *at, PyObject *value, PyObject *keep) {
  void *data;
  if (!struct_data(value, &data)) return false;
  if (has_contents(info) && stays(keep)) {
    PyErr_Format(PyExc_TypeError, "a %s is in one struct only, which ends it: make another one in its place",
                 info->name);
    return false;
  }
  memcpy(at, data, info->bytes);
  if (info->holder && stays(keep)) take_value(info, at); /* its tensors belong to both now */
  return kept_as(keep, at, info, struct_contents(value));
}

bool write_struct(const StructInfo *info, void *at, PyObject *value, PyObject *keep) {
  if (struct_check(value) && ((Struct *)value)->info == info) return copy_struct(info, at, value, keep);
  if (PyDict_Check(value)) return write_named(info, at, value, keep);
  if (PyList_Check(value) || PyTuple_Check(value)) return write_ordered(info, at, value, keep);
  if (strcmp(info->name, "BurnModule") == 0 && PyObject_HasAttrString(value, "_module")) {
    return write_module(info, at, value, keep);
  }
  PyErr_Format(PyExc_TypeError, "%s is expected, or its members as a dict or tuple, not %R", info->name,
               (PyObject *)Py_TYPE(value));
  return false;
}

/* A pointer to an array of structs, made of a list of them; or to one, made of a dict. */
bool write_list(const StructInfo *info, void *at, PyObject *values, PyObject *keep) {
  if (!can_keep(keep)) return false;
  const Py_ssize_t count = PyDict_Check(values) ? 1 : PySequence_Size(values);
  PyObject *bytes = PyByteArray_FromStringAndSize(NULL, count * (Py_ssize_t)info->bytes + 1);
  if (!bytes) return false;
  char *memory = PyByteArray_AsString(bytes);
  memset(memory, 0, (size_t)count * info->bytes + 1);
  *(void **)at = memory;
  if (!kept(keep, at, bytes)) return false;
  if (PyDict_Check(values)) return write_struct(info, memory, values, keep);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = PySequence_GetItem(values, i);
    const bool done = item && write_struct(info, memory + (size_t)i * info->bytes, item, keep);
    Py_XDECREF(item);
    if (!done) return false;
  }
  return true;
}

/* -- the Python types ------------------------------------------------------------------------- */

static PyObject *struct_getattr(PyObject *object, PyObject *name) {
  Struct *self = (Struct *)object;
  const Member *member = self->info ? find_member(self->info, name) : NULL;
  if (!member) return PyObject_GenericGetAttr(object, name);
  return still_there(self->owner) ? read_member(member, self) : NULL;
}

static int struct_setattr(PyObject *object, PyObject *name, PyObject *value) {
  Struct *self = (Struct *)object;
  const Member *member = self->info ? find_member(self->info, name) : NULL;
  if (!member || !value) {
    PyErr_Format(PyExc_AttributeError, "%s has no member %R that can be set", self->info->name, name);
    return -1;
  }
  Struct *root = root_of(self);
  if (root->constant) {
    PyErr_Format(PyExc_AttributeError, "this %s is C's own: it cannot be changed", self->info->name);
    return -1;
  }
  if (!root->owner && !root->keep) root->keep = PyDict_New();
  if (!still_there(self->owner) || (!root->owner && !root->keep)) return -1;
  return write_member(member, self->data, value, root->keep) ? 0 : -1;
}

const StructInfo *struct_info(PyObject *type) {
  PyObject *number = PyObject_GetAttrString(type, "_index");
  const size_t index = number ? PyLong_AsSize_t(number) : SIZE_MAX;
  Py_XDECREF(number);
  PyErr_Clear();
  const StructInfo *info = index < burn_python_struct_count ? &burn_python_structs[index] : NULL;
  if (info && PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)info->python_type)) {
    return info;
  }
  PyErr_Format(PyExc_TypeError, "a type of structs is expected, not %R", type);
  return NULL;
}

static PyObject *struct_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  const StructInfo *info = struct_info((PyObject *)type);
  Struct *self = info ? (Struct *)result_value(info, NULL) : NULL;
  if (!self) return NULL;
  self->keep = PyDict_New();
  const bool done = self->keep && write_ordered(info, self->data, arguments, self->keep) &&
                    (!keywords || write_named(info, self->data, keywords, self->keep));
  if (!done) Py_CLEAR(self);
  return (PyObject *)self;
}

/* A pointer as its address: nobody knows what lies there. */
static PyObject *shown_member(const Member *member, Struct *self) {
  if (member->kind != KIND_POINTER || member->count) return read_member(member, self);
  return result_address(*(void *const *)(const void *)((const char *)self->data + member->offset));
}

static PyObject *struct_repr(PyObject *object) {
  Struct *self = (Struct *)object;
  if (!still_there(self->owner)) return NULL;
  PyObject *text = PyUnicode_FromFormat("%s(", self->info->name);
  for (size_t i = 0; text && i < self->info->member_count; i++) {
    PyObject *value = shown_member(&self->info->members[i], self);
    PyObject *part = value ? PyUnicode_FromFormat("%s%s=%R", i ? ", " : "", self->info->members[i].name, value) : NULL;
    PyObject *longer = part ? PyUnicode_Concat(text, part) : NULL;
    Py_XDECREF(value);
    Py_XDECREF(part);
    Py_DECREF(text);
    text = longer;
  }
  PyObject *end = text ? PyUnicode_FromString(")") : NULL;
  PyObject *whole = end ? PyUnicode_Concat(text, end) : NULL;
  Py_XDECREF(text);
  Py_XDECREF(end);
  return whole;
}

static PyObject *struct_address(PyObject *object, void *unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((Struct *)object)->data);
}
static PyObject *struct_type(PyObject *object, void *unused) {
  (void)unused;
  const StructInfo *info = ((Struct *)object)->info;
  return PyLong_FromVoidPtr(info->type ? (void *)(uintptr_t)info->type() : NULL);
}
static PyGetSetDef struct_getset[] = {{"_address", struct_address, NULL, "where the struct lies in memory", NULL},
                                      {"_type", struct_type, NULL, "the address of its BurnType", NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};

PyObject *handle_base, *struct_base;

static PyObject *make_type(const char *name, PyType_Slot *slots, int bytes, PyObject *base) {
  PyType_Spec spec = {name, bytes, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject *bases = base ? PyTuple_Pack(1, base) : NULL;
  PyObject *type = PyType_FromSpecWithBases(&spec, bases);
  Py_XDECREF(bases);
  return type;
}

/* A type's name has to live as long as the type: "burn._c.BurnTensor", never freed. */
static PyObject *named_type(PyObject *module, const char *name, PyType_Slot *slots, int bytes, PyObject *base) {
  const size_t length = strlen(name) + sizeof "burn._c.";
  char *full = malloc(length);
  if (!full) return PyErr_NoMemory();
  PyOS_snprintf(full, length, "burn._c.%s", name);
  PyObject *type = make_type(full, slots, bytes, base);
  if (!type) return NULL;
  Py_INCREF(type);
  if (PyModule_AddObject(module, name, type) != 0) {
    Py_DECREF(type);
    return NULL;
  }
  return type;
}

static bool add_handles(PyObject *module) {
  PyType_Slot base[] = {{Py_tp_dealloc, (void *)handle_dealloc}, {Py_tp_repr, (void *)handle_repr}, {0, NULL}};
  handle_base = named_type(module, "Handle", base, sizeof(Handle), NULL);
  for (size_t i = 0; handle_base && i < burn_python_handle_count; i++) {
    HandleInfo *info = &burn_python_handles[i];
    PyType_Slot none[] = {{0, NULL}, {0, NULL}};
    if (info == tensor_info) none[0] = (PyType_Slot){Py_tp_methods, burn_python_tensor_methods};
    info->type = named_type(module, info->name, none, sizeof(Handle), handle_base);
    if (!info->type) return false;
  }
  return handle_base != NULL;
}

static bool set_number(PyObject *type, const char *name, size_t number) {
  PyObject *value = PyLong_FromSize_t(number);
  const int bad = value ? PyObject_SetAttrString(type, name, value) : -1;
  Py_XDECREF(value);
  return bad == 0;
}

bool add_types(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, (void *)struct_dealloc},
                         {Py_tp_getattro, (void *)struct_getattr},
                         {Py_tp_setattro, (void *)struct_setattr},
                         {Py_tp_repr, (void *)struct_repr},
                         {Py_tp_new, (void *)struct_new},
                         {Py_tp_getset, struct_getset},
                         {0, NULL}};
  if (!add_handles(module)) return false;
  struct_base = named_type(module, "Struct", slots, sizeof(Struct), NULL);
  for (size_t i = 0; struct_base && i < burn_python_struct_count; i++) {
    PyType_Slot none[] = {{0, NULL}};
    StructInfo *info = &burn_python_structs[i];
    info->python_type = named_type(module, info->name, none, sizeof(Struct), struct_base);
    if (!info->python_type || !set_number(info->python_type, "_index", i) ||
        !set_number(info->python_type, "_bytes", info->bytes)) {
      return false;
    }
  }
  return struct_base != NULL;
}
