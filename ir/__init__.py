"""The tensor IR: SSA values in nested regions, declared ops, text form, verifier, interpreter and passes.

Imports nothing of scriptc's other folders; everything else is built on it. `ir/README.md` is the specification.
"""
