"""What each op means: one row per op, one file per family."""
