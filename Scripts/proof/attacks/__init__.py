"""Hostile requests and clients, and what they cost."""
