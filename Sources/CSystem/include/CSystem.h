#pragma once
// Linux functions that `import Glibc` does not show to Swift.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC; the peer's address is written to `peer`.
int sluice_accept(int listener, struct sockaddr_storage *peer, socklen_t *length);

/// Opens a netlink socket that hears of each change of this machine's addresses and routes.
int sluice_open_network_watch(void);

/// Waits until `descriptor` is readable, or for so many nanoseconds; less than 0 waits without limit. poll would round
/// the time to milliseconds.
void sluice_wait_readable(int descriptor, int64_t nanoseconds);

/// Names the calling thread, as `top -H` and core dumps show it (15 bytes at most).
void sluice_name_thread(const char *name);

/// True if `text` is somewhere in `bytes`. The C library searches.
bool sluice_find(const void *bytes, size_t count, const void *text, size_t textCount);

/// Fills `bytes` from the kernel's generator; returns -1 with errno on failure.
int sluice_random(void *bytes, size_t count);

/// Forbids core dumps, and other processes of the same user from reading this one's memory. Returns 0 on success, else
/// -1.
int sluice_forbid_dumps(void);

/// Limits the allocator to `arenas` arenas, each of which keeps up to `keptBytes` free at its end. Larger allocations are
/// mapped, and unmapped when they are freed.
void sluice_set_allocator(int arenas, int keptBytes);

// ThreadSanitizer does not see the futex in Swift's Mutex. These two functions report the lock's edges to it; in an
// ordinary build they do nothing.
void sluice_tsan_acquired(void *lock);
void sluice_tsan_releasing(void *lock);
