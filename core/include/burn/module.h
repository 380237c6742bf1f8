/* module.h - models from rows: struct and descriptor from one list, and everything that walks over parameters.
 *
 *   #define MLP_FIELDS(X)                       \
 *     X(BurnLinear,  fc1,  "inputs -> hidden")  \
 *     X(BurnDropout, drop, "after fc1")         \
 *     X(BurnLinear,  fc2,  "hidden -> classes")
 *   BURN_MODULE(Mlp, MLP_FIELDS);
 *
 *   burn_module_print(burn_module(Mlp, &mlp));
 *   Mlp valid = Mlp_valid(&mlp);       the same weights on the device below autodiff
 *   Mlp_release(&mlp);
 *
 * A row may hold a module, one of several (BURN_MODULE_VARIANT), BurnParam, BurnBuffer, BurnModuleList,
 * BurnModuleOption, or a constant (BurnConstant for a tensor, BurnSize, BurnF64, BurnBool, ...): one object, no array
 * (a compile error); a BurnModuleList holds several. Paths join the names with dots: "fc1.weight",
 * "blocks.3.norm.Batch.gamma". */
#ifndef BURN_MODULE_H
#define BURN_MODULE_H

#include <burn/ops.h>
#include <burn/reflect.h>

BURN_EXTERN_C_BEGIN

/* A module of any type: descriptor and object. */
typedef struct BurnModule {
  const BurnType *type;
  void *data;
} BurnModule;

/* burn_module(Mlp, &mlp); a pointer of another type is a compiler warning. A row is a module as well, of its own type:
 * burn_module(BurnModuleList, &net.blocks), burn_module(BurnParam, &net.fc1.weight). */
#define burn_module(Type, pointer) BURN_INTERNAL_VALUE(BurnModule, Type##_type(), (1 ? (pointer) : (Type *)NULL))

/* What a parameter is beyond a plain tensor: quantized (quantizer.h), or with an adapter (lora.h). */
typedef struct BurnParamExtra BurnParamExtra;

/* A learned tensor. `value` is NULL for an absent one (a layer without bias). The 64-bit id links a parameter with its
 * gradient and optimizer state; it is random when made and restored when a record is loaded. The path,
 * "blocks.2.up.weight", is what messages of layers begin with; NULL until something has walked over the module:
 * burn_module_status, burn_record_load, an optimizer's step, burn_learner_fit and all other services below. (So the
 * first of them is no business of several threads at once.) */
typedef struct BurnParam {
  BurnTensor *value;
  uint64_t id;
  const char *path;      /* lives as long as the process */
  BurnParamExtra *extra; /* NULL: a plain tensor. Of a quantized one `value` has the quantized values, i8 */
  bool transposed; /* records hold the value with its last two axes swapped, as a Linear of column layout has it */
} BurnParam;
BURN_API const BurnType *BurnParam_type(void);
/* The type of a row whose parameter may be absent, Burn's Option<Param>: a BurnParam in all else. A record without
 * names (.bin) has to know it. */
typedef BurnParam BurnOptionParam;
BURN_API const BurnType *BurnOptionParam_type(void);

/* A parameter that owns `value` (NULL: absent) under a new id. A float tensor on an autodiff device becomes a tracked
 * leaf. */
BURN_API BURN_TAKES(1) BurnParam burn_param(BurnTensor *value);
/* The value for use in a forward pass; NULL if absent. A clone of a plain one; floats of a quantized one, together with
 * its adapter. */
BURN_API BURN_GIVES BurnTensor *burn_param_value(const BurnParam *param);
/* The same without the adapter. */
BURN_API BURN_GIVES BurnTensor *burn_param_base(const BurnParam *param);
/* Replaces the value (taken); tracked again if it was. The id stays. The parameter is a plain tensor then. */
BURN_API BURN_TAKES(2) void burn_param_set(BurnParam *param, BurnTensor *value);
/* Ends what the parameter has, and zeroes it. For one outside of modules, which burn_module_release ends. */
BURN_API void burn_param_release(BurnParam *param);

/* A tensor that is state, not learned: running statistics. Copies of the struct share it; forward passes of a const
 * module may replace it, from any thread. */
typedef struct BurnBufferCell BurnBufferCell;
typedef struct BurnBuffer {
  BurnBufferCell *cell;
} BurnBuffer;
BURN_API const BurnType *BurnBuffer_type(void);
BURN_API BURN_TAKES(1) BurnBuffer burn_buffer(BurnTensor *value);
BURN_API BURN_GIVES BurnTensor *burn_buffer_value(const BurnBuffer *buffer);
BURN_API BURN_TAKES(2) void burn_buffer_set(const BurnBuffer *buffer, BurnTensor *value);

