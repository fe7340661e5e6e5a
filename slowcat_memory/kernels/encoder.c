/* The forward pass of a BERT-like encoder: token ids in, a unit vector and unit token vectors out.

One pass over the weights for up to 14 tokens. Weights are bytes with a scale for each column; what is
multiplied by them is quantised row by row, just before. All else is float. */

#include "byte_products.h"

static const float NOTHING = -1e30f; /* a score whose share is none */

enum { LINE = 64, LANES = 16, FLOAT_ROWS = 4, POOL_FIRST = 1 };

/* The file's first bytes; encoder.py declares the same. */
struct header {
    char magic[8];
    int32_t layers, hidden, heads, inner, vocabulary, positions, pooling, token_dim;
    float epsilon;
    int32_t unused[5]; /* of encoder.py: how many tokens its check has */
};

typedef float lanes __attribute__((vector_size(4 * LANES)));

/* A matrix of bytes: column c is scales[c] times its bytes; sums[c] is the sum of its bytes. */
struct matrix {
    const int8_t *weights;
    const float *scales, *biases, *sums;
    int64_t width, columns;
};

struct norm {
    const float *gain, *bias;
};

/* A quantised row: byte * step + low. */
struct grid {
    float step, low;
};

/* Rows, one for each token, and where they are quantised. */
struct work {
    int64_t tokens, hidden, inner, instructions;
    float *states, *mixed, *wide, *keys, *scores;
    uint8_t *bytes;
    struct grid *grids;
};

/* Sections of the file and of the scratch memory follow each other, each from a cache line on. */
static int64_t lines(int64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

static char *take(char **at, int64_t bytes)
{
    char *taken = *at;
    *at += lines(bytes);
    return taken;
}

static float *take_floats(char **at, int64_t count)
{
    return (float *)take(at, 4 * count);
}

static struct norm take_norm(char **at, int64_t hidden)
{
    struct norm norm;
    norm.gain = take_floats(at, hidden);
    norm.bias = take_floats(at, hidden);
    return norm;
}

static struct matrix take_matrix(char **at, int64_t width, int64_t columns)
{
    struct matrix matrix = {.width = width, .columns = columns};
    matrix.weights = (const int8_t *)take(at, width * columns);
    matrix.scales = take_floats(at, columns);
    matrix.biases = take_floats(at, columns);
    matrix.sums = take_floats(at, columns);
    return matrix;
}

static struct work take_work(char **at, const struct header *model, int64_t tokens)
{
    int64_t hidden = model->hidden, inner = model->inner;
    int64_t padded = (tokens + LANES - 1) / LANES * LANES;
    int64_t widest = inner > 3 * hidden ? inner : 3 * hidden;
    struct work work = {.tokens = tokens, .hidden = hidden, .inner = inner};
    work.states = take_floats(at, tokens * hidden);
    work.mixed = take_floats(at, tokens * hidden);
    work.wide = take_floats(at, tokens * widest);
    work.keys = take_floats(at, padded * (hidden / model->heads));
    work.scores = take_floats(at, padded * tokens);
    work.bytes = (uint8_t *)take(at, tokens * widest);
    work.grids = (struct grid *)take(at, tokens * (int64_t)sizeof(struct grid));
    return work;
}

static void normalise(float *row, int64_t n, struct norm norm, float epsilon)
{
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += row[i];
    float mean = sum / (float)n;
    for (int64_t i = 0; i < n; i++)
        squares += (row[i] - mean) * (row[i] - mean);
    float scale = 1 / sqrtf(squares / (float)n + epsilon);
    for (int64_t i = 0; i < n; i++)
        row[i] = (row[i] - mean) * scale * norm.gain[i] + norm.bias[i];
}

static void normalise_rows(const struct work *work, struct norm norm, float epsilon)
{
    for (int64_t t = 0; t < work->tokens; t++)
        normalise(work->states + t * work->hidden, work->hidden, norm, epsilon);
}

static void scale_to_unit(float *row, int64_t n)
{
    float length = sqrtf(dot_float(row, row, n)), scale = length > 0 ? 1 / length : 0;
    for (int64_t i = 0; i < n; i++)
        row[i] *= scale;
}

/* x times the normal distribution function of x, to 6e-5: a polynomial in the square, fitted between
-4.5 and 4.5 and constant beyond. */
static void gelu(float *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float x = row[i], near = x > 4.5f ? 4.5f : x < -4.5f ? -4.5f : x;
        float u = near * near * (1 / 20.25f), p = 0.9005732536315918f;
        p = p * u - 4.822945594787598f;
        p = p * u + 11.348122596740723f;
        p = p * u - 15.556242942810059f;
        p = p * u + 13.937917709350586f;
        p = p * u - 8.706348419189453f;
        p = p * u + 3.949434518814087f;
        p = p * u - 1.3381894826889038f;
        p = p * u + 0.39879128336906433f;
        row[i] = x * (0.5f + near * p);
    }
}

