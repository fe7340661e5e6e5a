/* Vectors by document: sealed rows in files, later ones in a matrix; see dense.py. */

#ifndef SLOWCAT_VECTORS_H
#define SLOWCAT_VECTORS_H

#include "kernels.h"

/* The fields of ``_Fields`` in dense.py, in this order. */
typedef struct {
    int64_t width;            /* dimensions */
    int64_t rows;             /* sealed rows */
    const int32_t *documents; /* by sealed row, rising; NULL: a row's number is its document's */
    const uint8_t *alive;     /* a bit for each sealed row, little end first */
    const void *matrix;       /* sealed rows: bytes, or half precision */
    const float *scales;      /* by sealed row of bytes; NULL: half precision */
    const float *tail;        /* rows of the tail */
    const int64_t *owners;    /* the document of each row of the tail, -1 for none */
    int64_t tail_rows;
    const int32_t *slots;     /* by document: its row in the tail, counted from 1; 0 for none */
    int64_t slots_count;
} vector_arrays;

static inline float sealed_cosine(const vector_arrays *v, int64_t row, const float *query)
{
    if (v->scales)
        return dot_bytes((const int8_t *)v->matrix + row * v->width, query, v->width) * v->scales[row];
    return dot_half((const uint16_t *)v->matrix + row * v->width, query, v->width);
}

enum { AHEAD = 12, LINE = 64 }; /* rows that are fetched into the cache before they are compared */

/* Start to fetch a sealed row: rows at random are far apart, and memory is slower than arithmetic. */
static inline void fetch_row(const vector_arrays *v, int64_t row)
{
    int64_t bytes = v->width * (v->scales ? 1 : 2);
    const char *start = (const char *)v->matrix + row * bytes;
    for (int64_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(start + at);
}

static inline int is_alive(const vector_arrays *v, int64_t row)
{
    return v->alive[row >> 3] >> (row & 7) & 1;
}

/* A document's living sealed row, -1 for none. */
static inline int64_t sealed_row(const vector_arrays *v, int64_t document)
{
    int64_t low = 0, high = v->rows;
    if (!v->documents)
        return document < v->rows && is_alive(v, document) ? document : -1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (v->documents[middle] < document)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->rows && v->documents[low] == document && is_alive(v, low) ? low : -1;
}

/* A document's row in the tail, -1 for none. */
static inline int64_t tail_row(const vector_arrays *v, int64_t document)
{
    return document < v->slots_count ? v->slots[document] - 1 : -1;
}

/* Cosines of sealed rows with a query. */
static inline void row_cosines(const vector_arrays *v, const int64_t *rows, int64_t count,
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

/* A document's vector: a row of the tail, or a sealed one; -1 for none. */
typedef struct {
    int64_t tail, sealed;
} place;

static inline place find_vector(const vector_arrays *v, int64_t document)
{
    int64_t tail = tail_row(v, document);
    return (place){tail, tail < 0 ? sealed_row(v, document) : -1};
}

static inline float place_cosine(const vector_arrays *v, place where, const float *query)
{
    if (where.tail >= 0)
        return dot_float(v->tail + where.tail * v->width, query, v->width);
    return where.sealed >= 0 ? sealed_cosine(v, where.sealed, query) : NAN;
}

/* Cosines of documents with a query; NaN for one without a vector. */
static inline void document_cosines(const vector_arrays *v, const int64_t *documents, int64_t count,
                             const float *query, float *cosines)
{
    place ahead[AHEAD];
    for (int64_t i = 0; i < count + AHEAD; i++) {
        int64_t slot = i % AHEAD;
        if (i >= AHEAD)
            cosines[i - AHEAD] = place_cosine(v, ahead[slot], query);
        if (i < count) {
            ahead[slot] = find_vector(v, documents[i]);
            if (ahead[slot].sealed >= 0)
                fetch_row(v, ahead[slot].sealed);
        }
    }
}

#endif
