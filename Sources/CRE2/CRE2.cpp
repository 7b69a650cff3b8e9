#include "CRE2.h"

#include <re2/re2.h>

struct sluice_re2 {
    re2::RE2 pattern;
};

sluice_re2 *sluice_re2_create(const char *pattern, size_t length, size_t memory_max) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<int64_t>(memory_max));
    return new (std::nothrow) sluice_re2{{re2::StringPiece(pattern, length), options}};
}

void sluice_re2_destroy(sluice_re2 *pattern) { delete pattern; }
