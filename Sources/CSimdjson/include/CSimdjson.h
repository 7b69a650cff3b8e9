#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// simdjson's first stage: the positions of all brackets, commas, colons, strings and other scalars of a JSON text. It
/// also checks UTF-8, quotes, and control characters in strings.
///
/// The second stage would build a tape of unescaped strings and converted numbers. It is left out: logs need their
/// digits as written, and each string only once, at its final place.
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

/// Returns NULL when memory is short.
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

/// Frees memory that only texts longer than `length` need.
void sluice_json_shrink(sluice_json_index *index, size_t length);

/// Checks that a text is well-formed UTF-8, at tens of bytes a cycle.
bool sluice_utf8_is_valid(const uint8_t *text, size_t length);

#ifdef __cplusplus
}
#endif