/* An integer with the order of the float: compilers find the least integer with vectors. */
static inline int32_t order_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, 4);
    return bits ^ (bits >> 31 & INT32_MAX);
}

static inline float of_order(int32_t order)
{
    float x;
    order ^= order >> 31 & INT32_MAX;
    memcpy(&x, &order, 4);
    return x;
}

static struct grid quantise(const float *row, int64_t n, struct steps steps, uint8_t *out)
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t i = 0; i < n; i++) {
        int32_t order = order_of(row[i]);
        least = order < least ? order : least;
        most = order > most ? order : most;
    }
    float low = of_order(least), range = of_order(most) - low;
    float count = (float)(steps.most - steps.least), step = range / count;
    float per = range > 0 ? count / range : 0;
    uint8_t first = (uint8_t)steps.least; /* modulo 256, as a signed byte is stored */
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)((uint8_t)(int32_t)((row[i] - low) * per + 0.5f) + first);
    return (struct grid){step, low - (float)steps.least * step};
}

/* out = rows * by + biases, or with ``add`` out += that. */
static void multiply(const struct work *work, const float *rows, const struct matrix *by, int add,
                     float *out)
{
    int32_t sums[TILE_COLUMNS * TILE_ROWS];
    int64_t chunks = (work->tokens + TILE_ROWS - 1) / TILE_ROWS;
    struct steps steps = steps_of(work->instructions);
    for (int64_t t = 0; t < work->tokens; t++)
        work->grids[t] = quantise(rows + t * by->width, by->width, steps, work->bytes + t * by->width);
    for (int64_t c = 0; c < by->columns; c += TILE_COLUMNS) {
        const float *scales = by->scales + c, *biases = by->biases + c, *whole = by->sums + c;
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            int64_t first = work->tokens * chunk / chunks;
            int64_t n = work->tokens * (chunk + 1) / chunks - first;
            tile(work->instructions, (int)n, work->bytes + first * by->width, by->width,
                 by->weights + c * by->width, sums);
            for (int64_t r = 0; r < n; r++) {
                struct grid grid = work->grids[first + r];
                const int32_t *sum = sums + TILE_COLUMNS * r;
                float *to = out + (first + r) * by->columns + c, found[TILE_COLUMNS];
                for (int i = 0; i < TILE_COLUMNS; i++)
                    found[i] = (grid.step * (float)sum[i] + grid.low * whole[i]) * scales[i] + biases[i];
                for (int i = 0; i < TILE_COLUMNS; i++)
                    to[i] = add ? to[i] + found[i] : found[i];
            }
        }
    }
}

/* A product of floats: out[r] = sum over k of left[r][k] * right[k]; columns in sixteens. */
static void multiply_floats(const float *left, int64_t left_stride, const float *right,
                            int64_t right_stride, int64_t inner, float *out, int64_t out_stride,
                            int64_t rows, int64_t columns)
{
    for (int64_t r = 0; r < rows; r += FLOAT_ROWS) {
        int64_t n = rows - r < FLOAT_ROWS ? rows - r : FLOAT_ROWS;
        const float *from[FLOAT_ROWS];
        for (int i = 0; i < FLOAT_ROWS; i++) /* missing rows are computed as the first, unused */
            from[i] = left + (r + (i < n ? i : 0)) * left_stride;
        for (int64_t c = 0; c < columns; c += LANES) {
            lanes sum[FLOAT_ROWS] = {0};
            for (int64_t k = 0; k < inner; k++) {
                lanes by;
                memcpy(&by, right + k * right_stride + c, sizeof by);
                for (int i = 0; i < FLOAT_ROWS; i++)
                    sum[i] += from[i][k] * by;
            }
            for (int64_t i = 0; i < n; i++)
                memcpy(out + (r + i) * out_stride + c, &sum[i], sizeof sum[i]);
        }
    }
}

/* exp(x - the largest) for each x, to 1e-6; returns their sum. */
static float exponentials(float *row, int64_t n)
{
    int32_t order = INT32_MIN;
    for (int64_t i = 0; i < n; i++)
        order = order_of(row[i]) > order ? order_of(row[i]) : order;
    float most = of_order(order), sum = 0;
    for (int64_t i = 0; i < n; i++) { /* 2^t = 2^whole * 2^part */
        float t = (row[i] - most) * 1.4426950408889634f, power, p = 0.0013333558f;
        t = t < -126 ? -126 : t;
        int32_t whole = (int32_t)(t - 0.5f), bits = (whole + 127) << 23;
        float part = t - (float)whole;
        p = p * part + 0.0096181291f;
        p = p * part + 0.0555041087f;
        p = p * part + 0.2402265070f;
        p = p * part + 0.6931471806f;
        p = p * part + 1;
        memcpy(&power, &bits, 4);
        row[i] = p * power;
        sum += row[i];
    }
    return sum;
}

