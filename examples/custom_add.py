"""The smallest custom operation: any shapes that broadcast, any dtypes that mix."""

from __future__ import annotations

import torch

import scriptc


@scriptc.compile
def custom_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b + 1


example_args = (torch.rand(2, 4), torch.rand(2, 4))


def main() -> None:
    torch.manual_seed(0)
    pairs = [
        example_args,
        (torch.rand(5, 1, 4), torch.rand(3, 1)),
        (torch.rand(()), torch.arange(6).reshape(2, 3)),
        (torch.arange(4, dtype=torch.int8), torch.rand(3, 4, dtype=torch.float64)),
        (torch.tensor([True, False]), torch.tensor([[3], [250]], dtype=torch.uint8)),
        (torch.rand(2, 3).to(torch.bfloat16), torch.rand(0, 1, 3)),
    ]
    for a, b in pairs:
        print(f"{a.dtype} {list(a.shape)} + {b.dtype} {list(b.shape)}")
        print(scriptc.compare(custom_add, a, b).check())


if __name__ == "__main__":
    main()
