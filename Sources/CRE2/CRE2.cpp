#include "CRE2.h"

#include <algorithm>
#include <re2/re2.h>
#include <string>

struct sluice_re2 {
    re2::RE2 pattern;
    std::string reason;
    size_t position = 0;

    sluice_re2(re2::StringPiece text, const re2::RE2::Options &options) : pattern(text, options) {
        if (pattern.ok()) return;
        reason = pattern.error();
        const std::string &part = pattern.error_arg();
        if (pattern.error_code() == re2::RE2::ErrorTrailingBackslash) position = text.size() - 1;
        if (part.empty()) return;
        size_t found = pattern.pattern().find(part);
        if (found == std::string::npos) return;
        position = found;
        // "missing ): " and then the whole pattern tells the reader nothing new.
        size_t tail = part.size() + 2;
        if (part == pattern.pattern() && reason.size() > tail) reason.resize(reason.size() - tail);
    }
};

sluice_re2 *sluice_re2_create(const uint8_t *pattern, size_t length, size_t memory_max) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<int64_t>(memory_max));
    try {
        return new sluice_re2({reinterpret_cast<const char *>(pattern), length}, options);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void sluice_re2_destroy(sluice_re2 *pattern) { delete pattern; }

const char *sluice_re2_problem(const sluice_re2 *pattern, size_t *position) {
    *position = pattern->position;
    return pattern->pattern.ok() ? nullptr : pattern->reason.c_str();
}

int sluice_re2_size(const sluice_re2 *pattern) { return pattern->pattern.ProgramSize(); }

int sluice_re2_groups(const sluice_re2 *pattern) {
    return pattern->pattern.NumberOfCapturingGroups();
}

const char *sluice_re2_group_name(const sluice_re2 *pattern, int group) {
    const auto &names = pattern->pattern.CapturingGroupNames();
    auto found = names.find(group);
    return found == names.end() ? nullptr : found->second.c_str();
}

bool sluice_re2_match(
    const sluice_re2 *pattern,
    const uint8_t *text,
    size_t length,
    size_t from,
    sluice_re2_anchor anchor,
    sluice_re2_span *spans,
    int count
) {
    static constexpr re2::RE2::Anchor anchors[] = {
        re2::RE2::UNANCHORED, re2::RE2::ANCHOR_START, re2::RE2::ANCHOR_BOTH};
    // A group that took no part has a null address, so an empty text must have another one.
    const char *start = text ? reinterpret_cast<const char *>(text) : "";
    re2::StringPiece groups[sluice_re2_spans_max];
    count = std::min<int>(count, sluice_re2_spans_max);
    if (!pattern->pattern.Match({start, length}, from, length, anchors[anchor], groups, count)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!groups[i].data()) {
            spans[i] = {-1, -1};
            continue;
        }
        ptrdiff_t first = groups[i].data() - start;
        spans[i] = {first, first + static_cast<ptrdiff_t>(groups[i].size())};
    }
    return true;
}
