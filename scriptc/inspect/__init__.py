"""Measure compiled code and compare its results: profiles, peak memory, differences from eager."""
