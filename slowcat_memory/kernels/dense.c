/* Nearest vectors and cosines; see dense.py. */

#include "heap.h"
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
    for (int64_t i = 0; i < count && i < AHEAD; i++)
        fetch_row(v, rows[i]);
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_row(v, rows[i + AHEAD]);
        cosines[i] = sealed_cosine(v, rows[i], query);
    }
}

/* The k nearest documents of the tail, and of the sealed rows if they are wanted; return how many.
Both outputs have room for k of each. */
KERNEL(int64_t, nearest)(const vector_arrays *v, const float *query, int64_t k, int64_t sealed,
                         int64_t *documents, float *cosines)
{
    heap best = {documents, cosines, 0, k};
    int64_t found = 0;
    if (k <= 0)
        return 0;
    for (int64_t row = 0; sealed && row < v->rows; row++) {
        float cosine;
        if (!is_alive(v, row))
            continue;
        cosine = sealed_cosine(v, row, query);
        if (cosine > least_of(&best, -INFINITY))
            push(&best, v->documents ? v->documents[row] : row, cosine);
    }
    found = best.count;
    best = (heap){documents + found, cosines + found, 0, k};
    for (int64_t row = 0; row < v->tail_rows; row++) {
        float cosine;
        if (v->owners[row] < 0)
            continue;
        cosine = dot_float(v->tail + row * v->width, query, v->width);
        if (cosine > least_of(&best, -INFINITY))
            push(&best, v->owners[row], cosine);
    }
    return found + best.count;
}
