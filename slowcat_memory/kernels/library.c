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

/* The highest level that this processor has, 1 to 4; 1 where that is unknown. */
EXPORT int slowcat_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
        return 1;
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return 3;
    return 4;
#else
    return 1;
#endif
}
