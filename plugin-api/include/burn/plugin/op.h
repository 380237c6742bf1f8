/* op.h - ops.def as C: op numbers, attribute structs, the boxed call. */
#ifndef BURN_PLUGIN_OP_H
#define BURN_PLUGIN_OP_H

#include <burn/plugin/modes.h>
#include <burn/plugin/types.h>

/* BURN_OP_matmul and so on. BURN_OP_LIMIT is above the highest number of these headers, for tables by op: a plugin can
 * meet higher ones, from newer hosts and, from BURN_OP_FIRST_OF_PACKS up, of kernel packs. */
enum BurnOpNumber {
  BURN_OP_INVALID = 0,
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  BURN_OP_##name = (number),
#include <burn/plugin/ops.def>
#undef BURN_OP
  BURN_OP_LIMIT = 640,
  BURN_OP_FIRST_OF_PACKS = 65536
};

/* Attribute `update` of select_assign, scatter and scatter_nd: what becomes of the element x where a value v is put.
 * Several values for one element are applied one after the other, in row-major order, so with ASSIGN the last one
 * stays. Bool has ASSIGN, ADD (or) and MUL (and). */
enum BurnUpdate {
  BURN_UPDATE_ASSIGN = 0, /* v */
  BURN_UPDATE_ADD = 1,    /* x + v */
  BURN_UPDATE_MUL = 2,    /* x * v */
  BURN_UPDATE_MIN = 3,    /* the smaller; NaN wins */
  BURN_UPDATE_MAX = 4,    /* the larger; NaN wins */
  BURN_UPDATE_LIMIT = 5
};

/* Attribute `mode` of pad: what new elements are. */
enum BurnPadMode {
  BURN_PAD_CONSTANT = 0, /* `value` */
  BURN_PAD_REFLECT = 1,  /* mirrored at the outermost element, which is not repeated: c b | a b c | b a */
  BURN_PAD_EDGE = 2,     /* the outermost element */
  BURN_PAD_LIMIT = 3
};

/* What kind of work an op is. */
enum BurnTrait {
  BURN_TRAIT_ELEMENTWISE = 1, /* element i of the result needs element i of the (broadcast) inputs only */
  BURN_TRAIT_REDUCE = 2,      /* combines elements along axes */
  BURN_TRAIT_VIEW = 4,        /* other shape or order over the same storage where the backend has strides */
  BURN_TRAIT_CREATE = 8,      /* has no inputs */
  BURN_TRAIT_RANDOM = 16,     /* depends on seed and offset */
  BURN_TRAIT_COMPUTE = 32,    /* matrix product, convolution, pooling */
  BURN_TRAIT_MOVE = 64        /* copies elements to other indices */
};

/* For each op a struct BurnAttrs_<name> whose members are BurnAttr only, which is the layout of call->attrs. So
 * attributes have names in C and are still an array of tagged values for whoever handles calls in general. An op
 * without attributes has a struct with one member, `none`, only because C has no empty structs: its attr_count is 0,
 * there is nothing at call->attrs, and nobody reads it. */
#define BURN_ATTR(TAG, attr, fallback) BurnAttr attr;
#define BURN_NONE BurnAttr none;
#define BURN_OP(number, name, family, since, rule, kinds, inputs, attrs, outputs, form, gradient, traits, doc) \
  typedef struct BurnAttrs_##name {                                                                            \
    attrs                                                                                                      \
  } BurnAttrs_##name;
#include <burn/plugin/ops.def>
#undef BURN_OP
#undef BURN_ATTR
#undef BURN_NONE

/* Flags of a BurnOpCall. */
enum BurnCallFlag {
  BURN_CALL_DETERMINISTIC = 1 /* the same bits every time, whatever it costs */
};

/* One op applied to tensors. Plain data, borrowed for the duration of the call: it is executed, asked about, printed,
 * recorded and replayed. The host fills missing attributes and `output_descs` before any plugin sees the call.
 *
 * Ownership: inputs are borrowed. Every entry of `outputs` is NULL on entry; on success the callee stores a new
 * primitive with one reference that belongs to the caller; on failure it stores nothing. */
