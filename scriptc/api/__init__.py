"""The public functions, each in the file of its name, and the static types of `scriptc.compile`."""
