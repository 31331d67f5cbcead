"""The backend of torch.compile: `torch.compile(model, backend="scriptc")`."""
