"""Describe a model for a package: its interface, its weights, and recorded calls for its tests."""
