/* lazy.h - what the files of the backend "lazy" share. */
#ifndef BURN_TEST_LAZY_H
#define BURN_TEST_LAZY_H

#include <burn/plugin/device.h>

#include <pthread.h>
#include <stdbool.h>

/* Ways to be wrong, for tests of `burn conform --level async`: the option wrong=name. */
#define LAZY_WRONGS(X)                                                                                    \
  X(READS_LATE, reads_late)       /* a read runs after the work that comes after it, which is in place */ \
  X(DONE_AT_ONCE, done_at_once)   /* event_query says so */                                               \
  X(WAITS_NOT, waits_not)         /* event_wait returns at once */                                        \
  X(WAITS_ONCE, waits_once)       /* the second event_wait on an event fails */                           \
  X(NEEDS_DATA, needs_data)       /* create_async reads its data after its event */                       \
  X(WRITES_SHARED, writes_shared) /* write_async into a tensor that others hold */                        \
  X(MOVES, moves)                 /* write_async gives the tensor other memory */                         \
  X(COPIES_EARLY, copies_early)   /* copy_from does not wait for the work of the source */                \
  X(LOSES_FAILURES, loses_failures)                                                                       \
  X(NAMES_NOTHING, names_nothing)       /* messages without names of ops */                               \
  X(DESCRIBES_BEYOND, describes_beyond) /* struct_size */                                                 \
  X(ENDLESS_TEXT, endless_text)         /* the name of the device has no terminating zero */              \
  X(NO_TEXT, no_text)                   /* it is not UTF-8 */                                             \
  X(LEAKS, leaks)                       /* a tensor per read */                                           \
  X(READS_NOTHING, reads_nothing)       /* read_async does nothing and gives no event */                  \
  X(UPLOADS_UNTOLD, uploads_untold)     /* create_async gives no event */                                 \
  X(UPLOADS_NOTHING, uploads_nothing)   /* create_async gives no tensor */                                \
  X(COPIES_NOTHING, copies_nothing)     /* copy_from gives no tensor */
enum {
  LAZY_RIGHT = 0,
#define LAZY_NUMBER(NAME, name) LAZY_##NAME,
  LAZY_WRONGS(LAZY_NUMBER)
#undef LAZY_NUMBER
};

/* A primitive: its shape is known at once, `inner` of the reference once the work is done. */
typedef struct LazyTensor {
  BurnPrimitive header;
  unsigned references; /* under the mutex, as is the next */
  unsigned callers;    /* those of the references that callers hold; work in the queue has the others */
  BurnPrimitive *inner;
  int64_t shape[BURN_MAX_RANK];
} LazyTensor;

typedef enum Kind { RUN_OP, CREATE, READ, WRITE, COPY } Kind;

/* One piece of work. Tensors in it hold a reference. */
typedef struct Piece {
  struct Piece *next;
  Kind kind;
  uint64_t number; /* of the queue; done when `finished` has reached it */
  BurnOpCall call; /* RUN_OP: with copies of all that it points to */
  BurnTensorDesc descs[BURN_MAX_OUTPUTS];
  BurnAttr *attrs;
  int64_t *lists; /* of the attributes */
  LazyTensor **inputs, *outputs[BURN_MAX_OUTPUTS];
  const void *from;
  void *to, *owned; /* owned: a copy of the data, freed with the piece */
  uint64_t bytes;
} Piece;

typedef struct Lazy {
  const BurnHost *host;
  uint32_t owner;
  BurnBackend reference;
  long delay_us;
  uint32_t failing_op; /* BURN_OP_INVALID: none */
  uint32_t wrong;      /* LAZY_* */
  pthread_t thread;
  pthread_mutex_t mutex; /* guards all below, and the tensors */
  pthread_cond_t work, progress;
  Piece *first, *last;
  uint64_t submitted, finished;
  bool ending;
  int64_t live, waits;
  char failure[256]; /* "" : none that has not been told */
  char recent[128];  /* names of the ops since the last wait */
} Lazy;

struct BurnEvent {
  uint64_t number;
  bool waited; /* for, once */
};

static inline LazyTensor *lazy(BurnPrimitive *x) { return (LazyTensor *)(void *)x; }
BurnStatus lazy_fail(const Lazy *self, uint32_t code, const char *message);

/* Under the mutex: a piece of one kind around one input or one output; NULL when out of memory. */
Piece *lazy_piece_new(Lazy *self, Kind kind, BurnPrimitive *input, const BurnTensorDesc *output);
/* Puts a piece into the queue and gives its outputs out; takes it. Not complete: memory ran out for it. */
BurnStatus lazy_submit_piece(Lazy *self, Piece *piece, bool complete, BurnPrimitive **outputs);
BurnStatus lazy_read_piece(Lazy *self, BurnPrimitive *x, void *data, uint64_t bytes);
/* Until piece `number` is done; counts if it was not. */
BurnStatus lazy_wait_for(Lazy *self, uint64_t number);
BurnTensorDesc lazy_desc_of(const LazyTensor *x);

/* Takes the mutex: create of the table. */
BurnStatus BURN_API_CALL lazy_create(void *state, const BurnTensorDesc *desc, const void *data, BurnPrimitive **out);

/* lazy_kernel.c */
int32_t BURN_API_CALL lazy_kernel_takes_code(void *state, const BurnDeviceCode *code);
BurnStatus BURN_API_CALL lazy_kernel_load(void *state, const BurnDeviceCode *code, const char *entry,
                                          BurnLoadedKernel **out);
void BURN_API_CALL lazy_kernel_unload(void *state, BurnLoadedKernel *kernel);
BurnStatus BURN_API_CALL lazy_kernel_launch(void *state, BurnLoadedKernel *kernel, const BurnOpCall *call,
                                            const BurnDeviceLaunch *launch);

extern const BurnDeviceInterface lazy_device_interface; /* lazy_device.c */

#endif
