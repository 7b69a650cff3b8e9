"""Proofs: attempts to make Sluice break its promises."""
