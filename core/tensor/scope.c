/* scope.c - scopes: handles made on a thread since a point in time, dropped together.
 *
 * A handle lies in the ring of the scope that it belongs to and knows that scope's depth, so it leaves without a
 * search. One lock for all rings: a handle may be taken on another thread than the one whose scope it is in. */
#include "guard.h"

struct BurnScope {
  BurnScope *parent;
  BurnScopeLink handles; /* the ring's beginning */
  uint32_t depth;        /* 1 for the outermost */
};

static BURN__THREAD_LOCAL BurnScope *innermost;
pthread_mutex_t burn__scope_mutex = PTHREAD_MUTEX_INITIALIZER;

static BurnTensor *handle_of(BurnScopeLink *link) {
  return (BurnTensor *)(void *)((char *)link - offsetof(BurnTensor, scope_link));
}

/* -- with the lock ---------------------------------------------------------------------------- */

static void detach(BurnTensor *x) {
  if (x->scope_depth == 0) return;
  x->scope_link.previous->next = x->scope_link.next;
  x->scope_link.next->previous = x->scope_link.previous;
  x->scope_depth = 0;
}

static void insert_after(BurnScopeLink *previous, BurnTensor *x, uint32_t depth) {
  x->scope_link = (BurnScopeLink){previous, previous->next};
  previous->next->previous = &x->scope_link;
  previous->next = &x->scope_link;
  x->scope_depth = (uint16_t)depth;
}

static void move_to(BurnScope *scope, BurnTensor *x) {
  if (burn__tensor_is_shared(x)) return;
  pthread_mutex_lock(&burn__scope_mutex);
  detach(x);
  if (scope) insert_after(scope->handles.previous, x, scope->depth);
  pthread_mutex_unlock(&burn__scope_mutex);
}

/* Takes the oldest handle out of the scope; NULL if it is empty. */
static BurnTensor *oldest(BurnScope *scope) {
  pthread_mutex_lock(&burn__scope_mutex);
  BurnTensor *x = scope->handles.next != &scope->handles ? handle_of(scope->handles.next) : NULL;
  if (x) detach(x);
  pthread_mutex_unlock(&burn__scope_mutex);
  return x;
}

/* -- for tensor.c ----------------------------------------------------------------------------- */

void burn__scope_enter(BurnTensor *x) {
  if (innermost || x->scope_depth > 0) move_to(innermost, x);
}

void burn__scope_leave(BurnTensor *x) {
  if (x->scope_depth > 0) move_to(NULL, x);
}

void burn__scope_replace(BurnTensor *x, BurnTensor *old) {
  if (burn__tensor_is_shared(x)) return;
  pthread_mutex_lock(&burn__scope_mutex);
  detach(x);
  if (old->scope_depth > 0) insert_after(&old->scope_link, x, old->scope_depth);
  detach(old);
  pthread_mutex_unlock(&burn__scope_mutex);
}

/* -- public ----------------------------------------------------------------------------------- */

BurnScope *burn_scope_begin(void) {
  const uint32_t depth = innermost ? innermost->depth + 1 : 1;
  BurnScope *scope = depth <= UINT16_MAX ? burn__small_allocate(sizeof *scope) : NULL;
  if (!scope) {
    burn__log(BURN_LOG_ERROR, "scope", "scope_begin: no room for a scope in %u others; what is made stays", depth - 1);
    return NULL;
  }
  *scope = (BurnScope){.parent = innermost, .handles = {&scope->handles, &scope->handles}, .depth = depth};
  innermost = scope;
  atomic_fetch_add_explicit(&burn__watch, 1, memory_order_relaxed);
  return scope;
}

/* The scope is open on this thread; its memory is not looked at before. */
static bool is_open(const BurnScope *scope, const char *user) {
  for (const BurnScope *open = innermost; open; open = open->parent) {
    if (open == scope) return true;
  }
  if (scope) burn__log(BURN_LOG_ERROR, "scope", "%s: the scope was ended, or was begun by another thread", user);
  return false;
}

/* A handle that a function of this file may move. */
static bool is_movable(const BurnTensor *x) { return x && (!burn__is_guarded() || burn__guard_is_live(x)); }

BurnTensor *burn_scope_keep(BurnScope *scope, BurnTensor *x) {
  if (burn__watching() == 0 || !is_movable(x)) return x;
  if (!scope) {
    burn__scope_leave(x);
  } else if (is_open(scope, "scope_keep") && x->scope_depth >= scope->depth) {
    move_to(scope->parent, x);
  }
  return x;
}

BurnTensor *burn_scope_adopt(BurnScope *scope, BurnTensor *x) {
  if (is_open(scope, "scope_adopt") && is_movable(x)) move_to(scope, x);
  return x;
}

/* Inner scopes that are still open end with this one. */
static void end_innermost(void) {
  BurnScope *scope = innermost;
  for (BurnTensor *x = oldest(scope); x; x = oldest(scope)) burn__tensor_take(x, "scope_end");
  innermost = scope->parent;
  atomic_fetch_sub_explicit(&burn__watch, 1, memory_order_relaxed);
  burn__small_free(scope, sizeof *scope);
}

BurnTensor *burn_scope_end(BurnScope *scope, BurnTensor *kept) {
  if (!is_open(scope, "scope_end")) return kept;
  burn_scope_keep(scope, kept);
  const BurnScope *parent = scope->parent;
  while (innermost != parent) end_innermost();
  return kept;
}
