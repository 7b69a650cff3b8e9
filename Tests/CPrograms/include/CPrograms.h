#pragma once
// What Linux offers for starting programs that `import Glibc` does not show to Swift.
#include <spawn.h>

/// pipe2 with O_CLOEXEC: programs that are started meanwhile do not hold these ends.
int programs_pipe(int ends[2]);

/// The program begins in this directory.
int programs_begin_in(posix_spawn_file_actions_t *actions, const char *directory);

/// The program has its three streams, and nothing else of ours.
int programs_close_others(posix_spawn_file_actions_t *actions);

/// The calling thread, and programs that it starts, have a network of their own. -1: not permitted.
int programs_enter_new_network(void);
