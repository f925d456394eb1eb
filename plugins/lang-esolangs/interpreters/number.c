/* Whole numbers of any size: sign and magnitude, in limbs of 32 bits, the least significant first. */

#include "number.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "trace.h"

#define MOST_TRACED_LIMBS 400 /* digits of more take too long to find at each event */

struct big {
    size_t users, length;
    bool negative;
    uint32_t limbs[];
};

/* A number of either kind as sign and magnitude. */
struct view {
    size_t length;
    bool negative;
    const uint32_t *limbs;
    uint32_t own[2];
};

static void look(struct view *view, number a) {
    if (is_small(a)) {
        int64_t value = small_value(a);
        uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        view->own[0] = (uint32_t)magnitude;
        view->own[1] = (uint32_t)(magnitude >> 32);
        *view = (struct view){view->own[1] ? 2 : view->own[0] != 0, value < 0, NULL, {view->own[0], view->own[1]}};
        view->limbs = view->own;
        return;
    }
    const struct big *big = (const struct big *)a;
    view->length = big->length;
    view->negative = big->negative;
    view->limbs = big->limbs;
}

static struct big *new_big(size_t length) {
    struct big *big = allocate(1, sizeof(struct big) + length * sizeof(uint32_t));
    big->users = 1;
    big->length = length;
    return big;
}

/* `big` as a number, small if it can be. */
static number settle(struct big *big) {
    while (big->length && !big->limbs[big->length - 1])
        big->length--;
    if (big->length > 2)
        return (number)big;
    uint64_t magnitude = 0;
    for (size_t i = big->length; i > 0; i--)
        magnitude = magnitude << 32 | big->limbs[i - 1];
    if (magnitude > SMALL_MAX)
        return (number)big;
    number result = number_of(big->negative ? -(int64_t)magnitude : (int64_t)magnitude);
    free(big);
    return result;
}

number number_of(int64_t value) {
    if (value >= SMALL_MIN && value <= SMALL_MAX)
        return (number)((uint64_t)value << 1 | 1);
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    struct big *big = new_big(2);
    big->negative = value < 0;
    big->limbs[0] = (uint32_t)magnitude;
    big->limbs[1] = (uint32_t)(magnitude >> 32);
    return (number)big;
}

number number_keep(number a) {
    if (!is_small(a))
        ((struct big *)a)->users++;
    return a;
}

void number_drop(number a) {
    if (!is_small(a) && --((struct big *)a)->users == 0)
        free((struct big *)a);
}

static int compare_magnitudes(const struct view *a, const struct view *b) {
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    for (size_t i = a->length; i > 0; i--)
        if (a->limbs[i - 1] != b->limbs[i - 1])
            return a->limbs[i - 1] < b->limbs[i - 1] ? -1 : 1;
    return 0;
}

