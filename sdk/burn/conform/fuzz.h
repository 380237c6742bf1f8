/* fuzz.h - burn conform --fuzz: random graphs of ops on two stacks.
 *
 * A graph is plain data: leaves with literal values, nodes (ops with attributes), and for every value when it is read,
 * whether its last handle is given to an op or a clone, and whether it asks for gradients. It lies in memory that
 * parent and child share, so a graph that crashes a stack is still there afterwards.
 *
 * Three runs of a graph are compared. The reference is stack A op by op with every tensor kept and read. Then both
 * stacks run the graph as drawn: handles given away, reads only where drawn, leaves tracked. Equal bits are equal.
 * Otherwise the reference runs again with every inexact result moved by what its op may be wrong (compare.c): what that
 * moves, and nothing else, may differ, by as much. Integers pass most ops exactly, so half of the graphs are
 * compared bit by bit to their ends. */
#ifndef BURN_SDK_FUZZ_H
#define BURN_SDK_FUZZ_H

#include "conform.h"

enum { FUZZ_MAX_VALUES = 64, FUZZ_MAX_NODES = 20, FUZZ_POOL = 1 << 18, FUZZ_ARENA = 1 << 20 };

typedef struct FuzzValue {
  BurnTensorDesc desc;
  int32_t node;  /* that makes it; -1: a leaf */
  uint32_t data; /* of a leaf: offset into the pool */
  bool tracked;  /* of a leaf: asks for a gradient */
  bool kept;     /* held to the end and read there */
  bool watched;  /* read as soon as it is made */
} FuzzValue;

typedef struct FuzzNode {
  Sample sample;
  int32_t inputs[SAMPLE_MAX_INPUTS]; /* values; -1: absent */
  bool given[SAMPLE_MAX_INPUTS];     /* the handle itself instead of a clone: a last use */
  uint32_t first_output;
} FuzzNode;

/* What is done with gradients. */
enum { FUZZ_PLAIN = 0, FUZZ_TRACKED = 1 /* recorded, not walked */, FUZZ_BACKWARD = 2 };

typedef struct FuzzGraph {
  uint64_t seed;
  uint32_t value_count, node_count, pool_used, mode;
  FuzzValue values[FUZZ_MAX_VALUES];
  FuzzNode nodes[FUZZ_MAX_NODES];
  char pool[FUZZ_POOL];
} FuzzGraph;

void fuzz_copy(FuzzGraph *to, const FuzzGraph *from);
/* Last node that takes value v; -1: none. */
int32_t fuzz_last_use(const FuzzGraph *graph, uint32_t v);
/* Descriptions of all results again, after leaves or attributes have changed; false if a shape rule refuses. */
bool fuzz_infer(FuzzGraph *graph);
/* "tanh add sum" */
void fuzz_ops(const FuzzGraph *graph, char *text, size_t bytes);

/* -- running (fuzz_run.c) --------------------------------------------------------------------- */

/* How a graph is run: bits. */
enum {
  FUZZ_KEEP_ALL = 1, /* every input is cloned, every value stays */
  FUZZ_READ_ALL = 2, /* every value is read when it is made */
  FUZZ_TRACK = 4,    /* leaves ask for gradients as drawn */
  FUZZ_WALK = 8,     /* backward from the kept values */
  FUZZ_MOVE = 16     /* inexact results are moved by what their op may be wrong, by seed `moves` */
};

typedef struct FuzzRun {
  char *arena; /* FUZZ_ARENA bytes, for what is read */
  size_t used;
  const void *early[FUZZ_MAX_VALUES], *late[FUZZ_MAX_VALUES], *gradients[FUZZ_MAX_VALUES]; /* NULL: not read */
  int32_t failed_node;                                                                     /* -1: none */
  BurnStatus status;
  char why[400]; /* "" if all is well */
} FuzzRun;

/* A graph on its way through a device. */
typedef struct FuzzSession {
  BurnDevice *device;
  const FuzzGraph *graph;
  FuzzRun *run;
  uint32_t how;
  uint64_t moves;
  const uint8_t *classes; /* by value, for FUZZ_MOVE: FUZZ_BITS .. */
  BurnTensor *handles[FUZZ_MAX_VALUES], *leaves[FUZZ_MAX_VALUES];
  bool made[FUZZ_MAX_VALUES];
  int64_t live;
} FuzzSession;

