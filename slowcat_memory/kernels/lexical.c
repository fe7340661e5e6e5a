/* BM25 over a view's sealed and tail postings, term by term; see lexical.py. */

#include "best.h"

/* The arrays of a view: the fields of ``_Fields`` in lexical.py, in this order. */
typedef struct {
    const int64_t *indptr;     /* sealed postings: terms + 1 */
    const int32_t *documents;
    const float *scores;
    const uint8_t *alive;      /* by sealed document */
    const int32_t *dead;       /* by term: its dead sealed documents; NULL while none died */
    const float *lengths;      /* by tail document */
    float *cells;              /* by document: the latest query's score */
    int32_t *touched;          /* the documents whose cells are not 0 */
    int64_t base, size;        /* sealed documents; all documents */
    int64_t room;              /* cells */
    int64_t touches;           /* how many are listed in touched; -1: any cell may be set */
    int64_t living;
    double total, k1, b;       /* sum of the living documents' lengths */
} lexical_view;

/* A term's postings in the tail. */
typedef struct {
    const int32_t *documents;
    const float *times;
    int64_t count;
} tail_run;

enum { SPARSE = 8, BLOCK = 64 };

static double idf(double frequency, double documents)
{
    return log(1 + (documents - frequency + 0.5) / (frequency + 0.5));
}

/* Offer up to BLOCK documents, listed or from ``start`` on. Without branches: which of them are
better than the least cannot be predicted. */
static void offer(const lexical_view *view, best_of *best, const int32_t *list, int64_t start,
                  int64_t count)
{
    int64_t kept = best->count;
    for (int64_t i = 0; i < count; i++) {
        int64_t document = list ? list[i] : start + i;
        float value = view->cells[document];
        best->items[kept] = document;
        best->values[kept] = value;
        kept += (value > best->least) & ((document >= view->base) | view->alive[document < view->base ? document : 0]);
    }
    best->count = kept;
    if (kept >= 2 * best->k)
        keep_best(best);
}

static int any_above(const float *cells, float least)
{
    int32_t any = 0;
    for (int64_t i = 0; i < BLOCK; i++)
        any |= cells[i] > least;
    return any;
}

static void best_of_all(const lexical_view *view, best_of *best)
{
    int64_t start = 0;
    for (; start + BLOCK <= view->size; start += BLOCK)
        if (any_above(view->cells + start, best->least))
            offer(view, best, NULL, start, BLOCK);
    offer(view, best, NULL, start, view->size - start);
}

static void best_of_list(const lexical_view *view, best_of *best)
{
    for (int64_t start = 0; start < view->touches; start += BLOCK) {
        int64_t left = view->touches - start;
        offer(view, best, view->touched + start, 0, left < BLOCK ? left : BLOCK);
    }
}

static void clear(lexical_view *view)
{
    if (view->touches < 0)
        memset(view->cells, 0, (size_t)view->room * sizeof(float));
    for (int64_t i = 0; i < view->touches; i++)
        view->cells[view->touched[i]] = 0;
    view->touches = 0;
}

static inline void add(lexical_view *view, int64_t list, int32_t document, float value)
{
    float before = view->cells[document];
    view->cells[document] = before + value;
    if (list) {
        view->touched[view->touches] = document;
        view->touches += before == 0;
    }
}

static void add_sealed(lexical_view *view, int64_t list, int64_t row, float factor)
{
    for (int64_t i = view->indptr[row]; i < view->indptr[row + 1]; i++)
        add(view, list, view->documents[i], view->scores[i] * factor);
}

static void add_tail(lexical_view *view, int64_t list, const tail_run *run, float weight)
{
    float scale = (float)(view->k1 * view->b * (double)view->living / view->total);
    float floor = (float)(view->k1 * (1 - view->b));
    for (int64_t i = 0; i < run->count; i++) {
        float times = run->times[i];
        float norm = floor + scale * view->lengths[run->documents[i] - view->base];
        add(view, list, run->documents[i], weight * (times / (times + norm)));
    }
}

/* Score a query's n terms; return how many of the k best documents are in ``best``.
rows: each term's row in the sealed vocabulary, -1 for none; shares: of its weight, NULL for all of
it; tails: its postings in the tail; weights: gets each term's idf, times its share; best and
values: room for 2 k + BLOCK. ``touched`` has room for a document of SPARSE and all of the tail. */
KERNEL(int64_t, lexical_search)(lexical_view *view, int64_t n, const int64_t *rows,
                                const double *shares, const tail_run *tails, int64_t k,
                                int64_t sealed, int64_t *best, float *values, double *weights)
{
    best_of found = {best, values, k, 0, 0};
    int64_t postings = 0, list;
    clear(view);
    sealed = sealed && view->base > 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t frequency = tails[t].count;
        if (rows[t] >= 0) {
            int64_t there = view->indptr[rows[t] + 1] - view->indptr[rows[t]];
            postings += sealed ? there : 0;
            frequency += there - (view->dead ? view->dead[rows[t]] : 0);
        }
        postings += tails[t].count;
        weights[t] = idf((double)frequency, (double)view->living) * (shares ? shares[t] : 1);
    }
    if (view->living <= 0 || view->total <= 0 || k <= 0)
        return 0;
    list = postings < view->size / SPARSE;
    for (int64_t t = 0; sealed && t < n; t++)
        if (rows[t] >= 0) {
            int64_t there = view->indptr[rows[t] + 1] - view->indptr[rows[t]];
            double then = idf((double)there, (double)view->base);
            add_sealed(view, list, rows[t], (float)(weights[t] / then));
        }
    for (int64_t t = 0; t < n; t++)
        add_tail(view, list, &tails[t], (float)weights[t]);
    if (list) {
        best_of_list(view, &found);
    } else {
        view->touches = -1;
        best_of_all(view, &found);
    }
    keep_best(&found);
    return found.count;
}

/* Rows of n terms in a vocabulary that is sorted by hash, -1 for unknown ones. Term i of the query is
bytes[starts[i]..starts[i + 1]]; hashes may collide, so the bytes decide. */
KERNEL(void, term_rows)(const uint64_t *hashes, const int64_t *places, const uint8_t *terms,
                        int64_t count, int64_t n, const uint64_t *wanted, const uint8_t *bytes,
                        const int64_t *starts, int64_t *rows)
{
    for (int64_t t = 0; t < n; t++) {
        int64_t low = 0, high = count, length = starts[t + 1] - starts[t];
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (hashes[middle] < wanted[t])
                low = middle + 1;
            else
                high = middle;
        }
        rows[t] = -1;
        for (; low < count && hashes[low] == wanted[t]; low++)
            if (places[low + 1] - places[low] == length &&
                !memcmp(terms + places[low], bytes + starts[t], (size_t)length)) {
                rows[t] = low;
                break;
            }
    }
}
