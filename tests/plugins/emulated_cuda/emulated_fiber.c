/* emulated_fiber.c - stacks and the change between them: six registers on x86-64, ucontext on other CPUs. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "emulated_fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

static char *stacks;
static unsigned running;
static const uint64_t guard = UINT64_C(0x5afe57ac5afe57ac); /* at the low end of each stack */

static char *stack_of(unsigned i) { return stacks + (size_t)i * FIBER_STACK_BYTES; }

int emulated_fibers_ready(void) {
  if (stacks) return 1;
  void *memory = mmap(NULL, (size_t)FIBER_LIMIT * FIBER_STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 0;
  stacks = memory;
  return 1;
}

#if defined(__x86_64__)
/* Pushes what a function keeps for its caller, changes the stack, and pops the same of the other. */
void emulated_switch(void **save, void *load);
__asm__(
    ".text\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size emulated_switch, . - emulated_switch\n");

static void *fibers[FIBER_LIMIT], *caller;

void emulated_fiber_make(unsigned i, void (*entry)(void)) {
  uint64_t *top = (uint64_t *)(void *)(stack_of(i) + FIBER_STACK_BYTES);
  memcpy(stack_of(i), &guard, sizeof guard);
  *--top = 0; /* where entry would return to */
  *--top = 0; /* so that entry begins as after a call */
  top[0] = (uint64_t)(uintptr_t)entry;
  for (int k = 0; k < 6; k++) *--top = 0;
  fibers[i] = top;
}

static void change(unsigned i) { emulated_switch(&caller, fibers[i]); }
void emulated_fiber_leave(void) { emulated_switch(&fibers[running], caller); }
#else
static ucontext_t fibers[FIBER_LIMIT], caller;

void emulated_fiber_make(unsigned i, void (*entry)(void)) {
  memcpy(stack_of(i), &guard, sizeof guard);
  (void)getcontext(&fibers[i]);
  fibers[i].uc_stack.ss_sp = stack_of(i);
  fibers[i].uc_stack.ss_size = FIBER_STACK_BYTES;
  fibers[i].uc_link = NULL;
  makecontext(&fibers[i], entry, 0);
}

static void change(unsigned i) { (void)swapcontext(&caller, &fibers[i]); }
void emulated_fiber_leave(void) { (void)swapcontext(&fibers[running], &caller); }
#endif

int emulated_fiber_enter(unsigned i) {
  running = i;
  change(i);
  return memcmp(stack_of(i), &guard, sizeof guard) == 0;
}
