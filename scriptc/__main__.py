"""`python -m scriptc`."""

from scriptc.cli import main

main()
