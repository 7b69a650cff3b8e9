#include "COpenSSL.h"
#include <malloc.h>
#include <stdlib.h>

// Bytes that OpenSSL has allocated and not freed on this thread. A session stays on its thread, so the difference
// around a call is what the session allocated in it.
static _Thread_local long taken;

static void *take(size_t count, const char *file, int line) {
    if (count == 0) return NULL;
    void *memory = malloc(count);
    taken += (long)malloc_usable_size(memory);
    return memory;
}

static void give_back(void *memory, const char *file, int line) {
    taken -= (long)malloc_usable_size(memory);
    free(memory);
}

static void *change(void *memory, size_t count, const char *file, int line) {
    if (memory == NULL) return take(count, file, line);
    if (count == 0) {
        give_back(memory, file, line);
        return NULL;
    }
    long before = (long)malloc_usable_size(memory);
    void *changed = realloc(memory, count);
    if (changed != NULL) taken += (long)malloc_usable_size(changed) - before;
    return changed;
}

// OpenSSL accepts memory functions only before its first allocation, so this runs before main.
__attribute__((constructor)) static void count_memory(void) {
    CRYPTO_set_mem_functions(take, change, give_back);
}

long sluice_openssl_bytes(void) { return taken; }
