"""`python -m scriptc.runtime.kernels`: write the C headers and the unity build from the lists in Python."""

from .written import texts

for path, text in texts().items():
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}")
