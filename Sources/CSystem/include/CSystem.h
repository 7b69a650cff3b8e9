#pragma once
// What Linux offers that `import Glibc` does not show to Swift.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>

/// accept4 with SOCK_NONBLOCK | SOCK_CLOEXEC; the peer's address is written to `peer`.
int sluice_accept(int listener, struct sockaddr_storage *peer, socklen_t *length);

/// Names the calling thread, as `top -H` and core dumps show it (15 bytes at most).
void sluice_name_thread(const char *name);

/// Fills `bytes` from the kernel's generator; returns -1 with errno on failure.
int sluice_random(void *bytes, size_t count);

/// Forbids core dumps and the looking into this process by others of the same user. Returns 0 when that
/// holds, else -1.
int sluice_forbid_dumps(void);

/// Limits how many arenas the allocator keeps, which bounds what threads hoard.
void sluice_limit_arenas(int count);

// ThreadSanitizer does not see the futex in Swift's Mutex. These two tell it of the lock's edges; they
// do nothing in an ordinary build.
void sluice_tsan_acquired(void *lock);
void sluice_tsan_releasing(void *lock);
