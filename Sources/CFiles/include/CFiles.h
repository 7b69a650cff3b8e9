#pragma once
#include <stddef.h>

typedef struct {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
} EmbeddedFile;

/// docs/openapi.json
extern const EmbeddedFile embeddedDocument;

/// The files of Sources/Admin/Console, which ConsoleTests compares with the folder; NULL after the last.
const EmbeddedFile *_Nullable embeddedConsoleFile(size_t index);
