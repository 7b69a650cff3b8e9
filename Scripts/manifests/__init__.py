"""Checks of the files in Docker/."""
