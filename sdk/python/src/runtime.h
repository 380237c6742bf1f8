/* runtime.h - what the generated wrappers of burn._c are made of: handles, structs, arguments and results.
 *
 * Python never gives a tensor away: a wrapper clones what C takes. Only the limited API of CPython 3.9 is used, so that
 * one extension module serves all later versions. */
#ifndef BURN_PYTHON_RUNTIME_H
#define BURN_PYTHON_RUNTIME_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>
#include <burn/plugin/dlpack.h>
#include <burn/train/early_stopping.h>
#include <stdint.h>
#undef burn_status_make /* the function, not the macro that adds file and line */

/* -- types ------------------------------------------------------------------------------------ */

/* An opaque type of C, such as BurnTensor. */
typedef struct HandleInfo {
  const char *name;
  void (*drop)(void *pointer);
  void *(*clone)(void *pointer); /* NULL: what takes it empties the Python object */
  PyObject *type;                /* of new objects; burn._c.register replaces it by a subclass */
} HandleInfo;

/* What lies at an address: a member of a struct or an item of a list. */
typedef enum Kind {
  KIND_BOOL,
  KIND_I8,
  KIND_I16,
  KIND_I32,
  KIND_I64,
  KIND_U8,
  KIND_U16,
  KIND_U32,
  KIND_U64,
  KIND_F32,
  KIND_F64,
  KIND_STRING,  /* const char *: Python's str, kept alive by the struct */
  KIND_STRINGS, /* const char *const *: a list of them */
  KIND_HANDLES, /* BurnDevice *const *: a list of handles; `what` is their HandleInfo */
  KIND_TEXT,    /* char[count] */
  KIND_HANDLE,  /* `what` is a HandleInfo */
  KIND_STRUCT,  /* `what` is a StructInfo */
  KIND_POINTER, /* an address; of structs if `what` is a StructInfo */
  KIND_OPAQUE   /* a union: C only */
} Kind;

typedef struct Member {
  const char *name;
  size_t offset, bytes; /* of one item */
  Kind kind;
  size_t count; /* of an array; 0: no array */
  const void *what;
} Member;

typedef struct StructInfo {
  const char *name;
  size_t bytes;
  const Member *members;
  size_t member_count;
  const BurnType *(*type)(void); /* modules and configs */
  bool module;                   /* ended by burn_module_release */
  bool holder;                   /* its tensors belong to whoever has the struct */
  PyObject *python_type;
} StructInfo;

extern HandleInfo burn_python_handles[];
extern StructInfo burn_python_structs[];
extern const size_t burn_python_handle_count, burn_python_struct_count;

/* Handles and structs as Python objects. */
typedef struct Handle {
  PyObject_HEAD const HandleInfo *info;
  void *pointer;   /* NULL: taken or dropped */
  PyObject *owner; /* of a borrowed pointer, which is not dropped; NULL: ours */
  PyObject *held;  /* what C looks at as long as there is the pointer; NULL: nothing */
  size_t users;    /* calls that go on with it, and what C has made that looks at it: nobody may end it */
} Handle;

typedef struct Struct {
  PyObject_HEAD const StructInfo *info;
  void *data;
  PyObject *owner; /* of the memory; NULL: `data` is ours */
  PyObject *keep;  /* dict: what members point at, by place */
  bool constant;   /* nothing is written to it, nor to what it leads to */
} Struct;

/* -- calls ------------------------------------------------------------------------------------ */

enum { CALL_ARGUMENTS = 16, CALL_TEMPORARIES = 24 };

typedef struct Call Call;
typedef struct Function {
  const char *name;
  PyObject *(*call)(Call *call);
  int count; /* of parameters in Python */
  const char *const *names;
} Function;

struct Call {
  const Function *function;
  PyObject *arguments[CALL_ARGUMENTS];
  bool used[CALL_ARGUMENTS];    /* handles whose users the call is one of */
  size_t bytes[CALL_ARGUMENTS]; /* of memory; SIZE_MAX: not known */
  bool failed;
  void *memory[CALL_TEMPORARIES]; /* freed at the end */
  PyObject *objects[CALL_TEMPORARIES];
  int memory_count, object_count;
};

/* Runs a wrapper with the arguments of Python; `self` (NULL: a function of the module) is the first of them. */
PyObject *burn_python_enter(const Function *function, PyObject *self, PyObject *arguments, PyObject *keywords);

/* Arguments: each converts one, or marks the call as failed with a Python exception that names function and parameter.
 */
