"""Python source to tensor IR, by partial evaluation over the AST. Imports `scriptc.ir` and nothing else of ours."""
