"""C functions over tensors: building, calling, and the interface of torch.utils.ffi."""
