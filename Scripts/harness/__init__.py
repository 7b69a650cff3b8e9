"""Shared by all trials and checks: starts Sluice, waits for it, and sends it requests."""
