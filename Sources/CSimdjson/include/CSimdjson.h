#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// simdjson's first stage: where every bracket, comma, colon, string and other scalar of a JSON text
/// starts, with UTF-8, quotes and control characters in strings checked on the way.
///
/// The second stage, which builds a tape of unescaped strings and converted numbers, is left out: logs
/// need the digits as they were written, and strings only once, at their final place.
typedef struct sluice_json_index sluice_json_index;

typedef enum {
    sluice_json_ok = 0,
    sluice_json_empty,
    sluice_json_unclosed_string,
    sluice_json_control_character,
    sluice_json_bad_utf8,
    sluice_json_no_memory,
    sluice_json_other
} sluice_json_result;

/// NULL without memory.
sluice_json_index *sluice_json_create(void);
void sluice_json_destroy(sluice_json_index *index);

/// Indexes `length` bytes (less than 4 GiB). On success `*positions` has `*count` ascending byte positions,
/// followed by `length` itself as a sentinel; they are valid until the next call.
sluice_json_result sluice_json_build(
    sluice_json_index *index,
    const uint8_t *text,
    size_t length,
    const uint32_t **positions,
    size_t *count
);

/// Gives memory back that texts longer than `length` needed.
void sluice_json_shrink(sluice_json_index *index, size_t length);

/// Whether a text is well-formed UTF-8, at tens of bytes a cycle.
bool sluice_utf8_is_valid(const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif
