"""python -m scriptc.runtime.kernels: writes include/sc_kernels.h and src/sc_all.c from the table."""

from .written import texts

for path, text in texts().items():
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}")
