/* The instruction pointer of Befunge-98 and its stacks. */

#ifndef BEFUNGE_H
#define BEFUNGE_H

#include "befunge_space.h"
#include "common.h"

extern struct point position, delta, storage_offset;

static inline void reflect(void) { delta = times(delta, -1); }

/* The top of the stack of stacks. To pop from the empty stack is an error in the benchmark's dialect, and 0 in the
 * standard's. A point is pushed as x, then y. */
void push(int64_t value);
int64_t pop(void);
struct point pop_point(void);
void clear_stack(void);
void duplicate(void);
void swap(void);

/* Tells the trace of the top of the stack of stacks, its last cell first, and of how many there are. */
void tell_stack(void);

/* The instructions `{`, `}` and `u`, and `y`, which tells about the interpreter. */
void begin_block(void);
void end_block(void);
void stack_under_stack(void);
void tell(void);

#endif
