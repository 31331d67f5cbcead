"""C extensions: prototypes of headers, the functions through which they are called, and their libraries."""
