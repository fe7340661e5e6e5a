/* MaxSim: for each document the mean, over a query's tokens, of the best product with a token of
the document. */

#include "kernels.h"

#define MOST_WIDTH 256 /* bytes of a token's code: 1,024 coordinates */

/* Multiplies each of ``count`` rows by a matrix: rotated = rows * matrix, all ``dim`` wide, the
matrix given by columns. Rows of the result are ``padded`` wide; what is beyond ``dim`` stays. */
KERNEL(void, rotate_tokens)(const float *rows, int64_t count, int64_t dim, const float *columns,
                            int64_t padded, float *rotated)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < dim; j++)
            rotated[i * padded + j] = dot_float(rows + i * dim, columns + j * dim, dim);
}

static inline void keep_best(const float *query, int64_t words, int64_t width, const float *token,
                             float factor, float *best)
{
    for (int64_t i = 0; i < words; i++) {
        float product = dot_float(query + i * width, token, width) * factor;
        best[i] = product > best[i] ? product : best[i];
    }
}

static inline float mean_of(const float *best, int64_t words)
{
    float sum = 0;
    for (int64_t i = 0; i < words; i++)
        sum += best[i];
    return sum / (float)words;
}

static inline void forget_best(float *best, int64_t words)
{
    for (int64_t i = 0; i < words; i++)
        best[i] = -INFINITY;
}

/* Scores documents by codes of two bits a coordinate (core/ranking/token_codes.py). ``query`` is
rotated, each of its ``words`` tokens 4 * ``width`` floats, zero beyond ``dim``. ``tokens`` has the
number of tokens of each document, whose codes follow one another. ``best`` has room for ``words``.
A document without tokens keeps what is in ``scores``. */
KERNEL(void, maxsim_codes)(const uint8_t *codes, const int64_t *tokens, int64_t documents,
                           int64_t width, int64_t dim, const float *query, int64_t words,
                           float *best, float *scores)
{
    float token[4 * MOST_WIDTH];
    float padding = 0.25f * (float)(4 * width - dim); /* the padding's codes are 1, half a step off */
    for (int64_t d = 0; d < documents; d++) {
        if (!tokens[d])
            continue;
        forget_best(best, words);
        for (int64_t t = 0; t < tokens[d]; t++, codes += width) {
            for (int64_t part = 0; part < 4; part++)
                for (int64_t j = 0; j < width; j++)
                    token[part * width + j] = (float)(codes[j] >> (2 * part) & 3) - 1.5f;
            float length = sqrtf(dot_float(token, token, 4 * width) - padding);
            keep_best(query, words, 4 * width, token, 1.0f / length, best);
        }
        scores[d] = mean_of(best, words);
    }
}

/* The same for bytes, ``dim`` a token: 127 times a unit vector. */
KERNEL(void, maxsim_bytes)(const int8_t *rows, const int64_t *tokens, int64_t documents, int64_t dim,
                           const float *query, int64_t words, float *best, float *scores)
{
    for (int64_t d = 0; d < documents; d++) {
        if (!tokens[d])
            continue;
        forget_best(best, words);
        for (int64_t t = 0; t < tokens[d]; t++, rows += dim)
            for (int64_t i = 0; i < words; i++) {
                float product = dot_bytes(rows, query + i * dim, dim);
                best[i] = product > best[i] ? product : best[i];
            }
        scores[d] = mean_of(best, words) / 127.0f;
    }
}
