#pragma once
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled regular expression. Several threads may use it at once.
typedef struct sluice_re2 sluice_re2;

/// Returns NULL when memory is short. Otherwise `sluice_re2_problem` tells whether the pattern can be used.
sluice_re2 *sluice_re2_create(const char *pattern, size_t length, size_t memory_max);
void sluice_re2_destroy(sluice_re2 *pattern);

#ifdef __cplusplus
}
#endif
