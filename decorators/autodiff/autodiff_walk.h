/* autodiff_walk.h - a backward pass under way, as its files share it. */
#ifndef BURN_AUTODIFF_WALK_H
#define BURN_AUTODIFF_WALK_H

#include "autodiff_internal.h"

typedef struct WalkEntry {
  AutodiffNode *node; /* borrowed: the root holds it through its children */
  BurnPrimitive *gradients[BURN_MAX_OUTPUTS];
  uint64_t slices; /* the last slice of output 0 that waits to be joined, as entry + 1; 0: none (autodiff_slices.c) */
  uint64_t next_slice; /* of such a slice: the one before it, likewise */
} WalkEntry;

typedef struct WalkOrder {
  uint64_t sequence;
  uint64_t entry;
} WalkOrder;

typedef struct Walk {
  AutodiffDecorator *decorator;
  const BurnBackend *level; /* where the rules run and gradients live: below the decorator; or on it, so that they have
                               a history of their own */
  WalkEntry *entries;       /* [capacity]; the start of one block that holds the other arrays too */
  WalkOrder *order;         /* [capacity] */
  uint64_t *slots;          /* [2 * capacity]; hash table from node to entry + 1; 0: free */
  uint64_t count, capacity;
} Walk;

static inline bool autodiff_creates_graph(const Walk *walk) { return walk->level != walk->decorator->next; }

/* -- autodiff_backward.c ---------------------------------------------------------------------- */

/* The entry of a node that the walk has collected. */
WalkEntry *burn__autodiff_entry(const Walk *walk, const AutodiffNode *node);
/* Runs the rule of one node, unless a rule before it let no gradient through. */
BurnStatus burn__autodiff_step(const Walk *walk, const WalkEntry *entry);
/* Adds a gradient, whose reference it takes over, to what has arrived at an output. The first is kept as it is. */
BurnStatus burn__autodiff_accumulate(const Walk *walk, BurnPrimitive **sum, BurnPrimitive *gradient);
void burn__autodiff_drop_gradients(const Walk *walk, WalkEntry *entry);
/* Drops what is saved with a node: what was computed again, and where the walk consumes the graph the rest, too. */
void burn__autodiff_drop_saved(const Walk *walk, AutodiffNode *node);
/* A node whose gradients have gone where they belong: drops them, and what was saved for its rule. */
void burn__autodiff_finish(const Walk *walk, WalkEntry *entry);

/* -- autodiff_recompute.c --------------------------------------------------------------------- */

/* Computes what the rule of a node reads and nobody has saved, and all that this takes; the values stay with the nodes
 * that made them until the walk has finished those. */
BurnStatus burn__autodiff_recompute(const Walk *walk, AutodiffNode *node);
/* Drops those values of a node. */
void burn__autodiff_drop_recomputed(const Walk *walk, AutodiffNode *node);

/* -- autodiff_slices.c ------------------------------------------------------------------------ */

/* True if the entry is a slice whose gradient now waits at the maker of its input. */
bool burn__autodiff_defer_slice(const Walk *walk, WalkEntry *entry);
/* Makes one gradient of output 0 of the slices that wait at the entry. */
BurnStatus burn__autodiff_join_slices(const Walk *walk, WalkEntry *entry);

#endif
