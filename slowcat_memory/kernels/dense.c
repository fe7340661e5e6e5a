/* Nearest vectors and cosines; see dense.py. */

#include "best.h"
#include "vectors.h"

/* Cosines of documents with a query; NaN for one without a vector. */
KERNEL(void, cosines)(const vector_arrays *v, const int64_t *documents, int64_t count,
                      const float *query, float *cosines)
{
    document_cosines(v, documents, count, query, cosines);
}

/* Cosines of sealed rows with a query. */
KERNEL(void, row_cosines)(const vector_arrays *v, const int64_t *rows, int64_t count,
                          const float *query, float *cosines)
{
    row_cosines(v, rows, count, query, cosines);
}

static inline void offer(best_of *best, int64_t document, float cosine)
{
    if (cosine > best->least)
        add_best(best, document, cosine);
}

/* The k nearest documents of the tail, and of the sealed rows if they are wanted; return how many.
Both outputs have room for 2 k of each. */
KERNEL(int64_t, nearest)(const vector_arrays *v, const float *query, int64_t k, int64_t sealed,
                         int64_t *documents, float *cosines)
{
    best_of best = {documents, cosines, k, 0, -INFINITY};
    int64_t found;
    if (k <= 0)
        return 0;
    for (int64_t row = 0; sealed && row < v->rows; row++)
        if (is_alive(v, row))
            offer(&best, v->documents ? v->documents[row] : row, sealed_cosine(v, row, query));
    keep_best(&best);
    found = best.count;
    best = (best_of){documents + found, cosines + found, k, 0, -INFINITY};
    for (int64_t row = 0; row < v->tail_rows; row++)
        if (v->owners[row] >= 0)
            offer(&best, v->owners[row], dot_float(v->tail + row * v->width, query, v->width));
    keep_best(&best);
    return found + best.count;
}
