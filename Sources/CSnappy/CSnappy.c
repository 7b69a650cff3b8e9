// The door is its header; this file gives the compiler something to build.
#include "CSnappy.h"
