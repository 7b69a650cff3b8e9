"""Jumps of the wall clock."""
