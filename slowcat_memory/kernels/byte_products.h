/* Products of rows of bytes with a matrix of bytes, exact in 32-bit integers.

A matrix of ``width`` rows and ``columns`` columns, -127 to 127, is packed for instructions that add
four products at once: [columns / 16][width / 4][16 columns][4 of the width]. A tile is 1 to 14 rows
by 32 columns. The rows' bytes are ``steps_of`` the instructions: 0 to 255; 0 to 127 where two
products must fit 16 bits; -128 to 127 where both factors have signs. */

#ifndef SLOWCAT_BYTE_PRODUCTS_H
#define SLOWCAT_BYTE_PRODUCTS_H

#include "kernels.h"

enum { BLOCK = 16, TILE_COLUMNS = 2 * BLOCK, TILE_ROWS = 14 };

/* Which instructions a tile uses; each processor's best is the highest that it has. */
enum { PLAIN, PAIRS_AVX2, DOT_ARM, DOT_AVX, DOT_AVX512 };

struct steps {
    int least, most;
};

static inline struct steps steps_of(int64_t instructions)
{
    if (instructions == DOT_ARM)
        return (struct steps){-128, 127};
    return (struct steps){0, instructions == PAIRS_AVX2 ? 127 : 255};
}

static inline int32_t four(const uint8_t *row)
{
    int32_t bytes;
    memcpy(&bytes, row, 4);
    return bytes;
}

static void tile_plain(int n, const uint8_t *rows, int64_t width, const int8_t *weights,
                       int32_t *sums)
{
    for (int r = 0; r < n; r++, rows += width)
        for (int half = 0; half < 2; half++, sums += BLOCK) {
            const int8_t *block = weights + half * BLOCK * width;
            int32_t total[BLOCK] = {0};
            for (int64_t k = 0; k < width; k += 4, block += 4 * BLOCK)
                for (int c = 0; c < BLOCK; c++)
                    for (int j = 0; j < 4; j++)
                        total[c] += (int32_t)rows[k + j] * block[4 * c + j];
            memcpy(sums, total, sizeof total);
        }
}

#if defined(__AVX2__)
#include <cpuid.h>
#include <immintrin.h>

/* Eight columns of some rows: STEP(total, row, weight) adds four products to each column's total. */
#define TILES_256(name, needs, STEP) \
    static inline __attribute__((always_inline)) needs void name##_rows( \
        int n, const uint8_t *rows, int64_t width, const int8_t *weights, int32_t *sums) \
    { \
        __m256i low[4], high[4]; \
        for (int r = 0; r < n; r++) \
            low[r] = high[r] = _mm256_setzero_si256(); \
        for (int64_t k = 0; k < width; k += 4, weights += 4 * BLOCK) { \
            __m256i one = _mm256_load_si256((const __m256i *)weights); \
            __m256i two = _mm256_load_si256((const __m256i *)weights + 1); \
            for (int r = 0; r < n; r++) { \
                __m256i row = _mm256_set1_epi32(four(rows + r * width + k)); \
                low[r] = STEP(low[r], row, one); \
                high[r] = STEP(high[r], row, two); \
            } \
        } \
        for (int r = 0; r < n; r++) { \
            _mm256_storeu_si256((__m256i *)(sums + TILE_COLUMNS * r), low[r]); \
            _mm256_storeu_si256((__m256i *)(sums + TILE_COLUMNS * r) + 1, high[r]); \
        } \
    } \
    static needs void name(int n, const uint8_t *rows, int64_t width, const int8_t *weights, \
                           int32_t *sums) \
    { \
        for (int half = 0; half < 2; half++) \
            for (int r = 0; r < n; r += 4) { \
                const uint8_t *from = rows + r * width; \
                const int8_t *block = weights + half * BLOCK * width; \
                int32_t *to = sums + TILE_COLUMNS * r + half * BLOCK; \
                switch (n - r) { \
                case 1: name##_rows(1, from, width, block, to); break; \
                case 2: name##_rows(2, from, width, block, to); break; \
                case 3: name##_rows(3, from, width, block, to); break; \
                default: name##_rows(4, from, width, block, to); \
                } \
            } \
    }

