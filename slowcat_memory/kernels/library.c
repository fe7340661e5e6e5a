/* What the library says about itself. Compiled once, without a level: DIGEST is that of the sources,
LEVELS the compiled levels, the best first, separated by spaces. */

#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT int64_t slowcat_digest(void)
{
    return DIGEST;
}

EXPORT const char *slowcat_levels(void)
{
    return LEVELS;
}

#if defined(__x86_64__)
#include <cpuid.h>

enum { SSE3 = 1u << 0, SSSE3 = 1u << 9, CX16 = 1u << 13, SSE41 = 1u << 19, SSE42 = 1u << 20 };
enum { POPCNT = 1u << 23, OSXSAVE = 1u << 27, FMA = 1u << 12, F16C = 1u << 29 }; /* leaf 1, ecx */
enum { AVX2 = 1u << 5, BMI1 = 1u << 3, BMI2 = 1u << 8 };             /* leaf 7, ebx */
enum { AVX512F = 1u << 16, AVX512DQ = 1u << 17, AVX512CD = 1u << 28, AVX512BW = 1u << 30 };
static const unsigned AVX512VL = 1u << 31;

/* Which registers the operating system saves: 6 for those of AVX, 0xe0 for those of AVX-512. */
static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int has(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

/* The highest level that this processor has, 1 to 4. Not __builtin_cpu_supports: what it reads is
not there in every compiler's shared libraries. */
EXPORT int slowcat_level(void)
{
    unsigned a, b, c, d, features, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, SSE3 | SSSE3 | CX16 | SSE41 | SSE42 | POPCNT))
        return 1;
    if (!has(c, OSXSAVE | FMA | F16C))
        return 2;
    saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &features, &c, &d) || !has(features, AVX2 | BMI1 | BMI2) ||
        !has(saved, 6))
        return 2;
    if (!has(features, AVX512F | AVX512DQ | AVX512CD | AVX512BW | AVX512VL) || !has(saved, 0xe6))
        return 3;
    return 4;
}
#else
EXPORT int slowcat_level(void)
{
    return 1;
}
#endif
