"""What TorchScript made, which keeps no Python."""

from __future__ import annotations

import torch

from language.rejected import write
from language.rejected.modules import Plain, listed


class CallsWhatWasTraced(Plain):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.trace(torch.nn.Linear(3, 3), torch.ones(2, 3))

    def forward(self, x):
        return self.inner(x) + 1  # refused


class CallsWhatIsToBeTraced(Plain):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.inner(x) + 1


listed("torchscript", CallsWhatIsToBeTraced(), (torch.ones(2, 3),))(CallsWhatWasTraced)


def doubled_if_positive(x):
    return x * 2 if x.sum() > 0 else x


TRACED = torch.jit.trace(doubled_if_positive, torch.ones(3), check_trace=False)


@write("torchscript", lambda x: doubled_if_positive(x), (torch.ones(3),), (-torch.ones(3),))
def calls_a_traced_function(x):
    """Does as the branch that was taken while it was traced."""
    return TRACED(x)  # refused
