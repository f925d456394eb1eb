/* The plane that a Befunge-98 program stands in: cells of 64 bits at any two coordinates, spaces at first. */

#ifndef BEFUNGE_SPACE_H
#define BEFUNGE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct point {
    int64_t x, y;
};

/* Cells that are no space lie from `least` to `greatest`, both included; there may be fewer of late. */
extern struct point least, greatest;

/* Puts the source into the plane, its first character at (0, 0). */
void space_load(void);

int64_t space_get(struct point at);
void space_put(struct point at, int64_t value);

/* Draws `least` and `greatest` as close as they can be. */
void space_fit(void);

/* Coordinates that overflow come out at the other side. */
static inline struct point plus(struct point a, struct point b) {
    return (struct point){(int64_t)((uint64_t)a.x + (uint64_t)b.x), (int64_t)((uint64_t)a.y + (uint64_t)b.y)};
}

static inline struct point times(struct point a, int64_t factor) {
    uint64_t n = (uint64_t)factor;
    return (struct point){(int64_t)((uint64_t)a.x * n), (int64_t)((uint64_t)a.y * n)};
}

static inline bool inside(struct point at) {
    return at.x >= least.x && at.x <= greatest.x && at.y >= least.y && at.y <= greatest.y;
}

/* Where one who stands at `at`, outside, goes on in the direction `delta`: to the first cell inside that lies ahead,
 * else by Lahey's rule to the farthest one behind. False where the line meets no cell inside. */
bool space_wrap(struct point *at, struct point delta);

#endif
