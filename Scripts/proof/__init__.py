"""Proofs: what tries to make Sluice break its promises."""
