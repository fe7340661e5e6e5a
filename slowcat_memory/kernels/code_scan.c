/* The rows whose 4-bit codes are nearest to a query; see code_scan.py. */

#include "best.h"
#include "vectors.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { BLOCK = 64, WORDS = 16, HIGHEST = 63 }; /* rows a block; centroids a part; in a table */

/* Of even and of odd rows of a block. */
typedef struct {
    uint16_t even[BLOCK / 2], odd[BLOCK / 2];
} block_sums;

/* What each centroid adds to a product, as bytes of 0 to HIGHEST, so that four of them make a byte. Those of the first part are 1 or more: no sum is 0.
parts is even; the last one may be beyond the width, and adds nothing. */
static void make_tables(const float *centroids, int64_t parts, int64_t dims, const float *query,
                        int64_t width, float *exact, uint8_t *tables)
{
    float widest = 0, scale;
    for (int64_t part = 0; part < parts; part++) {
        float *mine = exact + part * WORDS, least = INFINITY, most = -INFINITY;
        for (int64_t word = 0; word < WORDS; word++) {
            const float *centroid = centroids + (part * WORDS + word) * dims;
            int64_t begin = part * dims;
            float product = begin < width ? dot_float(centroid, query + begin, dims) : 0;
            mine[word] = product;
            least = product < least ? product : least;
            most = product > most ? product : most;
        }
        for (int64_t word = 0; word < WORDS; word++)
            mine[word] -= least;
        widest = most - least > widest ? most - least : widest;
    }
    scale = widest > 0 ? (HIGHEST - 1) / widest : 0;
    for (int64_t i = 0; i < parts * WORDS; i++)
        tables[i] = (uint8_t)(exact[i] * scale + 0.5f) + (i < WORDS);
}

#if defined(__AVX512BW__)
static inline __m512i table_of(const uint8_t *tables, int64_t part)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(tables + part * WORDS)));
}

static inline __m512i look_up(const uint8_t *codes, const uint8_t *tables, int64_t pair)
{
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512i both = _mm512_loadu_si512(codes + pair * BLOCK);
    __m512i low = _mm512_and_si512(both, nibble);
    __m512i high = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
    return _mm512_add_epi8(_mm512_shuffle_epi8(table_of(tables, 2 * pair), low),
                           _mm512_shuffle_epi8(table_of(tables, 2 * pair + 1), high));
}

static void sum_block(const uint8_t *codes, int64_t pairs, const uint8_t *tables, block_sums *sums)
{
    const __m512i byte = _mm512_set1_epi16(255);
    __m512i even = _mm512_setzero_si512(), odd = even;
    for (int64_t pair = 0; pair < pairs; pair += 2) {
        __m512i four = look_up(codes, tables, pair);
        if (pair + 1 < pairs)
            four = _mm512_add_epi8(four, look_up(codes, tables, pair + 1));
        even = _mm512_add_epi16(even, _mm512_and_si512(four, byte));
        odd = _mm512_add_epi16(odd, _mm512_srli_epi16(four, 8));
    }
    _mm512_storeu_si512(sums->even, even);
    _mm512_storeu_si512(sums->odd, odd);
}
#elif defined(__AVX2__)
static inline __m256i table_of(const uint8_t *tables, int64_t part)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(tables + part * WORDS)));
}

static inline __m256i look_up(const uint8_t *codes, __m256i lower, __m256i higher)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i both = _mm256_loadu_si256((const __m256i *)codes);
    __m256i low = _mm256_and_si256(both, nibble);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
    return _mm256_add_epi8(_mm256_shuffle_epi8(lower, low), _mm256_shuffle_epi8(higher, high));
}

