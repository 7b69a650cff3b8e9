"""Failing, slow and full disks."""
