#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled regular expression. Several threads may use it at once.
typedef struct sluice_re2 sluice_re2;

/// The bytes that a group took. `start` is -1 for a group that took no part in the match.
typedef struct {
    ptrdiff_t start;
    ptrdiff_t end;
} sluice_re2_span;

typedef enum {
    sluice_re2_anywhere = 0,
    sluice_re2_at_start,
    sluice_re2_whole
} sluice_re2_anchor;

/// The most spans that `sluice_re2_match` fills: the whole match and 64 groups.
enum { sluice_re2_spans_max = 65 };

/// Returns NULL when memory is short. Otherwise `sluice_re2_problem` tells whether the pattern can be used.
sluice_re2 *sluice_re2_create(const uint8_t *pattern, size_t length, size_t memory_max);
void sluice_re2_destroy(sluice_re2 *pattern);

/// Why the text is no pattern, or NULL for a usable one. `*position` is the byte where the faulty part begins. The text
/// lives as long as the pattern.
const char *sluice_re2_problem(const sluice_re2 *pattern, size_t *position);

/// The instructions of the compiled pattern.
int sluice_re2_size(const sluice_re2 *pattern);

/// The number of groups, without the whole match.
int sluice_re2_groups(const sluice_re2 *pattern);
/// The name of a group, from 1, or NULL. It lives as long as the pattern.
const char *sluice_re2_group_name(const sluice_re2 *pattern, int group);

/// Looks for the first match at or after `from`, and fills `count` spans: the whole match, then the groups. It does not
/// throw; where memory is short the process ends.
bool sluice_re2_match(
    const sluice_re2 *pattern,
    const uint8_t *text,
    size_t length,
    size_t from,
    sluice_re2_anchor anchor,
    sluice_re2_span *spans,
    int count
);

#ifdef __cplusplus
}
#endif
