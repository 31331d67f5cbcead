"""Hooks, and calls of modules that torch.export made, that are refused."""

from __future__ import annotations

import torch

from language.rejected import write
from language.rejected.modules import Named, Plain, X


class Follows(Plain):
    """A container with a hook: it is walked, not called."""

    def __init__(self):
        super().__init__()
        self.child.register_full_backward_hook(lambda module, given, made: None)

    def forward(self, x):
        return self.child(x)  # refused


write("hooks_on_container", Named(), (X,))(Follows())


class Hooked(Plain):
    def __init__(self, hook, **options):
        super().__init__()
        self.child.register_forward_pre_hook(hook, **options)

    def forward(self, x):
        return self.child(x)  # refused


write("hook_returns_other", Hooked(lambda module, args, kwargs: (args, kwargs), with_kwargs=True), (X,))(
    Hooked(lambda module, args, kwargs: args, with_kwargs=True)
)


class Followed(Plain):
    def __init__(self, **options):
        super().__init__()
        self.child.register_forward_hook(lambda module, args, result: result * 2, **options)

    def forward(self, x):
        return self.child(x)  # refused


write("hook_always_called", Followed(), (X,))(Followed(always_call=True))


class Exported(Plain):
    """Calls a module that torch.export made."""

    def __init__(self, example, **options):
        super().__init__()
        self.child = torch.export.export(First(), (example,)).module(**options)

    def forward(self, x):
        return self.child([x])  # refused


class First(torch.nn.Module):
    def forward(self, held):
        return held[0] + 1


class PassesOne(Exported):
    def forward(self, x):
        return self.child((x,) if len(x) > 2 else x)  # refused


class PassesTuple(Exported):
    def forward(self, x):
        return self.child((x,))


write("exported_without_guards", Exported([X]), (X,))(Exported([X], check_guards=False))
write("exported_arguments", PassesTuple((X,)), (X,))(PassesOne((X,)))
