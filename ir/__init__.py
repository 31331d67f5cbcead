"""The tensor IR: types, ops, builder, printer, parser, verifier and interpreter."""