/* A tensor that belongs to a module and is made anew when the module is: a table, a mask. It moves and is copied with
 * the module, untracked; a record has nil for it, visits and mappers pass it over, and it counts as no parameter. */
typedef struct BurnConstant {
  BurnTensor *value; /* NULL: absent */
} BurnConstant;
BURN_API const BurnType *BurnConstant_type(void);
/* A constant that owns `value` (NULL: absent), without its history. */
BURN_API BURN_TAKES(1) BurnConstant burn_constant(BurnTensor *value);
/* A clone of the value, for use in a forward pass; NULL if absent. */
BURN_API BURN_GIVES BurnTensor *burn_constant_value(const BurnConstant *constant);

/* A counted array of modules of one type, owned by the list. */
typedef struct BurnModuleList {
  const BurnType *type;
  void *data; /* [count] objects of type->bytes, from malloc; NULL: none */
  size_t count;
  size_t missing; /* modules that there was no memory for, which burn_module_status tells; the list is empty then */
} BurnModuleList;
BURN_API const BurnType *BurnModuleList_type(void);
/* A list of `count` zeroed modules, or one that misses them. Fill them with burn_module_list_at. */
BURN_API BurnModuleList burn_module_list(const BurnType *type, size_t count);
BURN_API void *burn_module_list_at(const BurnModuleList *list, size_t index);

/* A module that may be absent, owned by the option. Its tensors have the path of the row: "head.weight". A record holds
 * nil, or what the module's own record is. */
typedef struct BurnModuleOption {
  const BurnType *type;
  void *data;   /* an object of type->bytes, from malloc; NULL: absent */
  bool present; /* with data NULL: there was no memory for it, as burn_module_status says */
} BurnModuleOption;
BURN_API const BurnType *BurnModuleOption_type(void);
/* An absent module. Zeroed memory is one, too. */
BURN_API BurnModuleOption burn_module_option(const BurnType *type);
/* Takes the contents of a module, and ends those that were there before; data NULL: absent.
 *
 *   BurnLinear head = burn_linear_new(64, 10, device);
 *   burn_module_option_set(&model.head, burn_module(BurnLinear, &head)); */
BURN_API void burn_module_option_set(BurnModuleOption *option, BurnModule module);
/* The module, which stays the option's; NULL if absent. */
BURN_API void *burn_module_option_get(const BurnModuleOption *option);

/* -- services over any module ----------------------------------------------------------------- */

/* One tensor of a module during a visit. Exactly one of param and buffer is set. `layer` is the type of the module that
 * holds it, so that a visitor can tell a Linear's weight from an Embedding's: burn_type_short_name(layer) is "Linear".
 */
typedef struct BurnModuleTensor {
  const char *path; /* "fc1.weight" */
  BurnParam *param;
  BurnBuffer *buffer;
  const BurnType *layer;
  const char *field; /* its name in the layer, "weight"; of the factors of an adapter "lora.a" and "lora.b" */
} BurnModuleTensor;
/* Called for every present parameter and buffer, in row order; a failed status ends the visit and is returned by it. */
typedef BurnStatus (*BurnModuleVisitor)(void *context, const BurnModuleTensor *tensor);
BURN_API BURN_USE_RESULT BurnStatus burn_module_visit(BurnModule module, BurnModuleVisitor visitor, void *context);

/* Replaces every present tensor by mapper(context, tensor's path, its value), which takes the value and returns the new
 * one. Ids stay. A parameter that asked for gradients asks again, whatever history its new value has; one that did not,
 * does not. (A new value of another kind than float, or on a device without autodiff, cannot ask.) A failed tensor
 * stays in the module: burn_module_status names it with its path. Of a quantized parameter the mapper takes the floats,
 * and it is plain then; of one with an adapter the frozen weight, and the factors by themselves. */
typedef BurnTensor *(*BurnModuleMapper)(void *context, const char *path, BurnTensor *value);
BURN_API void burn_module_map(BurnModule module, BurnModuleMapper mapper, void *context);

/* BURN_OK, or the first failed tensor in the module with its path: check a module once after building it. From then on
 * failures in its layers are reported with their path, "blocks.2.up: linear: x [2,3] and weight [4,2]: ..". */
BURN_API BURN_USE_RESULT BurnStatus burn_module_status(BurnModule module);

