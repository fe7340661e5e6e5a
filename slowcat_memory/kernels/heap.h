/* The k best of many: a heap with the least of them first. */

#ifndef SLOWCAT_HEAP_H
#define SLOWCAT_HEAP_H

#include "kernels.h"

typedef struct {
    int64_t *items;
    float *values;
    int64_t count, room;
} heap;

static void sink(heap *best, int64_t item, float value)
{
    int64_t hole = 0, below;
    while ((below = 2 * hole + 1) < best->count) {
        below += below + 1 < best->count && best->values[below + 1] < best->values[below];
        if (best->values[below] >= value)
            break;
        best->values[hole] = best->values[below];
        best->items[hole] = best->items[below];
        hole = below;
    }
    best->values[hole] = value;
    best->items[hole] = item;
}

/* Add an item that is better than the least, or any while there is room. */
static void push(heap *best, int64_t item, float value)
{
    int64_t hole = best->count, above;
    if (hole == best->room) {
        sink(best, item, value);
        return;
    }
    for (best->count++; hole > 0 && best->values[above = (hole - 1) / 2] > value; hole = above) {
        best->values[hole] = best->values[above];
        best->items[hole] = best->items[above];
    }
    best->values[hole] = value;
    best->items[hole] = item;
}

/* What an item's value must exceed; ``nothing`` while there is room. */
static inline float least_of(const heap *best, float nothing)
{
    return best->count < best->room ? nothing : best->values[0];
}

#endif
