/* The k best of many, in no order: whatever is better than the k-th best so far is kept, and when 2 k
are kept, the better half stays. Half the time of a heap, and less the more there are. */

#ifndef SLOWCAT_BEST_H
#define SLOWCAT_BEST_H

#include "kernels.h"

typedef struct {
    int64_t *items; /* room for 2 k */
    float *values;  /* the same */
    int64_t k, count;
    float least; /* what a value must exceed */
} best_of;

static inline void swap_best(best_of *best, int64_t i, int64_t j)
{
    int64_t item = best->items[i];
    float value = best->values[i];
    best->items[i] = best->items[j];
    best->values[i] = best->values[j];
    best->items[j] = item;
    best->values[j] = value;
}

static inline float middle_of(float a, float b, float c)
{
    float low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Keep the k best alone, by partitioning around ever nearer values. */
static void keep_best(best_of *best)
{
    int64_t low = 0, high = best->count - 1, last = best->k - 1;
    if (best->count <= best->k)
        return;
    while (low < high) {
        const float *v = best->values;
        float pivot = middle_of(v[low], v[low + (high - low) / 2], v[high]);
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] > pivot)
                i++;
            while (v[j] < pivot)
                j--;
            if (i <= j)
                swap_best(best, i++, j--);
        }
        if (last <= j)
            high = j;
        else if (last >= i)
            low = i;
        else
            break;
    }
    best->least = best->values[last];
    best->count = best->k;
}

/* Add an item whose value exceeds ``least``. */
static inline void add_best(best_of *best, int64_t item, float value)
{
    best->items[best->count] = item;
    best->values[best->count] = value;
    if (++best->count == 2 * best->k)
        keep_best(best);
}

#endif
