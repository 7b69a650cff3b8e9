"""Devices that send logs and record the answers."""
