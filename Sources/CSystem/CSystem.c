#include "CSystem.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

int sluice_accept(int listener, struct sockaddr_storage *peer, socklen_t *length) {
    return accept4(listener, (struct sockaddr *)peer, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int sluice_open_network_watch(void) {
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};
    int watch = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (watch < 0 || bind(watch, (struct sockaddr *)&address, sizeof address) == 0) return watch;
    int reason = errno;
    close(watch);
    errno = reason;
    return -1;
}

void sluice_wait_readable(int descriptor, int64_t nanoseconds) {
    struct pollfd entry = {descriptor, POLLIN, 0};
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    ppoll(&entry, 1, nanoseconds < 0 ? NULL : &time, NULL);
}

void sluice_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

bool sluice_find(const void *bytes, size_t count, const void *text, size_t textCount) {
    return memmem(bytes, count, text, textCount) != NULL;
}

int sluice_random(void *bytes, size_t count) {
    unsigned char *next = bytes;
    while (count > 0) {
        ssize_t got = getrandom(next, count, 0);
        if (got < 0) return -1;
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

int sluice_forbid_dumps(void) {
    struct rlimit none = {0, 0};
    int limited = setrlimit(RLIMIT_CORE, &none);
    // The limit has no effect when core_pattern pipes dumps to a program.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return limited == 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -1;
}

void sluice_set_allocator(int arenas, int keptBytes) {
    mallopt(M_ARENA_MAX, arenas);
    mallopt(M_TRIM_THRESHOLD, keptBytes);
    mallopt(M_MMAP_THRESHOLD, keptBytes);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_TSAN 1
#endif
#endif

#ifdef SLUICE_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#endif

void sluice_tsan_acquired(void *lock) {
#ifdef SLUICE_TSAN
    __tsan_acquire(lock);
#else
    (void)lock;
#endif
}

void sluice_tsan_releasing(void *lock) {
#ifdef SLUICE_TSAN
    __tsan_release(lock);
#else
    (void)lock;
#endif
}
