#pragma once
// Debian's library has both; without these names its header hides what records changes.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

/// sqlite3_db_config for operations that switch one option on or off; returns the result code.
static inline int sluice_sqlite_switch(sqlite3 *database, int operation, int on) {
    return sqlite3_db_config(database, operation, on, (int *)0);
}
