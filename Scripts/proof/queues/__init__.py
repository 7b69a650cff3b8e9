"""Queues with known content, and the format of their files."""
