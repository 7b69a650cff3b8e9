#include "CSimdjson.h"

#include <memory>
#include <new>
#include <simdjson.h>

using simdjson::internal::dom_parser_implementation;

struct sluice_json_index {
    std::unique_ptr<dom_parser_implementation> parser;
};

sluice_json_index *sluice_json_create(void) {
    return new (std::nothrow) sluice_json_index();
}

void sluice_json_destroy(sluice_json_index *index) {
    delete index;
}

static bool make_room(sluice_json_index *index, size_t length) {
    if (index->parser && index->parser->capacity() >= length) return true;
    // The capacity doubles, so that slowly growing bodies do not each cost an allocation.
    size_t capacity = 4096;
    while (capacity < length) capacity *= 2;
    // A depth of one suffices: only the second stage needs more, and it never runs.
    if (!index->parser) {
        return simdjson::get_active_implementation()->create_dom_parser_implementation(
                   capacity, 1, index->parser) == simdjson::SUCCESS;
    }
    return index->parser->set_capacity(capacity) == simdjson::SUCCESS;
}

sluice_json_result sluice_json_build(
    sluice_json_index *index,
    const uint8_t *text,
    size_t length,
    const uint32_t **positions,
    size_t *count
) {
    if (!make_room(index, length)) {
        index->parser.reset();
        return sluice_json_no_memory;
    }
    switch (index->parser->stage1(text, length, simdjson::stage1_mode::regular)) {
    case simdjson::SUCCESS: break;
    case simdjson::EMPTY: return sluice_json_empty;
    case simdjson::UNCLOSED_STRING: return sluice_json_unclosed_string;
    case simdjson::UNESCAPED_CHARS: return sluice_json_control_character;
    case simdjson::UTF8_ERROR: return sluice_json_bad_utf8;
    default: return sluice_json_other;
    }
    *count = index->parser->n_structural_indexes;
    // simdjson writes this sentinel too, but its interface does not promise it.
    index->parser->structural_indexes[*count] = (uint32_t)length;
    *positions = index->parser->structural_indexes.get();
    return sluice_json_ok;
}

void sluice_json_shrink(sluice_json_index *index, size_t length) {
    if (index->parser && index->parser->capacity() > length) index->parser.reset();
}

bool sluice_utf8_is_valid(const uint8_t *text, size_t length) {
    return simdjson::validate_utf8(reinterpret_cast<const char *>(text), length);
}
