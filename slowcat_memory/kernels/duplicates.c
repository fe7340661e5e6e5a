/* Texts of nearly the same words. The definition is core/ranking/fusion.py, ``distinct``. */

#include "kernels.h"

static int is_word(uint8_t byte)
{
    uint8_t lower = byte | 32;
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') ||
           (byte >= 0x80 && byte != 0xff);
}

/* Hash the words of a text that ends at ``end``: runs of letters and digits, with at most one
apostrophe within. Return how many there are. */
static int64_t hash_words(const uint8_t *text, const uint8_t *end, uint64_t *hashes)
{
    int64_t words = 0;
    while (text < end) {
        if (!is_word(*text)) {
            text++;
            continue;
        }
        uint64_t hash = 0xcbf29ce484222325u;
        for (int apostrophes = 0; text < end; text++) {
            uint8_t byte = *text;
            if (!is_word(byte) &&
                !(byte == '\'' && !apostrophes++ && text + 1 < end && is_word(text[1])))
                break;
            byte = byte >= 'A' && byte <= 'Z' ? byte | 32 : byte;
            hash = (hash ^ byte) * 0x100000001b3u;
        }
        hashes[words++] = hash ^ hash >> 29;
    }
    return words;
}

/* Sort numbers and leave each out but once; return how many are left. */
static int64_t sort_unique(uint64_t *numbers, int64_t n)
{
    static const int64_t gaps[] = {20000000, 8000000, 3000000, 1200000, 500000, 200000, 80000, 30000,
                                   12000,    4500,    1750,    701,     301,    132,    57,    23,
                                   10,       4,       1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int64_t gap = gaps[g], i = gap; i < n; i++) {
            uint64_t one = numbers[i];
            int64_t place = i;
            for (; place >= gap && numbers[place - gap] > one; place -= gap)
                numbers[place] = numbers[place - gap];
            numbers[place] = one;
        }
    int64_t kept = n > 0;
    for (int64_t i = 1; i < n; i++)
        if (numbers[i] != numbers[i - 1])
            numbers[kept++] = numbers[i];
    return kept;
}

/* Whether two sorted sets have so little in common that their Jaccard similarity is below a
threshold. */
static int differ(const uint64_t *a, int64_t n, const uint64_t *b, int64_t m, double threshold)
{
    int64_t common = 0, i = 0, j = 0, less = n < m ? n : m, more = n < m ? m : n;
    if (more == 0)
        return 1.0 < threshold;
    if ((double)less / (double)more < threshold)
        return 1;
    while (i < n && j < m) {
        common += a[i] == b[j];
        uint64_t one = a[i], other = b[j];
        i += one <= other;
        j += other <= one;
    }
    return (double)common / (double)(n + m - common) < threshold;
}

/* Find the first of each group of near-equal texts. ``texts`` are in UTF-8, each ended by a byte
255; ``hashes`` has room for a number for every second byte and one more, ``sizes`` and ``kept`` for
each text. Return how many are kept, ``limit`` at most. */
KERNEL(int64_t, distinct)(const uint8_t *texts, int64_t count, double threshold, int64_t limit,
                          uint64_t *hashes, int64_t *sizes, int64_t *kept)
{
    int64_t found = 0;
    uint64_t *free = hashes;
    for (int64_t i = 0; i < count && found < limit; i++) {
        const uint8_t *end = texts;
        while (*end != 0xff)
            end++;
        int64_t size = sort_unique(free, hash_words(texts, end, free));
        const uint64_t *other = hashes;
        int new = 1;
        for (int64_t k = 0; new && k < found; other += sizes[k++])
            new = differ(free, size, other, sizes[k], threshold);
        if (new) {
            kept[found] = i;
            sizes[found++] = size;
            free += size;
        }
        texts = end + 1;
    }
    return found;
}
