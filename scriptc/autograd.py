"""`Function` for code that was written for torch 0.3 and before, in place of torch.autograd's."""

from scriptc.extensions.old_function import Function

__all__ = ["Function"]
