"""The operations of Python and torch on each kind of value."""