/* Elements of all float parameters and buffers, as Burn counts: quantized ones are floats here, and factors of adapters
 * count. */
BURN_API int64_t burn_module_num_params(BurnModule module);

/* The tree with paths, constants, shapes and parameter counts. The text is the caller's, to be freed with free(); NULL
 * without memory or a module. */
BURN_API void burn_module_print(BurnModule module);
BURN_API BURN_USE_RESULT char *burn_module_text(BurnModule module);

/* What Burn's DisplaySettings leave open, or say. */
enum { BURN_DISPLAY_DEFAULT = 0, BURN_DISPLAY_ON = 1, BURN_DISPLAY_OFF = 2 };

/* How a module is shown. Zeros are Burn's defaults. */
typedef struct BurnDisplaySettings {
  uint32_t show_param_id;            /* the ids of parameters; default off */
  uint32_t show_all_attributes;      /* all rows of every layer, in place of the few that Burn shows; default off */
  uint32_t show_num_parameters;      /* the number of parameters of each module; default on */
  uint32_t new_line_after_attribute; /* default on, but for Burn's layers, which take one line */
  uint32_t indentation_size;         /* spaces per level; 0: 2 */
  /* Burn's custom_display: what is shown of modules of a type, in one line; NULL, or a NULL hook: as without it. The
   * attributes stand with spaces in between: "prob" is a row, "p=dropout.prob" one further down under another name,
   * "n=weight#0" the size of a parameter's axis 0, "n=weight#1*groups" that times a BurnSize, "bias=bias?" whether a
   * parameter is there. */
  const char *(*custom)(const BurnType *type);
} BurnDisplaySettings;

/* The text that Burn 0.21 shows of a module ("{}"), with settings (NULL: defaults): that of its layers with the
 * attributes of its own choice, "Linear {d_input: 3, d_output: 5, bias: true, params: 20}". Constant tensors, whose
 * elements Burn prints there, are shown by their shapes. The text is to be freed with free(); NULL without memory or a
 * module. */
BURN_API BURN_USE_RESULT char *burn_module_display(BurnModule module, const BurnDisplaySettings *settings);

/* A table of at most 100 columns: for every parameter and buffer its path, the type of its layer, its shape, its
 * elements as burn_module_num_params counts them, and whether it is trainable (asks for gradients), frozen, untracked
 * (on a device without autodiff, where nothing asks for them), quantized (which is never trainable) or a buffer; then
 * the sums. Printed, or as a text to be freed with free(), NULL without memory or a module. */
BURN_API void burn_module_summary(BurnModule module);
BURN_API BURN_USE_RESULT char *burn_module_summary_text(BurnModule module);

/* Writes into *out (an object of the same type, contents ignored) a copy that shares nothing: same values and ids,
 * buffers of its own. Where the module's object is NULL, *out is zeroed. */
BURN_API void burn_module_clone(BurnModule module, void *out);
/* The same on the device below autodiff, untracked: for validation and inference. Adapters are merged in it. */
BURN_API void burn_module_valid(BurnModule module, void *out);
/* Moves all tensors to a device, constants too; parameters become tracked leaves there if it has autodiff. */
BURN_API void burn_module_to_device(BurnModule module, BurnDevice *device);
/* Writes into *out (an object of the same type, contents ignored) a copy on a device: same values and ids, parameters
 * as leaves without history, tracked as burn_module_to_device has them. For work on several devices at once. */
BURN_API void burn_module_fork(BurnModule module, BurnDevice *device, void *out);
/* Parameters no longer ask for gradients, and optimizers leave them alone. Both names are Burn's. */
BURN_API void burn_module_freeze(BurnModule module);
BURN_API void burn_module_no_grad(BurnModule module);
/* Float parameters on a device with autodiff ask for gradients again, as leaves without history; others, which cannot,
 * and weights with an adapter stay as they are. */
BURN_API void burn_module_unfreeze(BurnModule module);
/* Ends the contents of the object: tensors, buffers, lists, options. It is zeroed. */
BURN_API void burn_module_release(BurnModule module);