static struct big *add_magnitudes(const struct view *a, const struct view *b) {
    size_t length = (a->length > b->length ? a->length : b->length) + 1;
    struct big *sum = new_big(length);
    uint64_t carry = 0;
    for (size_t i = 0; i < length; i++) {
        carry += (uint64_t)(i < a->length ? a->limbs[i] : 0) + (i < b->length ? b->limbs[i] : 0);
        sum->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return sum;
}

/* The greater magnitude less the smaller. */
static struct big *subtract_magnitudes(const struct view *a, const struct view *b) {
    struct big *difference = new_big(a->length);
    int64_t borrow = 0;
    for (size_t i = 0; i < a->length; i++) {
        borrow += (int64_t)a->limbs[i] - (i < b->length ? b->limbs[i] : 0);
        difference->limbs[i] = (uint32_t)borrow;
        borrow = borrow < 0 ? -1 : 0;
    }
    return difference;
}

static number add_views(const struct view *a, const struct view *b) {
    charge((a->length + b->length) / 8);
    bool swapped = compare_magnitudes(a, b) < 0;
    const struct view *more = swapped ? b : a, *less = swapped ? a : b;
    struct big *sum = a->negative == b->negative ? add_magnitudes(a, b) : subtract_magnitudes(more, less);
    sum->negative = more->negative;
    return settle(sum);
}

number number_add(number a, number b) {
    if (is_small(a) && is_small(b))
        return number_of(small_value(a) + small_value(b));
    struct view left, right;
    look(&left, a);
    look(&right, b);
    return add_views(&left, &right);
}

number number_subtract(number a, number b) {
    if (is_small(a) && is_small(b))
        return number_of(small_value(a) - small_value(b));
    struct view left, right;
    look(&left, a);
    look(&right, b);
    right.negative = !right.negative;
    return add_views(&left, &right);
}

number number_multiply(number a, number b) {
    int64_t product;
    if (is_small(a) && is_small(b) && !__builtin_mul_overflow(small_value(a), small_value(b), &product))
        return number_of(product);
    struct view left, right;
    look(&left, a);
    look(&right, b);
    charge(left.length * right.length / 8);
    struct big *big = new_big(left.length + right.length);
    big->negative = left.negative != right.negative;
    for (size_t i = 0; i < left.length; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < right.length; j++) {
            carry += (uint64_t)left.limbs[i] * right.limbs[j] + big->limbs[i + j];
            big->limbs[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        big->limbs[i + right.length] = (uint32_t)carry;
    }
    return settle(big);
}

/* Divides `limbs` in place; returns the rest. */
static uint32_t divide_by_limb(uint32_t *limbs, size_t length, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = length; i > 0; i--) {
        rest = rest << 32 | limbs[i - 1];
        limbs[i - 1] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint32_t)rest;
}

static void shift_left(uint32_t *to, const uint32_t *from, size_t length, unsigned bits) {
    uint32_t carry = 0;
    for (size_t i = 0; i < length; i++) {
        uint64_t wide = (uint64_t)from[i] << bits | carry;
        to[i] = (uint32_t)wide;
        carry = (uint32_t)(wide >> 32);
    }
    to[length] = carry;
}

/* One limb of the quotient: Knuth, The Art of Computer Programming 2, section 4.3.1, algorithm D, steps D3 to D6. */
static uint32_t divide_step(uint32_t *u, const uint32_t *v, size_t n) {
    uint64_t top = (uint64_t)u[n] << 32 | u[n - 1], guess = top / v[n - 1], rest = top % v[n - 1];
    while (guess >> 32 || (rest >> 32 == 0 && guess * v[n - 2] > (rest << 32 | u[n - 2]))) {
        guess--;
        rest += v[n - 1];
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i <= n; i++) {
        carry += i < n ? guess * v[i] : 0;
        borrow += (int64_t)u[i] - (int64_t)(uint32_t)carry;
        u[i] = (uint32_t)borrow;
        borrow = borrow < 0 ? -1 : 0;
        carry >>= 32;
    }
    if (borrow == 0)
        return (uint32_t)guess;
    for (size_t i = 0, sum = 0; i <= n; i++, sum >>= 32) {
        sum += (uint64_t)u[i] + (i < n ? v[i] : 0);
        u[i] = (uint32_t)sum;
    }
    return (uint32_t)guess - 1;
}

/* Divides magnitudes of which the first is not the shorter, and the second has two limbs or more. */
static struct big *divide_long(const struct view *a, const struct view *b) {
    size_t n = b->length, m = a->length - n;
    unsigned bits = (unsigned)__builtin_clz(b->limbs[n - 1]);
    uint32_t *rest = allocate(a->length + 1, sizeof *rest), *divisor = allocate(n + 1, sizeof *divisor);
    struct big *quotient = new_big(m + 1);
    charge((m + 1) * n / 8);
    shift_left(rest, a->limbs, a->length, bits);
    shift_left(divisor, b->limbs, n, bits);
    for (size_t i = m + 1; i > 0; i--)
        quotient->limbs[i - 1] = divide_step(rest + i - 1, divisor, n);
    free(rest);
    free(divisor);
    return quotient;
}

static number divide_magnitudes(const struct view *a, const struct view *b) {
    if (compare_magnitudes(a, b) < 0)
        return number_of(0);
    if (b->length > 1)
        return settle(divide_long(a, b));
    struct big *quotient = new_big(a->length);
    memcpy(quotient->limbs, a->limbs, a->length * sizeof *a->limbs);
    divide_by_limb(quotient->limbs, a->length, b->limbs[0]);
    return settle(quotient);
}

static number negated(number a) {
    number result = number_subtract(number_of(0), a);
    number_drop(a);
    return result;
}

number number_truncate_divide(number a, number b) {
    if (is_small(a) && is_small(b))
        return number_of(small_value(a) / small_value(b));
    struct view left, right;
    look(&left, a);
    look(&right, b);
    number quotient = divide_magnitudes(&left, &right);
    return left.negative != right.negative ? negated(quotient) : quotient;
}

/* a - quotient * b */
static number rest_of(number a, number b, number quotient) {
    number product = number_multiply(quotient, b), rest = number_subtract(a, product);
    number_drop(product);
    return rest;
}

number number_floor_divide(number a, number b) {
    number quotient = number_truncate_divide(a, b), rest = rest_of(a, b, quotient);
    if (number_sign(rest) * number_sign(b) < 0) {
        number less = number_subtract(quotient, number_of(1));
        number_drop(quotient);
        quotient = less;
    }
    number_drop(rest);
    return quotient;
}

number number_modulo(number a, number b) {
    number quotient = number_floor_divide(a, b), rest = rest_of(a, b, quotient);
    number_drop(quotient);
    return rest;
}

int number_sign(number a) {
    struct view view;
    look(&view, a);
    return view.length == 0 ? 0 : view.negative ? -1 : 1;
}

bool number_equal(number a, number b) {
    struct view left, right;
    if (is_small(a) || is_small(b))
        return a == b;
    look(&left, a);
    look(&right, b);
    return left.negative == right.negative && compare_magnitudes(&left, &right) == 0;
}

uint64_t number_hash(number a) {
    struct view view;
    uint64_t hash = 0;
    if (is_small(a))
        return (uint64_t)a * 0x9E3779B97F4A7C15u >> 20;
    look(&view, a);
    charge(view.length / 8);
    for (size_t i = 0; i < view.length; i++)
        hash = (hash ^ view.limbs[i]) * 0x9E3779B97F4A7C15u;
    return hash >> 20;
}

bool number_fits(number a, int64_t *value) {
    struct view view;
    look(&view, a);
    uint64_t magnitude = view.length ? view.limbs[0] : 0;
    magnitude |= view.length > 1 ? (uint64_t)view.limbs[1] << 32 : 0;
    *value = (int64_t)(view.negative ? 0 - magnitude : magnitude);
    return view.length <= 2 && magnitude <= (uint64_t)INT64_MAX + view.negative;
}

static void multiply_and_add(struct big *big, uint32_t factor, uint32_t summand) {
    uint64_t carry = summand;
    charge(big->length / 8);
    for (size_t i = 0; i < big->length; i++) {
        carry += (uint64_t)big->limbs[i] * factor;
        big->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        big->limbs[big->length++] = (uint32_t)carry;
}

static void set_bits(struct big *big, const unsigned char *digits, size_t count) {
    big->length = count / 32 + 1;
    for (size_t i = 0; i < count; i++)
        big->limbs[i / 32] |= (uint32_t)digits[count - 1 - i] << i % 32;
}

number number_from_digits(const unsigned char *digits, size_t count, unsigned base, bool negative) {
    struct big *big = new_big(count / (base == 2 ? 32 : 9) + 1);
    big->negative = negative;
    big->length = 0;
    if (base == 2)
        set_bits(big, digits, count);
    else
        for (size_t i = 0; i < count; i++)
            multiply_and_add(big, base, digits[i]);
    return settle(big);
}

/* The digits, the last first. */
static unsigned char *find_digits(const struct view *view, size_t *digit_count) {
    size_t count = 0, length = view->length;
    uint32_t *limbs = allocate(length, sizeof *limbs);
    unsigned char *digits = allocate(length * 10 + 9, 1);
    memcpy(limbs, view->limbs, length * sizeof *limbs);
    while (length > 0) {
        uint32_t group = divide_by_limb(limbs, length, 1000000000);
        length -= limbs[length - 1] == 0;
        for (int i = 0; i < 9; i++, group /= 10)
            digits[count++] = (unsigned char)('0' + group % 10);
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    free(limbs);
    *digit_count = count;
    return digits;
}

void number_write(number a) {
    struct view view;
    if (is_small(a)) {
        put_integer(small_value(a));
        return;
    }
    look(&view, a);
    if (view.negative)
        put_byte('-');
    charge(view.length * view.length / 8);
    size_t count;
    unsigned char *digits = find_digits(&view, &count);
    while (count > 0)
        put_byte(digits[--count]);
    free(digits);
}

void number_trace(number a) {
    struct view view;
    if (is_small(a)) {
        trace_text("%lld", (long long)small_value(a));
        return;
    }
    look(&view, a);
    if (view.length > MOST_TRACED_LIMBS) {
        trace_text("<number of %zu bits>", view.length * 32 - (size_t)__builtin_clz(view.limbs[view.length - 1]));
        return;
    }
    trace_text(view.negative ? "-" : "");
    size_t count;
    unsigned char *digits = find_digits(&view, &count);
    while (count > 0)
        trace_bytes(&digits[--count], 1);
    free(digits);
}
