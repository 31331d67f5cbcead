"""What Python's and torch's operations do to each kind of value."""
