/* emulated_fiber.h - threads of a block that wait for each other, on one thread of the CPU: each has a stack of its own,
 * and the CPU goes from one to the next where they wait. */
#ifndef BURN_EMULATED_FIBER_H
#define BURN_EMULATED_FIBER_H

#include <stddef.h>

enum { FIBER_STACK_BYTES = 128 << 10, FIBER_LIMIT = 1024 };

/* Makes the stacks, once; 0: no memory. */
int emulated_fibers_ready(void);

/* Fiber i, new, from `entry` on, which ends by emulated_fiber_leave and never returns. */
void emulated_fiber_make(unsigned i, void (*entry)(void));

/* Runs fiber i until it leaves; 0: it has written beyond its stack. */
int emulated_fiber_enter(unsigned i);
void emulated_fiber_leave(void);

#endif
