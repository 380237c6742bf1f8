/* pickle.h - Python's pickles as data. A pickle is a program for a stack machine; this one runs its opcodes and makes a
 * graph of objects, in which a call of a Python function is a note of its name and arguments. Nothing is called, looked
 * up or imported: what a name means is for the reader of the graph (pytorch_globals.def) to say.
 *
 * Bytes are hostile. The work is linear in their number; memory is counted and refused beyond a limit; the graph may
 * share objects and have cycles, so whoever walks it bounds the walk. */
#ifndef BURN_IMPORT_PICKLE_H
#define BURN_IMPORT_PICKLE_H

#include <burn/error.h>

#include <stddef.h>
#include <stdint.h>

/* An object by its place in the graph. */
typedef uint32_t PickleRef;
enum { PICKLE_NOTHING = 0 }; /* no object: what a call without a state has for one */

enum {
  PICKLE_NONE = 1,
  PICKLE_BOOL,       /* integer */
  PICKLE_INT,        /* integer */
  PICKLE_LONG,       /* text: a number beyond int64_t, as its two's complement, lowest byte first */
  PICKLE_FLOAT,      /* number */
  PICKLE_TEXT,       /* text; also bytes */
  PICKLE_TUPLE,      /* list */
  PICKLE_LIST,       /* list; also a set */
  PICKLE_DICT,       /* list: keys and values in turns */
  PICKLE_GLOBAL,     /* pair: module, name */
  PICKLE_CALL,       /* call */
  PICKLE_PERSISTENT, /* pair: the id, nothing */
  PICKLE_MARK        /* never in a graph */
};

typedef struct PickleText {
  const uint8_t *bytes; /* within the pickle */
  size_t count;
} PickleText;

typedef struct PickleList {
  PickleRef *items;
  uint32_t count, room;
} PickleList;

/* callable(*arguments), with what was put into its result after: a state (BUILD), and items as a list or dict. */
typedef struct PickleCall {
  PickleRef callable, arguments, state, items;
} PickleCall;

typedef struct PickleObject {
  uint32_t kind;
  uint64_t offset; /* of the opcode that made it, from the beginning of the file or member */
  union {
    int64_t integer;
    double number;
    PickleText text;
    PickleList list;
    PickleRef pair[2];
    PickleCall call;
  } as;
} PickleObject;

/* The graph of one or several pickles. Start with burn__pickle_init, end with burn__pickle_release. */
typedef struct Pickle {
  PickleObject *objects; /* [count]; the first is none */
  size_t count, room;
  uint64_t memory, memory_limit; /* bytes allocated, of all pickles */
} Pickle;

/* An empty graph that may take so many bytes. */
void burn__pickle_init(Pickle *pickle, uint64_t memory_limit);
void burn__pickle_release(Pickle *pickle);

/* Runs one pickle, up to its STOP, into the graph: *root is its object, *used its number of bytes. The bytes stay where
 * they are for as long as the graph is in use. `base` is their place in the file, added to offsets. CORRUPT_DATA,
 * INCOMPATIBLE (an opcode that is refused), OUT_OF_RANGE (beyond the limit) and OUT_OF_MEMORY name the byte. */
BURN_USE_RESULT BurnStatus burn__pickle_run(Pickle *pickle, const uint8_t *bytes, size_t count, uint64_t base,
                                            PickleRef *root, size_t *used);

/* The object; borrowed until the graph grows. */
static inline PickleObject *burn__pickle_at(const Pickle *pickle, PickleRef ref) { return &pickle->objects[ref]; }

/* Counts `bytes` that are about to be allocated; OUT_OF_RANGE beyond the limit. */
BURN_USE_RESULT BurnStatus burn__pickle_charge(Pickle *pickle, uint64_t bytes);
/* A new object; *ref is its place. */
BURN_USE_RESULT BurnStatus burn__pickle_make(Pickle *pickle, uint32_t kind, uint64_t offset, PickleRef *ref);
/* Adds an item to a list, tuple or dict. */
BURN_USE_RESULT BurnStatus burn__pickle_push(Pickle *pickle, PickleRef list, PickleRef item);

/* True if the object is a text with these characters. */
bool burn__pickle_is_text(const Pickle *pickle, PickleRef ref, const char *text);
/* An item of a tuple or list, PICKLE_NOTHING past its end or of anything else. */
PickleRef burn__pickle_item(const Pickle *pickle, PickleRef list, uint32_t index);
/* The value of a text key of a dict, or of a call that has items such as OrderedDict(); PICKLE_NOTHING if absent. */
PickleRef burn__pickle_get(const Pickle *pickle, PickleRef dict, const char *key);
/* The items of a list or dict, or those put into the result of a call; NULL if it has none. */
const PickleObject *burn__pickle_items(const Pickle *pickle, PickleRef ref);
/* An int or bool that is at least 0; false for everything else. */
bool burn__pickle_size(const Pickle *pickle, PickleRef ref, uint64_t *size);
/* "torch._utils._rebuild_tensor_v2" of a global: at most `room` bytes with the terminator; control characters become
 * question marks. What is not a global is "(no name)". */
void burn__pickle_name(const Pickle *pickle, PickleRef global, char *name, size_t room);

#endif