typedef struct BurnOpCall {
  uint32_t struct_size;
  uint32_t flags; /* BURN_CALL_* */
  uint32_t op;    /* BURN_OP_* */
  uint32_t attr_count;
  uint32_t input_count;
  uint32_t output_count;
  BurnPrimitive *const *inputs;       /* [input_count]; NULL for an absent optional input */
  BurnPrimitive **outputs;            /* [output_count] */
  const BurnAttr *attrs;              /* [attr_count], in the order of ops.def */
  const BurnTensorDesc *output_descs; /* [output_count]: the shape and dtype each output must have. NULL: the host
                                checks inputs and attributes and works it out. What is there is believed, so whoever
                                passes a call on with other inputs or attributes sets NULL */
  uint64_t donate;           /* bit i: the caller drops its reference to input i right after this call. Who holds
                                the only reference to a primitive and its storage may then write into it. */
  uint64_t correlation;      /* number of the call in logs and traces; 0 when unnumbered */
  const BurnExtension *next; /* extensions; NULL: none */
  uint32_t origin;           /* the op whose decomposition this call is a part of, the outermost; 0: none */
  uint32_t reserved;
} BurnOpCall;
#define BURN_OP_CALL_MIN_BYTES BURN_BYTES_THROUGH(BurnOpCall, reserved)

#if !defined(BURN_NO_INLINE)
/* The call as a struct of one's own, to be changed and passed on; with other inputs or attributes set output_descs to
 * NULL. Do not write `mine = *call`: the caller's may be shorter or longer than these headers say, and carries its own
 * size. */
static inline BurnOpCall burn_call_copy(const BurnOpCall *call) {
  BurnOpCall mine;
  burn_struct_copy(&mine, (uint32_t)sizeof mine, call);
  mine.struct_size = (uint32_t)sizeof mine; /* what came after the caller's headers is zero, which means as before */
  return mine;
}
#endif

/* The attributes of a call as the struct of its op: BURN_ATTRS(conv2d, call)->stride.value.i64s[0]. */
#define BURN_ATTRS(name, call) ((const BurnAttrs_##name *)(const void *)(call)->attrs)

/* What ops.def says of one op; the host returns it by number or by name. */
typedef struct BurnOpInfo {
  uint32_t struct_size;
  uint32_t op;
  const char *name;
  uint32_t input_count;    /* for list ops 1: the least number */
  uint32_t input_required; /* the first so many must be present */
  uint32_t takes_list;     /* 1: any number of inputs from 1 up */
  uint32_t output_count;
  uint32_t attr_count;
  uint32_t kinds;                 /* BURN_KIND_* accepted */
  uint32_t traits;                /* BURN_TRAIT_* */
  uint32_t is_composite;          /* 1: has a decomposition */
  uint32_t gradient;              /* BURN_GRADIENT_* */
  uint32_t since;                 /* the minor of the ABI in which the op came */
  const char *const *input_names; /* [input_count] */
  const char *const *attr_names;  /* [attr_count] */
  const BurnAttr *attr_defaults;  /* [attr_count]; tag NONE means required; a list: value.i64 for every axis, count 0 */
  const uint32_t *attr_tags;      /* [attr_count] BURN_ATTR_*; NUMBER: a call gives it the tag I64 or F64 */
  const char *doc;
  const char *family;         /* "activation"; files of core, decorators and backends are named by it */
  const uint32_t *attr_since; /* [attr_count] the minor in which the attribute came; NULL: all with the op */
} BurnOpInfo;
#define BURN_OP_INFO_MIN_BYTES BURN_BYTES_THROUGH(BurnOpInfo, attr_since)

#if !defined(BURN_NO_INLINE)
/* The schema version of an op: the minor that a plugin must know to run calls with every attribute of it. */
static inline uint32_t burn_op_schema(const BurnOpInfo *info) {
  uint32_t newest = info->since, i;
  for (i = 0; info->attr_since && i < info->attr_count; i++) {
    if (info->attr_since[i] > newest) newest = info->attr_since[i];
  }
  return newest;
}
#endif

/* How gradients pass an op; see ops.def. */
enum BurnGradientForm { BURN_GRADIENT_CONSTANT = 0, BURN_GRADIENT_RULE = 1, BURN_GRADIENT_VIA = 2 };

#endif
