#pragma once
#include <sqlite3.h>

/// sqlite3_db_config for operations that switch one option on or off; returns the result code.
static inline int sluice_sqlite_switch(sqlite3 *database, int operation, int on) {
    return sqlite3_db_config(database, operation, on, (int *)0);
}