static void sum_block(const uint8_t *codes, int64_t pairs, const uint8_t *tables, block_sums *sums)
{
    const __m256i byte = _mm256_set1_epi16(255);
    __m256i even[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i odd[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int64_t pair = 0; pair < pairs; pair += 2) {
        __m256i four[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (int64_t one = pair; one < pair + 2 && one < pairs; one++) {
            __m256i lower = table_of(tables, 2 * one), higher = table_of(tables, 2 * one + 1);
            for (int half = 0; half < 2; half++)
                four[half] = _mm256_add_epi8(
                    four[half], look_up(codes + one * BLOCK + 32 * half, lower, higher));
        }
        for (int half = 0; half < 2; half++) {
            even[half] = _mm256_add_epi16(even[half], _mm256_and_si256(four[half], byte));
            odd[half] = _mm256_add_epi16(odd[half], _mm256_srli_epi16(four[half], 8));
        }
    }
    for (int half = 0; half < 2; half++) {
        _mm256_storeu_si256((__m256i *)(sums->even + 16 * half), even[half]);
        _mm256_storeu_si256((__m256i *)(sums->odd + 16 * half), odd[half]);
    }
}
#elif defined(__aarch64__)
static void sum_block(const uint8_t *codes, int64_t pairs, const uint8_t *tables, block_sums *sums)
{
    for (int quarter = 0; quarter < 4; quarter++) {
        uint16x8_t even = vdupq_n_u16(0), odd = even;
        for (int64_t pair = 0; pair < pairs; pair++) {
            uint8x16_t both = vld1q_u8(codes + pair * BLOCK + 16 * quarter);
            uint8x16_t low = vqtbl1q_u8(vld1q_u8(tables + 2 * pair * WORDS), vandq_u8(both, vdupq_n_u8(15)));
            uint8x16_t high = vqtbl1q_u8(vld1q_u8(tables + (2 * pair + 1) * WORDS), vshrq_n_u8(both, 4));
            uint16x8_t two = vreinterpretq_u16_u8(vaddq_u8(low, high));
            even = vaddq_u16(even, vandq_u16(two, vdupq_n_u16(255)));
            odd = vaddq_u16(odd, vshrq_n_u16(two, 8));
        }
        vst1q_u16(sums->even + 8 * quarter, even);
        vst1q_u16(sums->odd + 8 * quarter, odd);
    }
}
#else
static void sum_block(const uint8_t *codes, int64_t pairs, const uint8_t *tables, block_sums *sums)
{
    uint16_t all[BLOCK] = {0};
    for (int64_t pair = 0; pair < pairs; pair++)
        for (int64_t i = 0; i < BLOCK; i++) {
            uint8_t both = codes[pair * BLOCK + i];
            all[i] += (uint16_t)(tables[2 * pair * WORDS + (both & 15)] +
                                 tables[(2 * pair + 1) * WORDS + (both >> 4)]);
        }
    for (int64_t i = 0; i < BLOCK / 2; i++) {
        sums->even[i] = all[2 * i];
        sums->odd[i] = all[2 * i + 1];
    }
}
#endif

/* Which of 32 sums exceed the least, a bit each. */
#if defined(__AVX512BW__)
static inline uint32_t above(const uint16_t *sums, uint16_t least)
{
    return _mm512_cmpgt_epu16_mask(_mm512_loadu_si512(sums), _mm512_set1_epi16((short)least));
}
#elif defined(__AVX2__)
static inline uint32_t above(const uint16_t *sums, uint16_t least)
{
    const __m256i limit = _mm256_set1_epi16((short)least), zero = _mm256_setzero_si256();
    __m256i one = _mm256_subs_epu16(_mm256_loadu_si256((const __m256i *)sums), limit);
    __m256i two = _mm256_subs_epu16(_mm256_loadu_si256((const __m256i *)(sums + 16)), limit);
    __m256i equal = _mm256_packs_epi16(_mm256_cmpeq_epi16(one, zero), _mm256_cmpeq_epi16(two, zero));
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(equal, 0xd8));
}
#else
static inline uint32_t above(const uint16_t *sums, uint16_t least)
{
    uint32_t bits = 0;
    uint16_t any = 0;
    for (int i = 0; i < BLOCK / 2; i++)
        any |= (uint16_t)(sums[i] > least);
    for (int i = 0; any && i < BLOCK / 2; i++)
        bits |= (uint32_t)(sums[i] > least) << i;
    return bits;
}
#endif

/* Offer the rows of half a block, every second one from ``first`` on. */
static inline void offer(const vector_arrays *v, best_of *best, const uint16_t *sums, int64_t first)
{
    uint16_t least = (uint16_t)best->least;
    for (uint32_t bits = above(sums, least); bits; bits &= bits - 1) {
        int i = __builtin_ctz(bits);
        int64_t row = first + 2 * i;
        if (row < v->rows && is_alive(v, row)) {
            best->items[best->count] = row;
            best->values[best->count++] = sums[i];
        }
    }
}

/* The rows that are nearest by code, ``best->k`` of them at most. */
static void scan(const vector_arrays *v, const uint8_t *codes, int64_t pairs, const uint8_t *tables,
                 best_of *best)
{
    for (int64_t start = 0; start < v->rows; start += BLOCK) {
        block_sums sums;
        sum_block(codes + start * pairs, pairs, tables, &sums);
        offer(v, best, sums.even, start);
        offer(v, best, sums.odd, start + 1);
        if (best->count >= 2 * best->k)
            keep_best(best);
    }
    keep_best(best);
}

/* The k sealed documents nearest to a query: those of the ``count`` nearest by code that are nearest
exactly; return how many. codes: blocks of BLOCK rows, for each pair of parts a byte a row; parts is
even; centroids: WORDS for each part; exact, tables: room for WORDS of parts; items, values: room for
2 count + BLOCK; documents, cosines: room for 2 k. */
KERNEL(int64_t, nearest_coded)(const vector_arrays *v, const uint8_t *codes, const float *centroids,
                               int64_t parts, int64_t dims, const float *query, int64_t k,
                               int64_t count, float *exact, uint8_t *tables, int64_t *items,
                               float *values, int64_t *documents, float *cosines)
{
    best_of rough = {items, values, count, 0, 0};
    best_of best = {documents, cosines, k, 0, -INFINITY};
    if (k <= 0 || count <= 0)
        return 0;
    make_tables(centroids, parts, dims, query, v->width, exact, tables);
    scan(v, codes, parts / 2, tables, &rough);
    row_cosines(v, items, rough.count, query, values);
    for (int64_t i = 0; i < rough.count; i++)
        if (values[i] > best.least)
            add_best(&best, v->documents ? v->documents[items[i]] : items[i], values[i]);
    keep_best(&best);
    return best.count;
}
