"""The error of an extension that cannot be built."""


class ExtensionError(RuntimeError):
    """An extension cannot be built or loaded. The message has the C compiler's words, or names the declaration."""