void fuzz_begin(FuzzSession *session, BurnDevice *device, const FuzzGraph *graph, uint32_t how, FuzzRun *run);
/* Runs the next node. False if it failed; run->why says how. */
bool fuzz_step(FuzzSession *session, uint32_t node);
/* Last reads, backward; drops everything. False if something failed. */
bool fuzz_end(FuzzSession *session);
/* All of it. */
bool fuzz_run(FuzzSession *session, BurnDevice *device, const FuzzGraph *graph, uint32_t how, FuzzRun *run);

/* -- comparing (fuzz_compare.c) --------------------------------------------------------------- */

/* How surely a value is the same everywhere. */
enum {
  FUZZ_BITS = 0, /* to the bit */
  FUZZ_WHOLE,    /* sums of small integers: exact in any order, but for the sign of a zero */
  FUZZ_INEXACT   /* within what the reference moves */
};

/* What differs. */
enum { FUZZ_EQUAL = 0, FUZZ_EARLY, FUZZ_LATE, FUZZ_GRADIENT, FUZZ_FAILS, FUZZ_CRASHES, FUZZ_HANGS };

typedef struct FuzzOutcome {
  uint32_t kind;  /* FUZZ_EQUAL .. */
  uint32_t side;  /* 0: stack A as drawn differs from stack A with everything kept; 1: stack B does */
  uint32_t value; /* of EARLY, LATE, GRADIENT */
  int64_t element;
  double found, expected, tolerance;
  int64_t found_integer, expected_integer; /* of integers */
  char reason[1024];
} FuzzOutcome;

typedef struct FuzzCounts {
  uint64_t graphs, nodes, given, views, watched, backward, refused;
  uint64_t by_bits, by_tolerance, not_comparable; /* values */
  uint64_t ops[BURN_OP_LIMIT];
} FuzzCounts;

typedef struct FuzzStacks {
  const char *text[2];
  BurnDevice *plain[2], *training[2]; /* training: NULL if there is none */
  bool same_training;
  uint32_t dtypes;
  FuzzRun nominal, drawn, moved, walked;
  double *deviations; /* of the value under comparison */
  FuzzCounts *counts; /* NULL: nobody counts */
  uint32_t *stage; /* who runs now, for the parent: 0 stack A with everything kept, 1 stack A, 2 stack B; may be NULL */
} FuzzStacks;

bool fuzz_stacks_open(FuzzStacks *stacks, char *why, size_t why_bytes);
void fuzz_stacks_close(FuzzStacks *stacks);

/* Runs the graph on both stacks. `has_nominal`: stacks->nominal is there already, from generating it. */
void fuzz_check(FuzzStacks *stacks, const FuzzGraph *graph, bool has_nominal, FuzzOutcome *out);

/* -- generating (fuzz_graph.c) ---------------------------------------------------------------- */

/* Graph number `index` of a seed: drawn while it runs on stack A, which leaves stacks->nominal. */
void fuzz_generate(FuzzStacks *stacks, uint64_t seed, FuzzGraph *graph);

/* -- shrinking (fuzz_shrink.c), printing (fuzz_print.c) --------------------------------------- */

/* What a graph does, found out somewhere safe. `values`: the graph with the results of node `n` filled in as leaves, by
 * stack A; false if that is not possible. */
typedef struct FuzzProbe {
  void *context;
  void (*outcome)(void *context, const FuzzGraph *graph, FuzzOutcome *out);
  bool (*values)(void *context, FuzzGraph *graph, uint32_t n);
} FuzzProbe;
/* Makes the graph smaller for as long as it has the same kind of outcome; the last one is left in `outcome`. */
void fuzz_shrink(FuzzGraph *graph, FuzzOutcome *outcome, const FuzzProbe *probe);

/* The graph as a C program that exits with 1 if the outcome happens again. malloc'd; NULL without memory. */
char *fuzz_program(const FuzzGraph *graph, const FuzzOutcome *outcome, const char *const stacks[2],
                   const char *command);

/* -- the command (fuzz.c) --------------------------------------------------------------------- */

typedef struct FuzzOptions {
  const char *stacks[2];
  uint64_t count, seed, first; /* graphs first .. first + count - 1 */
  uint64_t most;               /* stop after so many that differ */
  uint64_t patience;           /* seconds without a graph done that count as hanging */
  uint64_t limit;              /* seconds after which no graph is begun; 0: none */
  bool json;
} FuzzOptions;

/* Returns COMMAND_*. */
int fuzz_command(const FuzzOptions *options);

#endif
