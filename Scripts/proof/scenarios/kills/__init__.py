"""Kills in place of system calls, and failed syncs."""
