"""Recorded system calls, and a model of the disk on which they are replayed."""
