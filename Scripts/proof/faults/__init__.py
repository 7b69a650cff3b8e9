"""Faults of SLS, of files, of the clock, of file systems and of system calls."""
