/* Cosines of stored vectors. */

#include "kernels.h"

/* Cosines of chosen half-precision rows, ``width`` numbers each, with a vector. A row below 0 keeps
what is in ``cosines``. */
KERNEL(void, cosines_half)(const uint16_t *matrix, int64_t width, const int64_t *rows, int64_t count,
                           const float *query, float *cosines)
{
    for (int64_t i = 0; i < count; i++)
        if (rows[i] >= 0)
            cosines[i] = dot_half(matrix + rows[i] * width, query, width);
}

/* The same for bytes with a scale for each row. */
KERNEL(void, cosines_bytes)(const int8_t *matrix, const float *scales, int64_t width,
                            const int64_t *rows, int64_t count, const float *query, float *cosines)
{
    for (int64_t i = 0; i < count; i++)
        if (rows[i] >= 0)
            cosines[i] = dot_bytes(matrix + rows[i] * width, query, width) * scales[rows[i]];
}
