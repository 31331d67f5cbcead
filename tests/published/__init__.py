"""Published models, whole, as their packages define them: `python -m tests.published`."""
