/* What every C file here includes: names of exported functions, and small vector loops.

Each file is compiled once for every level of the processor (see compiler.py): LEVEL is v1, v2, ...
and is part of every exported name, so one library holds all levels and library.py chooses. The
vector loops are static: each level has its own. No allocation, no global state, no Python. */

#ifndef SLOWCAT_KERNELS_H
#define SLOWCAT_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define SLOWCAT_JOIN(name, level) slowcat_##name##_##level
#define SLOWCAT_NAME(name, level) SLOWCAT_JOIN(name, level)
/* Declares an exported function: KERNEL(int64_t, best)(const float *scores, ...) { ... } */
#define KERNEL(type, name) \
    EXPORT type SLOWCAT_NAME(name, LEVEL)

#if defined(__SSSE3__)
#include <immintrin.h>
#endif

/* A half-precision number as float. */
static inline float from_half(uint16_t half)
{
#if defined(__F16C__)
    return _cvtsh_ss(half);
#elif defined(__ARM_FP16_FORMAT_IEEE) || defined(__aarch64__)
    __fp16 value;
    memcpy(&value, &half, 2);
    return (float)value;
#else
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    uint32_t bits, fraction = half & 0x3ff;
    float value;
    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24 */
        value = (float)fraction * 5.9604644775390625e-8f;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    memcpy(&value, &bits, 4);
    return value;
#endif
}

static inline float dot_float(const float *a, const float *b, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Of half-precision numbers with floats. */
static inline float dot_half(const uint16_t *a, const float *b, int64_t n)
{
    int64_t i = 0;
    float sum = 0;
#if defined(__AVX512F__)
    __m512 total = _mm512_setzero_ps();
    for (; i + 16 <= n; i += 16)
        total = _mm512_fmadd_ps(
            _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(a + i))),
            _mm512_loadu_ps(b + i), total);
    sum = _mm512_reduce_add_ps(total);
#elif defined(__F16C__) && defined(__FMA__)
    __m256 one = _mm256_setzero_ps(), two = one;
    for (; i + 16 <= n; i += 16) {
        one = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i))),
                              _mm256_loadu_ps(b + i), one);
        two = _mm256_fmadd_ps(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i + 8))),
                              _mm256_loadu_ps(b + i + 8), two);
    }
    float parts[8];
    _mm256_storeu_ps(parts, _mm256_add_ps(one, two));
    for (int j = 0; j < 8; j++)
        sum += parts[j];
#endif
    for (; i < n; i++)
        sum += from_half(a[i]) * b[i];
    return sum;
}

/* Of bytes with floats. */
static inline float dot_bytes(const int8_t *a, const float *b, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (float)a[i] * b[i];
    return sum;
}

/* Of bytes with bytes; exact up to 131,000 of them. */
static inline int32_t dot_bytes_bytes(const int8_t *a, const int8_t *b, int64_t n)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

#endif
