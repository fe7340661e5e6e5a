/* The documents that the views propose, each once, with all that ranking reads of them. */

#include "candidate_rows.h"
#include "vectors.h"

/* A column of the table: its sealed values and those of the tail. */
typedef struct {
    const void *sealed, *tail;
} column;

/* The fields of ``TableFields`` in candidates.py, in this order. */
typedef struct {
    int64_t base; /* sealed documents */
    column before, after, at, importance, pinned, substance, asks, agent, session, speaker,
        about_from, about_until, alive;
} table;

/* A value of a column, whose type is that of the file. */
#define VALUE(type, column, document) \
    (*((document) < t->base ? (const type *)t->column.sealed + (document) \
                            : (const type *)t->column.tail + ((document) - t->base)))

/* Sort numbers below 2^32, a byte at a time; ``spare`` has room for as many. */
static void sort(int64_t *numbers, int64_t *spare, int64_t count)
{
    uint64_t highest = 0;
    for (int64_t i = 0; i < count; i++)
        highest |= (uint64_t)numbers[i];
    for (int shift = 0; shift < 32 && highest >> shift; shift += 8) {
        int64_t starts[257] = {0};
        for (int64_t i = 0; i < count; i++)
            starts[(numbers[i] >> shift & 255) + 1]++;
        for (int byte = 0; byte < 256; byte++)
            starts[byte + 1] += starts[byte];
        for (int64_t i = 0; i < count; i++)
            spare[starts[numbers[i] >> shift & 255]++] = numbers[i];
        memcpy(numbers, spare, (size_t)count * sizeof *numbers);
    }
}

/* The position of a number among rising ones, -1 for none. */
static int64_t find(const int64_t *numbers, int64_t count, int64_t wanted)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (numbers[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && numbers[low] == wanted ? low : -1;
}

/* The same for a neighbour of the number at ``from``: mostly the one beside it. */
static int64_t find_near(const int64_t *numbers, int64_t count, int64_t from, int64_t wanted)
{
    int64_t step = wanted < numbers[from] ? -1 : 1, beside = from + step;
    if (wanted < 0)
        return -1;
    if (wanted == numbers[from] + step)
        return beside >= 0 && beside < count && numbers[beside] == wanted ? beside : -1;
    return find(numbers, count, wanted);
}

/* Whether a document says something of its own: it has substance and is not the agent's answer to a
mere question, which repeats what the agent was given. */
static int says(const table *t, int64_t document)
{
    int64_t before = VALUE(int32_t, before, document);
    if (VALUE(uint8_t, pinned, document))
        return 1;
    if (!(VALUE(float, substance, document) > 0))
        return 0;
    return !(VALUE(uint8_t, agent, document) && before >= 0 && VALUE(uint8_t, asks, before));
}

/* Start to fetch what decides about a document. */
static inline void fetch(const table *t, int64_t document)
{
    __builtin_prefetch(&VALUE(uint8_t, alive, document));
    __builtin_prefetch(&VALUE(uint8_t, pinned, document));
    __builtin_prefetch(&VALUE(uint8_t, agent, document));
    __builtin_prefetch(&VALUE(float, substance, document));
    __builtin_prefetch(&VALUE(int32_t, before, document));
}

/* Copy a column of the candidates into its row. One column after the other: the processor fetches
many values of one at a time. */
#define FILL(row, type, column) \
    for (int64_t i = 0; i < n; i++) \
        block[(row) * n + i] = (double)VALUE(type, column, numbers[i])

static void fill(const table *t, const int64_t *numbers, int64_t n, double *block)
{
    FILL(BEFORE, int32_t, before);
    FILL(AFTER, int32_t, after);
    FILL(AT, double, at);
    FILL(IMPORTANCE, float, importance);
    FILL(SUBSTANCE, float, substance);
    FILL(AGENT, uint8_t, agent);
    FILL(PINNED, uint8_t, pinned);
    FILL(SESSION, int32_t, session);
    FILL(SPEAKER, int32_t, speaker);
    FILL(ABOUT_FROM, double, about_from);
    FILL(ABOUT_UNTIL, double, about_until);
    for (int64_t i = 0; i < 2 * n; i++) { /* neighbours: their numbers to their positions */
        double *cell = block + BEFORE * n + i;
        *cell = (double)find_near(numbers, n, i % n, (int64_t)*cell);
    }
}

/* A row of cosines, NaN without a query; ``spare`` has room for n floats. */
static void fill_cosines(const vector_arrays *v, const int64_t *numbers, int64_t n,
                         const float *query, float *spare, double *row)
{
    if (query)
        document_cosines(v, numbers, n, query, spare);
    for (int64_t i = 0; i < n; i++)
        row[i] = query ? spare[i] : NAN;
}

/* Choose among the ``count`` proposed documents; return how many are left, rising in ``numbers``.
A document is left out if it is dead, has the number ``known`` or a higher one, is excluded, or says
nothing (unless ``talk``). cells: of the window and of the turn view, NULL for none; excluded,
visible: rising; query, own: NULL for none; numbers, spare: room for ``count``; block: room for ROWS
of ``count``, gets ROWS of as many as are returned; fresh: gets how many were not visible, and how
many of these say something. KEYS and ASKED are not filled. */
KERNEL(int64_t, candidates)(const table *t, const vector_arrays *v, const float *const *cells,
                            const int64_t *proposed, int64_t count, int64_t known,
                            const int64_t *excluded, int64_t excluded_count,
                            const int64_t *visible, int64_t visible_count, int64_t talk,
                            const float *query, const float *own, int64_t *numbers, int64_t *spare,
                            double *block, int64_t *fresh)
{
    int64_t n = 0, last = -1;
    memcpy(spare, proposed, (size_t)count * sizeof *spare);
    sort(spare, numbers, count);
    fresh[0] = fresh[1] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t document = spare[i];
        int said, seen;
        if (i + AHEAD < count)
            fetch(t, spare[i + AHEAD]);
        if (document == last || document >= known)
            continue;
        last = document;
        if (!VALUE(uint8_t, alive, document) || find(excluded, excluded_count, document) >= 0)
            continue;
        said = talk || says(t, document);
        seen = find(visible, visible_count, document) >= 0;
        fresh[0] += !seen;
        fresh[1] += !seen && said;
        if (said)
            numbers[n++] = document;
    }
    fill(t, numbers, n, block);
    for (int64_t i = 0; i < n; i++) {
        block[VISIBLE * n + i] = find(visible, visible_count, numbers[i]) >= 0;
        block[WINDOW * n + i] = cells[0] ? cells[0][numbers[i]] : 0;
        block[TURN * n + i] = cells[1] ? cells[1][numbers[i]] : 0;
    }
    fill_cosines(v, numbers, n, query, (float *)spare, block + DENSE * n);
    if (own && query)
        fill_cosines(v, numbers, n, own, (float *)spare, block + COSINE * n);
    else
        memcpy(block + COSINE * n, block + DENSE * n, (size_t)n * sizeof(double));
    return n;
}
