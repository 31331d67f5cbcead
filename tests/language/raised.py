"""Exceptions whose classes have an __init__ of their own, and what handlers find in them."""

from __future__ import annotations

import torch

from language.cases import cases

X = torch.arange(3.0)


class DecodeError(ValueError):
    def __init__(self, code, at=-1):
        super().__init__(f"code {code}")
        self.code = code
        self.at = at

    def where(self):
        return f"{self.code}@{self.at}"


class Exhausted(DecodeError):
    def __init__(self, tensor, steps):
        DecodeError.__init__(self, "end")
        self.tensor = tensor
        self.steps = steps


class Plain(RuntimeError):
    pass


def decode(x, n):
    total = x
    for i in range(n):
        if i == 3:
            raise Exhausted(total, i)
        if i == 2 and n == 3:
            raise DecodeError("odd", i)
        total = total + i
    if n == 0:
        raise Plain("nothing")
    return total


@cases((X, 1), (X, 3), (X, 6))
def attributes(x, n):
    try:
        return decode(x, n), "", 0
    except Exhausted as e:
        return e.tensor * 2, str(e), e.steps
    except DecodeError as e:
        return x, e.code, e.at


@cases((X, 1), (X, 3), (X, 6), (X, 0))
def by_a_base_class(x, n):
    try:
        decode(x, n)
    except DecodeError as e:
        return e.where(), e.args, len(e.args)
    except RuntimeError as e:
        return str(e), (), -1
    return "none", (), 0


@cases((X, 3), (X, 6), (X, 0))
def asked_for_its_class(x, n):
    try:
        decode(x, n)
    except Exception as e:
        if isinstance(e, DecodeError):
            return e.at, type(e).__name__
        return -5, str(e)
    return 0, ""


@cases((X, 3), (X, 0))
def attribute_that_only_some_have(x, n):
    try:
        decode(x, n)
    except Exception as e:
        return e.at
    return 0


@cases((X, 3), (X, 6), (X, 0), (X, 2))
def leaves(x, n):
    return decode(x, n)


@cases((X, 3), (X, 6))
def raised_again(x, n):
    try:
        try:
            decode(x, n)
        except DecodeError as first:
            try:
                raise DecodeError("inner", 99)
            except DecodeError as second:
                inner = second.at
            if inner + first.at > 0:
                raise first
            raise
    except DecodeError as e:
        return e.code, e.at, inner
    return "", 0, 0


@cases((X, 3), (X, 6), (X, 2))
def from_another(x, n):
    try:
        return decode(x, n)
    except DecodeError as e:
        raise Plain(f"failed: {e.where()}") from e


@cases([1, 2, 3], [1, -1, 4, -2], [])
def in_a_loop(xs):
    seen = []
    for i, x in enumerate(xs):
        try:
            if x < 0:
                raise DecodeError(str(x), i)
            seen.append(x)
        except DecodeError as e:
            seen.append(e.at * 100)
        finally:
            seen.append(0)
    return seen


@cases((X, 3), (X, 6))
def through_finally(x, n):
    log = []
    try:
        try:
            decode(x, n)
        finally:
            try:
                raise DecodeError("cleanup", 7)
            except DecodeError as e:
                log.append(e.at)
    except DecodeError as e:
        log.append(e.at)
    return log


class Ended(StopIteration):
    pass


@cases((0, [1, 2]), (0, [1, 3]), (1, [3]), (2, [4]), (1, [4]))
def ends_behind_a_try_inside_a_generator(how, xs):
    def look(k):
        try:
            if k == 3 and how == 0:
                raise StopIteration
            if k == 3:
                raise Ended
            if k == 4:
                raise ValueError("four")
            return k
        except ValueError:
            if how == 2:
                raise
            return 0
        finally:
            seen.append(k)

    seen = []
    try:
        return sum(look(i) for i in xs), seen
    except (RuntimeError, ValueError) as e:
        return str(e), seen
    except StopIteration:
        return "ended", seen