int64_t argument_signed(Call *call, int index, int64_t low, int64_t high);
uint64_t argument_unsigned(Call *call, int index, uint64_t high);
double argument_double(Call *call, int index);
bool argument_bool(Call *call, int index);
const char *argument_text(Call *call, int index);
void *argument_handle(Call *call, int index, const HandleInfo *info);
/* What C would look behind, if `pointer` is NULL: fails, saying that something else is `expected`. */
void argument_required(Call *call, int index, const void *pointer, const char *expected);
/* Takes the handle away from all others: it is refused while somebody else uses it, also in this call. */
void argument_alone(Call *call, int index);
void *argument_address(Call *call, int index);
/* The same of what Python has no object for. */
void *argument_number_address(Call *call, int index);
/* Memory that C writes to, which that of bytes is not. */
void *argument_writable(Call *call, int index);
/* Memory that C reads or writes `count` items of: fails if it is known to have fewer. */
void argument_fits(Call *call, int index, uint64_t count, size_t bytes);
void argument_fits_shape(Call *call, int index, const BurnShape *shape, size_t bytes);
void *argument_struct(Call *call, int index, const StructInfo *info);
/* A struct that C writes to: one with tensors is that of the caller, not made of a dict for the call. */
void *argument_written(Call *call, int index, const StructInfo *info);
void argument_value(Call *call, int index, const StructInfo *info, void *out);
/* A list, or what has items in order, as an array that lives as long as the call. */
void *argument_list(Call *call, int index, Kind kind, const void *what, size_t bytes, size_t *count);
/* The same where C takes no count; here an array of NumPy is an address, if the items are not pointers. */
void *argument_uncounted(Call *call, int index, Kind kind, const void *what, size_t bytes, size_t *count);
/* A list of so many numbers, where C's parameter has a size of its own: an address is not taken. */
void *argument_array(Call *call, int index, Kind kind, size_t bytes, size_t wanted);
/* The count of two lists, of which `list`, the second, is the argument; other counts fail, unless it is None. */
size_t argument_count(Call *call, int index, const void *list, size_t count, size_t first_count);
/* Room for `count` pointers, as many as the argument says. */
void *argument_room(Call *call, int index, size_t *count);

/* What C takes: a clone, or the pointer itself, and the Python object is empty from then on. */
void *take_handle(Call *call, int index, const HandleInfo *info, void *pointer);
void *take_always(Call *call, int index, void *pointer);
void take_list(const HandleInfo *info, void *list, size_t count);
void take_value(const StructInfo *info, void *value); /* clones its tensors */
/* Of what a function ends: the struct of the caller has no tensors from then on, one made for the call gets some. */
void end_value(Call *call, int index, const StructInfo *info, void *value);

/* Results. A failed status or tensor becomes an exception with C's message. */
PyObject *result_none(void);
PyObject *result_status(BurnStatus status);
PyObject *result_tensor(BurnTensor *tensor);
PyObject *result_handle(const HandleInfo *info, void *pointer, PyObject *owner);
/* For what goes on looking at the arguments of its call: they live as long as the handle. */
PyObject *result_holding(Call *call, const HandleInfo *info, void *pointer);
PyObject *result_value_holding(Call *call, const StructInfo *info, const void *value);
/* For what an argument, or for index -1 the process until the next such call, goes on looking at after the call.
 * Called before C is, takes nothing if it fails. */
void hold_arguments(Call *call, int index);
PyObject *result_text(const char *text);
PyObject *result_given_text(char *text);
PyObject *result_value(const StructInfo *info, const void *value);
PyObject *result_view(const StructInfo *info, const void *data, PyObject *owner);
/* The same of memory that C has as const, such as its tables, which lie where nobody can write. */
PyObject *result_constant(const StructInfo *info, const void *data, PyObject *owner);
PyObject *result_address(const void *address);
PyObject *result_room(const HandleInfo *info, void **room, size_t count);
/* `first` (NULL: none; taken) and the outputs (taken) as a tuple, or the only one of them. */
PyObject *result_with(PyObject *first, int count, PyObject **outputs);

/* -- callbacks -------------------------------------------------------------------------------- */

/* context.field(arguments..), or context(arguments..) if field is NULL; takes the arguments. NULL after an exception,
 * which is raised again where the call of C that led here returns to Python. */
PyObject *call_back(const void *context, const char *field, int count, ...);
/* The exception that a callback has left as a status. */
BurnStatus callback_status(void);
double callback_double(PyObject *value);
int64_t callback_integer(PyObject *value);
bool callback_bool(PyObject *value);
BurnTensor *callback_tensor(PyObject *value);
void callback_value(PyObject *value, const StructInfo *info, void *out); /* takes the tensors out of the struct */
PyObject *callback_list(Kind kind, const void *what, size_t bytes, const void *items, size_t count);
bool burn_python_pending(void);

/* An address in Burn's C functions as a number of Python. */
typedef struct Callback {
  const char *name;
  uintptr_t address;
} Callback;

extern PyMethodDef burn_python_functions[];
extern PyMethodDef burn_python_tensor_methods[];
extern const Callback burn_python_callbacks[];
extern const size_t burn_python_callback_count;

typedef struct Constant {
  const char *name;
  int64_t value;
} Constant;
extern const Constant burn_python_constants[];
extern const size_t burn_python_constant_count;

#define BURN_PYTHON_EXPOSE(function)                                                            \
  static PyObject *python_##function(PyObject *self, PyObject *arguments, PyObject *keywords) { \
    (void)self;                                                                                 \
    return burn_python_enter(&function_##function, NULL, arguments, keywords);                  \
  }
#define BURN_PYTHON_METHOD(function)                                                            \
  static PyObject *method_##function(PyObject *self, PyObject *arguments, PyObject *keywords) { \
    return burn_python_enter(&function_##function, self, arguments, keywords);                  \
  }

/* The kind of an expression. */
#define BURN_PYTHON_KIND(x) \
  _Generic((x), bool: KIND_BOOL, char: KIND_I8, int8_t: KIND_I8, int16_t: KIND_I16, int32_t: KIND_I32, \
           int64_t: KIND_I64, uint8_t: KIND_U8, uint16_t: KIND_U16, uint32_t: KIND_U32, uint64_t: KIND_U64, \
           float: KIND_F32, double: KIND_F64, const char *: KIND_STRING, default: KIND_POINTER)

#endif