static inline __m256i step_pairs(__m256i total, __m256i row, __m256i weight)
{
    __m256i pairs = _mm256_maddubs_epi16(row, weight);
    return _mm256_add_epi32(total, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

TILES_256(tile_pairs, , step_pairs)

#if __GNUC__ >= 11 || __clang_major__ >= 12
#define HAVE_DOT_AVX
#define AVXVNNI __attribute__((target("avxvnni")))
TILES_256(tile_dot_256, AVXVNNI, _mm256_dpbusd_avx_epi32)
#endif
#endif

#if defined(__AVX512BW__)
#define AVX512VNNI __attribute__((target("avx512vnni")))

/* The weights of the next tile are fetched while this one is computed: after a pause they are in
no cache. */
static inline __attribute__((always_inline)) AVX512VNNI void tile_dot_512_rows(
    int n, const uint8_t *rows, int64_t width, const int8_t *weights, int32_t *sums)
{
    __m512i left[TILE_ROWS], right[TILE_ROWS];
    const int8_t *other = weights + BLOCK * width, *next = other + BLOCK * width;
    for (int r = 0; r < n; r++)
        left[r] = right[r] = _mm512_setzero_si512();
    for (int64_t k = 0; k < width; k += 4) {
        __m512i one = _mm512_load_si512(weights + BLOCK * k);
        __m512i two = _mm512_load_si512(other + BLOCK * k);
        _mm_prefetch((const char *)(next + BLOCK * k), _MM_HINT_T0);
        _mm_prefetch((const char *)(next + BLOCK * (width + k)), _MM_HINT_T0);
#pragma GCC unroll 14
        for (int r = 0; r < n; r++) {
            __m512i row = _mm512_set1_epi32(four(rows + r * width + k));
            left[r] = _mm512_dpbusd_epi32(left[r], row, one);
            right[r] = _mm512_dpbusd_epi32(right[r], row, two);
        }
    }
#pragma GCC unroll 14
    for (int r = 0; r < n; r++) {
        _mm512_storeu_si512(sums + TILE_COLUMNS * r, left[r]);
        _mm512_storeu_si512(sums + TILE_COLUMNS * r + BLOCK, right[r]);
    }
}

#define CASE(rows_) \
    case rows_: tile_dot_512_rows(rows_, rows, width, weights, sums); break;
static AVX512VNNI void tile_dot_512(int n, const uint8_t *rows, int64_t width,
                                    const int8_t *weights, int32_t *sums)
{
    switch (n) { /* a number of rows known to the compiler keeps the sums in registers */
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
    CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14)
    }
}
#undef CASE
#endif

#if defined(__aarch64__)
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__ARM_FEATURE_DOTPROD)
#define DOTPROD
#elif defined(__clang__)
#define DOTPROD __attribute__((target("dotprod")))
#else
#define DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

static DOTPROD void tile_dot_arm(int n, const uint8_t *rows, int64_t width, const int8_t *weights,
                                 int32_t *sums)
{
    for (int half = 0; half < 2; half++)
        for (int r = 0; r < n; r += 2) { /* an odd last row is computed twice */
            const int8_t *block = weights + half * BLOCK * width;
            const uint8_t *first = rows + r * width, *second = first + (r + 1 < n ? width : 0);
            int32x4_t one[4], two[4];
            for (int c = 0; c < 4; c++)
                one[c] = two[c] = vdupq_n_s32(0);
            for (int64_t k = 0; k < width; k += 4, block += 4 * BLOCK) {
                int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four(first + k)));
                int8x16_t b = vreinterpretq_s8_s32(vdupq_n_s32(four(second + k)));
                for (int c = 0; c < 4; c++) {
                    int8x16_t weight = vld1q_s8(block + 16 * c);
                    one[c] = vdotq_s32(one[c], weight, a);
                    two[c] = vdotq_s32(two[c], weight, b);
                }
            }
            for (int c = 0; c < 4; c++) {
                vst1q_s32(sums + TILE_COLUMNS * r + half * BLOCK + 4 * c, one[c]);
                if (r + 1 < n)
                    vst1q_s32(sums + TILE_COLUMNS * (r + 1) + half * BLOCK + 4 * c, two[c]);
            }
        }
}
#endif

/* The best instructions of this level that the processor has. */
static int64_t best_instructions(void)
{
#if defined(__AVX2__)
    unsigned a, b, c, d;
    enum { AVX512_VNNI = 1u << 11, AVX_VNNI = 1u << 4 }; /* leaf 7: 0, ecx; 1, eax */
#if defined(__AVX512BW__)
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && c & AVX512_VNNI)
        return DOT_AVX512;
#endif
#if defined(HAVE_DOT_AVX)
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && a & AVX_VNNI)
        return DOT_AVX;
#endif
    return PAIRS_AVX2;
#elif defined(__ARM_FEATURE_DOTPROD)
    return DOT_ARM;
#elif defined(__aarch64__) && defined(__linux__)
    enum { ASIMDDP = 1 << 20 }; /* older headers lack its name */
    return getauxval(AT_HWCAP) & ASIMDDP ? DOT_ARM : PLAIN;
#else
    return PLAIN;
#endif
}

/* sums[r][c] for n rows and the 32 columns whose packed weights start here. */
static void tile(int64_t instructions, int n, const uint8_t *rows, int64_t width,
                 const int8_t *weights, int32_t *sums)
{
    switch (instructions) {
#if defined(__AVX512BW__)
    case DOT_AVX512: tile_dot_512(n, rows, width, weights, sums); break;
#endif
#if defined(HAVE_DOT_AVX)
    case DOT_AVX: tile_dot_256(n, rows, width, weights, sums); break;
#endif
#if defined(__AVX2__)
    case PAIRS_AVX2: tile_pairs(n, rows, width, weights, sums); break;
#endif
#if defined(__aarch64__)
    case DOT_ARM: tile_dot_arm(n, rows, width, weights, sums); break;
#endif
    default: tile_plain(n, rows, width, weights, sums);
    }
}

#endif
