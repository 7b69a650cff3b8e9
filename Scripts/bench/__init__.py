"""Measures one or two releases of Sluice, side by side."""