/* Attention of all heads: from query, key and value of every token (wide) to mixed. The queries are
scaled already. */
static void attend(const struct work *work, int64_t heads)
{
    int64_t tokens = work->tokens, hidden = work->hidden, width = hidden / heads;
    int64_t padded = (tokens + LANES - 1) / LANES * LANES;
    for (int64_t head = 0; head < heads; head++) {
        const float *queries = work->wide + head * width, *keys = queries + hidden;
        for (int64_t t = 0; t < tokens; t++)
            for (int64_t i = 0; i < width; i++)
                work->keys[i * padded + t] = keys[t * 3 * hidden + i];
        multiply_floats(queries, 3 * hidden, work->keys, padded, width, work->scores, padded, tokens,
                        padded);
        for (int64_t t = 0; t < tokens; t++) {
            float *row = work->scores + t * padded;
            for (int64_t i = tokens; i < padded; i++)
                row[i] = NOTHING;
            float scale = 1 / exponentials(row, padded);
            for (int64_t i = 0; i < padded; i++)
                row[i] *= scale;
        }
        multiply_floats(work->scores, padded, keys + hidden, 3 * hidden, tokens,
                        work->mixed + head * width, hidden, tokens, width);
    }
}

static void pool(const struct work *work, int pooling, float *vector)
{
    memcpy(vector, work->states, 4 * (size_t)work->hidden);
    for (int64_t t = 1; t < work->tokens && pooling != POOL_FIRST; t++)
        for (int64_t i = 0; i < work->hidden; i++)
            vector[i] += work->states[t * work->hidden + i];
    scale_to_unit(vector, work->hidden);
}

static void run_layer(const struct work *work, const struct header *model, char **at)
{
    int64_t hidden = work->hidden, inner = work->inner;
    struct matrix attention = take_matrix(at, hidden, 3 * hidden);
    struct matrix mixing = take_matrix(at, hidden, hidden);
    struct norm middle = take_norm(at, hidden);
    struct matrix up = take_matrix(at, hidden, inner), down = take_matrix(at, inner, hidden);
    struct norm last = take_norm(at, hidden);
    multiply(work, work->states, &attention, 0, work->wide);
    attend(work, model->heads);
    multiply(work, work->mixed, &mixing, 1, work->states);
    normalise_rows(work, middle, model->epsilon);
    multiply(work, work->states, &up, 0, work->wide);
    gelu(work->wide, work->tokens * inner);
    multiply(work, work->wide, &down, 1, work->states);
    normalise_rows(work, last, model->epsilon);
}

static void look_up(const struct work *work, const struct header *model, const int64_t *ids,
                    char **at)
{
    int64_t hidden = work->hidden;
    const int8_t *words = (const int8_t *)take(at, model->vocabulary * hidden);
    const float *scales = take_floats(at, model->vocabulary);
    const float *positions = take_floats(at, model->positions * hidden);
    for (int64_t t = 0; t < work->tokens; t++) {
        float *state = work->states + t * hidden, scale = scales[ids[t]];
        for (int64_t i = 0; i < hidden; i++)
            state[i] = (float)words[ids[t] * hidden + i] * scale + positions[t * hidden + i];
    }
    normalise_rows(work, take_norm(at, hidden), model->epsilon);
}

/* The instructions that ``encode`` is best called with on this processor. */
KERNEL(int64_t, encoder_instructions)(void)
{
    return best_instructions();
}

/* Bytes of scratch memory that a run of so many tokens needs. */
KERNEL(int64_t, encoder_scratch)(const struct header *model, int64_t tokens)
{
    char *at = (char *)model, *began = at; /* only distances count */
    take_work(&at, model, tokens);
    return at - began + LINE;
}

/* Embed one text.

model: a whole file, from a cache line on. ids: below ``vocabulary``, at most ``positions`` of them.
vector: ``hidden`` numbers. token_vectors: ``token_dim`` for each token, or null. */
KERNEL(void, encode)(const struct header *model, const int64_t *ids, int64_t tokens,
                     int64_t instructions, char *scratch, float *vector, float *token_vectors)
{
    char *at = (char *)model + lines(sizeof *model);
    char *free = (char *)(((uintptr_t)scratch + LINE - 1) / LINE * LINE);
    int64_t hidden = model->hidden, dim = model->token_dim;
    struct work work = take_work(&free, model, tokens);
    work.instructions = instructions;
    memset(work.keys, 0, (size_t)((char *)work.scores - (char *)work.keys)); /* beyond the tokens */
    look_up(&work, model, ids, &at);
    for (int32_t layer = 0; layer < model->layers; layer++)
        run_layer(&work, model, &at);
    pool(&work, model->pooling, vector);
    if (!token_vectors)
        return;
    multiply_floats(work.states, hidden, take_floats(&at, hidden * dim), dim, hidden, token_vectors,
                    dim, tokens, dim);
    for (int64_t t = 0; t < tokens; t++)
        scale_to_unit(token_vectors + t * dim, dim);
}

/* Read one byte of every cache line, so that what is read next is in the processor's cache. */
KERNEL(int64_t, touch)(const uint8_t *memory, int64_t bytes)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < bytes; i += LINE)
        sum += memory[i];
    return sum;
}
