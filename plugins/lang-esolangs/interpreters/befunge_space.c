/* The plane that a Befunge-98 program stands in, as a hash table of square pages. */

#include "befunge_space.h"

#include <stdlib.h>

#include "common.h"

#define EDGE_BITS 5
#define EDGE (1 << EDGE_BITS)

struct page {
    struct point place;
    int64_t cells[EDGE][EDGE];
};

struct point least, greatest;

static struct page **pages;
static size_t slots, used;
static struct page *latest;
static bool shrunk;

static size_t slot_of(struct point place) {
    uint64_t hash = (uint64_t)place.x * 0x9E3779B97F4A7C15u ^ (uint64_t)place.y * 0xC2B2AE3D27D4EB4Fu;
    size_t slot = (size_t)(hash ^ hash >> 29) & (slots - 1);
    while (pages[slot] && (pages[slot]->place.x != place.x || pages[slot]->place.y != place.y))
        slot = (slot + 1) & (slots - 1);
    return slot;
}

static void double_slots(void) {
    struct page **old = pages;
    size_t count = slots;
    slots = slots ? slots * 2 : 256;
    pages = allocate(slots, sizeof *pages);
    for (size_t i = 0; i < count; i++)
        if (old[i])
            pages[slot_of(old[i]->place)] = old[i];
    free(old);
}

static struct page *new_page(struct point place) {
    struct page *page = allocate(1, sizeof *page);
    page->place = place;
    for (int y = 0; y < EDGE; y++)
        for (int x = 0; x < EDGE; x++)
            page->cells[y][x] = ' ';
    if (++used * 2 > slots)
        double_slots();
    return pages[slot_of(place)] = page;
}

static struct page *page_at(struct point at) {
    struct point place = {at.x >> EDGE_BITS, at.y >> EDGE_BITS};
    if (latest && latest->place.x == place.x && latest->place.y == place.y)
        return latest;
    struct page *page = slots ? pages[slot_of(place)] : NULL;
    return page ? (latest = page) : NULL;
}

int64_t space_get(struct point at) {
    struct page *page = page_at(at);
    return page ? page->cells[at.y & (EDGE - 1)][at.x & (EDGE - 1)] : ' ';
}

static void stretch(struct point at) {
    least.x = at.x < least.x ? at.x : least.x;
    least.y = at.y < least.y ? at.y : least.y;
    greatest.x = at.x > greatest.x ? at.x : greatest.x;
    greatest.y = at.y > greatest.y ? at.y : greatest.y;
}

void space_put(struct point at, int64_t value) {
    struct page *page = page_at(at);
    if (!page && value == ' ')
        return;
    if (!page)
        page = new_page((struct point){at.x >> EDGE_BITS, at.y >> EDGE_BITS});
    page->cells[at.y & (EDGE - 1)][at.x & (EDGE - 1)] = value;
    if (value != ' ')
        stretch(at);
    else if (at.x == least.x || at.x == greatest.x || at.y == least.y || at.y == greatest.y)
        shrunk = true;
}

static void stretch_over(const struct page *page) {
    for (int y = 0; y < EDGE; y++)
        for (int x = 0; x < EDGE; x++)
            if (page->cells[y][x] != ' ')
                stretch((struct point){page->place.x * EDGE + x, page->place.y * EDGE + y});
}

void space_fit(void) {
    if (!shrunk)
        return;
    charge(slots + used * EDGE);
    least = (struct point){INT64_MAX, INT64_MAX};
    greatest = (struct point){INT64_MIN, INT64_MIN};
    for (size_t i = 0; i < slots; i++)
        if (pages[i])
            stretch_over(pages[i]);
    if (least.x > greatest.x)
        least = greatest = (struct point){0, 0};
    shrunk = false;
}

void space_load(void) {
    struct point at = {0, 0};
    for (size_t i = 0; i < source.length; i++) {
        unsigned char byte = source.text[i];
        bool return_and_feed = byte == '\r' && i + 1 < source.length && source.text[i + 1] == '\n';
        if (byte == '\n' || byte == '\r') {
            at = (struct point){0, at.y + 1};
            i += return_and_feed;
        } else if (byte != '\f') {
            space_put(at, byte);
            at.x++;
        }
    }
}

/* The numbers of steps, which may be negative, that lead along one axis from `at` to between `low` and `high`. */
struct range {
    __int128 first, last;
};

static __int128 floor_div(__int128 a, __int128 b) {
    __int128 quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static struct range reach(int64_t at, int64_t delta, int64_t low, int64_t high) {
    const __int128 far = (__int128)1 << 100;
    if (delta == 0)
        return at >= low && at <= high ? (struct range){-far, far} : (struct range){1, 0};
    __int128 near = delta > 0 ? low : high, distant = delta > 0 ? high : low;
    return (struct range){-floor_div(at - near, delta), floor_div(distant - at, delta)};
}

bool space_wrap(struct point *at, struct point delta) {
    struct range x = reach(at->x, delta.x, least.x, greatest.x), y = reach(at->y, delta.y, least.y, greatest.y);
    __int128 first = x.first > y.first ? x.first : y.first, last = x.last < y.last ? x.last : y.last;
    if (first > last)
        return false;
    __int128 count = first <= 0 && last >= 0 ? 0 : first;
    *at = (struct point){(int64_t)(at->x + count * delta.x), (int64_t)(at->y + count * delta.y)};
    return true;
}
