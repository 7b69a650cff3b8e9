#include "CPrograms.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

int programs_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int programs_begin_in(posix_spawn_file_actions_t *actions, const char *directory) {
    return posix_spawn_file_actions_addchdir_np(actions, directory);
}

int programs_close_others(posix_spawn_file_actions_t *actions) {
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

int programs_enter_new_network(void) {
    return unshare(CLONE_NEWNET);
}
