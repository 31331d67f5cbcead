"""From Python source to tensor IR, by partial evaluation over the AST."""