#define BURN_INTERNAL_MODULE_COPIES(Name)                                                                \
  BURN_UNUSED static inline Name Name##_clone(const Name *module) {                                      \
    Name copy;                                                                                           \
    burn_module_clone(BURN_INTERNAL_VALUE(BurnModule, Name##_type(), (void *)(uintptr_t)module), &copy); \
    return copy;                                                                                         \
  }                                                                                                      \
  BURN_UNUSED static inline Name Name##_valid(const Name *module) {                                      \
    Name copy;                                                                                           \
    burn_module_valid(BURN_INTERNAL_VALUE(BurnModule, Name##_type(), (void *)(uintptr_t)module), &copy); \
    return copy;                                                                                         \
  }                                                                                                      \
  BURN_UNUSED static inline void Name##_release(Name *module) {                                          \
    burn_module_release(BURN_INTERNAL_VALUE(BurnModule, Name##_type(), module));                         \
  }

/* Defines the struct, its descriptor function <Name>_type, and <Name>_clone, <Name>_valid and <Name>_release. */
#define BURN_MODULE(Name, ROWS)                                                                                      \
  typedef struct Name {                                                                                              \
    ROWS(BURN_INTERNAL_ROW_MEMBER)                                                                                   \
  } Name;                                                                                                            \
  BURN_UNUSED static inline const BurnType *Name##_type(void) {                                                      \
    typedef Name Self;                                                                                               \
    static const BurnField fields[] = {ROWS(BURN_INTERNAL_ROW_FIELD)};                                               \
    static const BurnType type = {                                                                                   \
        BURN_TYPE_MODULE, #Name, sizeof(Self), (uint32_t)(sizeof fields / sizeof fields[0]), fields, NULL, 0, NULL}; \
    return &type;                                                                                                    \
  }                                                                                                                  \
  BURN_INTERNAL_MODULE_COPIES(Name)                                                                                  \
  struct Name

#ifdef __cplusplus
#define BURN_INTERNAL_ZERO(Type) Type()
#else
#define BURN_INTERNAL_ZERO(Type) ((Type){0})
#endif
#define BURN_INTERNAL_CASE_KIND(Name, Type, Case, doc) Name##_KIND_##Case,
#define BURN_INTERNAL_CASE_MEMBER(Name, Type, Case, doc) Type Case;
#define BURN_INTERNAL_CASE_FIELD(Name, Type, Case, doc) {#Case, Type##_type, offsetof(Name, as.Case), doc, false},
#define BURN_INTERNAL_CASE_MAKE(Name, Type, Case, doc)        \
  BURN_UNUSED static inline Name Name##_##Case(Type module) { \
    Name burn__variant = BURN_INTERNAL_ZERO(Name);            \
    burn__variant.kind = Name##_KIND_##Case;                  \
    burn__variant.as.Case = module;                           \
    return burn__variant;                                     \
  }

/* A module that is one of several: Burn's enum with a module per case. Rows pass the name on:
 *
 *   #define HEAD_CASES(X, Head)                        \
 *     X(Head, BurnIdentity, Off,   "tokens as they are") \
 *     X(Head, BurnLinear,   Dense, "to classes")
 *   BURN_MODULE_VARIANT(Head, HEAD_CASES);
 *
 *   Head head = Head_Dense(burn_linear_new(64, 10, device));     takes the module
 *   if (head.kind == Head_KIND_Dense) y = burn_linear_forward(&head.as.Dense, x);
 *
 * Defines the struct {uint32_t kind; union as}, a constructor and a number per case, and what BURN_MODULE does. Zeroed
 * memory is the first case. It may stand in rows, lists and options. The case is a step of paths, "head.Dense.weight",
 * and its name the key in records, {"Dense": record}; a record of another case is refused. */
#define BURN_MODULE_VARIANT(Name, ROWS)                                         \
  enum { ROWS(BURN_INTERNAL_CASE_KIND, Name) };                                 \
  typedef struct Name {                                                         \
    uint32_t kind;                                                              \
    union {                                                                     \
      ROWS(BURN_INTERNAL_CASE_MEMBER, Name)                                     \
    } as;                                                                       \
  } Name;                                                                       \
  BURN_UNUSED static inline const BurnType *Name##_type(void) {                 \
    static const BurnField fields[] = {ROWS(BURN_INTERNAL_CASE_FIELD, Name)};   \
    static const BurnType type = {BURN_TYPE_MODULE_VARIANT,                     \
                                  #Name,                                        \
                                  sizeof(Name),                                 \
                                  (uint32_t)(sizeof fields / sizeof fields[0]), \
                                  fields,                                       \
                                  NULL,                                         \
                                  0,                                            \
                                  NULL};                                        \
    return &type;                                                               \
  }                                                                             \
  BURN_INTERNAL_MODULE_COPIES(Name)                                             \
  ROWS(BURN_INTERNAL_CASE_MAKE, Name)                                           \
  struct Name

BURN_EXTERN_C_END

#endif
