"""The public functions: `scriptc.compile` is in `compiled.py`, each other one in the file of its name."""
