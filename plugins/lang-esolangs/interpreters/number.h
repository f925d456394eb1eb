/* Whole numbers of any size. A small one lies in the word itself; a big one is on the heap, with a count of users. */

#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An odd word is twice a small number and one; an even word is the address of a big one. */
typedef intptr_t number;

#define SMALL_MAX (INTPTR_MAX >> 1)
#define SMALL_MIN (INTPTR_MIN >> 1)

static inline bool is_small(number a) { return a & 1; }

static inline int64_t small_value(number a) { return a >> 1; }

number number_of(int64_t value);

/* Who is given a number owns it: it is kept once more, or dropped once. What is computed is the caller's. */
number number_keep(number a);
void number_drop(number a);

number number_add(number a, number b);
number number_subtract(number a, number b);
number number_multiply(number a, number b);

/* The quotient rounded down, or towards zero; the remainder is that of the quotient rounded down. `b` is not zero. */
number number_floor_divide(number a, number b);
number number_truncate_divide(number a, number b);
number number_modulo(number a, number b);

/* -1, 0 or 1. */
int number_sign(number a);
bool number_equal(number a, number b);
uint64_t number_hash(number a);

/* True, and `value`, if the number has at most 64 bits. */
bool number_fits(number a, int64_t *value);

/* From `count` digits of the base 2 or 10, the most significant first. */
number number_from_digits(const unsigned char *digits, size_t count, unsigned base, bool negative);
void number_write(number a);

/* Adds the number to the text of the trace; of a very large one only its size. */
void number_trace(number a);

#endif
