/* MaxSim: for each document the mean, over a query's tokens, of the best product with a token of
the document. */

#include "kernels.h"

#define MOST_WIDTH 256 /* bytes of a token's code: 1,024 coordinates */

#define LANES 16 /* words of a query that are compared with a token at once */

/* Multiplies each of ``count`` rows by a matrix, both ``dim`` wide, the matrix given by columns.
Coordinate j of row i goes to rotated[j * lanes + i], ``lanes`` being at least ``count``. */
KERNEL(void, rotate_tokens)(const float *rows, int64_t count, int64_t dim, const float *columns,
                            int64_t lanes, float *rotated)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < dim; j++)
            rotated[j * lanes + i] = dot_float(rows + i * dim, columns + j * dim, dim);
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

/* Keeps the best products of a token with the words of a query, 16 by 16. */
static inline void keep_best(const float *token, int64_t dim, const float *query, int64_t lanes,
                             float factor, float *best)
{
    for (int64_t first = 0; first < lanes; first += LANES) {
        const float *words = query + first;
        float even[LANES] = {0}, odd[LANES] = {0};
        int64_t j = 0;
        for (; j + 2 <= dim; j += 2, words += 2 * lanes)
            for (int i = 0; i < LANES; i++) {
                even[i] += token[j] * words[i];
                odd[i] += token[j + 1] * words[lanes + i];
            }
        for (int i = 0; j < dim && i < LANES; i++)
            even[i] += token[j] * words[i];
        for (int i = 0; i < LANES; i++) {
            float product = (even[i] + odd[i]) * factor;
            best[first + i] = product > best[first + i] ? product : best[first + i];
        }
    }
}

/* The four coordinates in a byte of a code, each a level: half an odd number of steps. */
#define STEPS(code) ((float)((code) & 3) - 1.5f)
#define BYTE(code) {STEPS(code), STEPS((code) >> 2), STEPS((code) >> 4), STEPS((code) >> 6)}
#define BYTES4(code) BYTE(code), BYTE(code + 1), BYTE(code + 2), BYTE(code + 3)
#define BYTES16(code) BYTES4(code), BYTES4(code + 4), BYTES4(code + 8), BYTES4(code + 12)
#define BYTES64(code) BYTES16(code), BYTES16(code + 16), BYTES16(code + 32), BYTES16(code + 48)
static const float LEVELS[256][4] = {BYTES64(0), BYTES64(64), BYTES64(128), BYTES64(192)};

/* Scores documents by codes of two bits a coordinate (core/ranking/token_codes.py). ``query`` is
as ``rotate_tokens`` leaves it, ``words`` tokens in ``lanes``, a multiple of 16. ``tokens`` has the
number of tokens of each document, whose codes follow one another. ``best`` has room for ``lanes``.
A document without tokens keeps what is in ``scores``. */
KERNEL(void, maxsim_codes)(const uint8_t *codes, const int64_t *tokens, int64_t documents,
                           int64_t width, int64_t dim, const float *query, int64_t words,
                           int64_t lanes, float *best, float *scores)
{
    float token[4 * MOST_WIDTH];
    for (int64_t d = 0; d < documents; d++) {
        if (!tokens[d])
            continue;
        forget_best(best, lanes);
        for (int64_t t = 0; t < tokens[d]; t++, codes += width) {
            for (int64_t j = 0; j < width; j++)
                memcpy(token + 4 * j, LEVELS[codes[j]], sizeof LEVELS[0]);
            keep_best(token, dim, query, lanes, 1.0f / sqrtf(dot_float(token, token, dim)), best);
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
