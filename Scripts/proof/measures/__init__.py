"""Measurements of processes and of the machine."""
