"""Exceptions: `try`, `raise` and `with`."""

from __future__ import annotations

import contextlib

import torch

from language.cases import cases

X = torch.arange(6.0).reshape(2, 3)


class Odd(ValueError):
    """Raised where a number is odd."""


class VeryOdd(Odd):
    pass


@cases((6, 2), (5, 0), (-3, 0))
def division(a, b):
    try:
        q = a // b
    except ZeroDivisionError:
        q = -1
    return q * 2


@cases(0, 1, 2, 3, 4)
def chosen_by_class(n):
    try:
        if n == 1:
            raise IndexError("one")
        if n == 2:
            raise KeyError("two")
        if n == 3:
            raise ValueError("three")
        if n == 4:
            raise RuntimeError("four")
        r = 0
    except LookupError:
        r = 10
    except (ValueError, TypeError):
        r = 20
    return r


@cases(([1, 2, 3], 1), ([1, 2, 3], 7), ([], 0))
def with_else(xs, i):
    log = []
    try:
        log.append(1)
        x = xs[i]
        log.append(2)
    except IndexError:
        x = -1
        log.append(3)
    else:
        log.append(4)
        x = x * 10
    return x, log


@cases(0, 1, 2, 3)
def else_is_not_guarded(n):
    try:
        if n == 1:
            raise ValueError("body")
    except ValueError:
        return 1
    else:
        if n == 2:
            raise ValueError("else")
    return 0


@cases(([1, 2], 0), ([1, 2], 5))
def finally_always(xs, i):
    seen = 0
    try:
        x = xs[i]
    finally:
        seen = seen + 1
    return x, seen


@cases(0, 1, 2)
def return_through_finally(n):
    log = []
    try:
        if n == 0:
            return log
        if n == 1:
            raise ValueError("no")
        log.append(5)
    except ValueError:
        log.append(6)
        return log
    finally:
        log.append(7)
    log.append(8)
    return log


@cases(0, 3, 6, 9)
def loops_through_finally(n):
    total, cleanups = 0, 0
    for i in range(n):
        try:
            if i == 2:
                continue
            if i == 5:
                break
            total += i
        finally:
            cleanups += 1
    return total, cleanups


@cases(0, 1)
def finally_returns(n):
    try:
        if n:
            raise ValueError("lost")
        return 1
    finally:
        return 2  # noqa: B012


@cases(0, 1, 2, 3)
def nested(n):
    r = 0
    try:
        try:
            r += 1
            if n == 1:
                raise ValueError("inner")
            if n == 2:
                raise KeyError("outer")
            r += 1
        except ValueError:
            r += 10
            raise RuntimeError("from the handler") from None
        finally:
            r += 100
        if n == 3:
            raise IndexError("behind")
    except RuntimeError:
        r += 1000
    except KeyError:
        r += 2000
    return r


@cases(0, 1, 2)
def raised_again(n):
    count = 0
    try:
        try:
            if n == 1:
                raise ValueError("first")
            if n == 2:
                raise TypeError("second")
        except ValueError:
            count += 1
            raise
        except TypeError as e:
            count += 2
            raise e
    except (ValueError, TypeError) as outer:
        return count, isinstance(outer, ValueError)
    return count, None


@cases(0, 1, 2)
def leaves_with_what_was_raised(n):
    try:
        if n:
            raise KeyError("k") if n == 1 else OverflowError("o")
    except ValueError:
        return 0
    return 1


@cases((X, 0), (X, 1), (X, 2), (X, 5))
def tensors_written_before(x, i):
    y = x
    try:
        y = x * 2
        y = y + x[i]
        y = y - 1
        z = x[i - 1]
        y = y + z
    except IndexError:
        y = y - 100
    return y


@cases(0, 1, 5, 12)
def in_a_loop(n):
    caught, total = 0, 0
    xs = [3, 1, 2]
    for i in range(n):
        try:
            total += xs[i % 5]
        except IndexError:
            caught += 1
    return caught, total


@cases([3, 0, 2], [], [0, 0], [1])
def counts_before_the_exception(xs):
    i, total = 0, 0
    try:
        while True:
            total += 6 // xs[i]
            i += 1
    except IndexError:
        return i, total
    except ZeroDivisionError:
        return -i, total


@cases(-1, 0, 1, 2, 3)
def own_classes(n):
    try:
        if n == 1:
            raise Odd(f"{n} is odd")
        if n == 2:
            raise VeryOdd(n)
        if n == 3:
            raise ValueError
        if n < 0:
            raise VeryOdd("negative", n)
    except VeryOdd:
        if n < 0:
            raise
        return 2
    except Odd as e:
        return 1 if isinstance(e, ValueError) and not isinstance(e, VeryOdd) else 0
    return 0


def checked(n):
    if n % 2:
        raise Odd(f"odd: {n}")
    return n // 2


@cases(0, 8, 7, 12)
def raised_in_a_function(n):
    steps = 0
    try:
        while n:
            n = checked(n)
            steps += 1
    except Odd:
        return n, steps, True
    return n, steps, False


@cases(0, 1)
def message_passed_on(n):
    try:
        if n:
            raise ValueError(f"n is {n}")
    except ValueError as e:
        raise RuntimeError(f"failed: {e}") from e
    return n


@cases(0, 1)
def printed(n):
    try:
        checked(n)
    except Odd as e:
        print("caught:", e, str(e))
        print(f"{e}!")
    return n


@cases(0, 1, 2)
def kept_for_later(n):
    last = None
    for i in range(n):
        try:
            checked(2 * i + 1)
        except Odd as e:
            last = e
    if last is not None:
        raise last
    return n


@cases(0, 1, 2)
def made_first(n):
    error = ValueError(f"made {n}") if n == 1 else KeyError(n)
    if n:
        raise error
    return n


class Counter:
    def __init__(self):
        self.count = 0
        self.last = None

    def add(self, x):
        self.count += 1
        if x < 0:
            raise ValueError("negative")
        self.last = x


@cases([1.0, -2.0, 3.0], [], [-1.0], [1.0, 2.0])
def object_changed_before(xs):
    counter = Counter()
    failed = 0
    for x in xs:
        try:
            counter.add(x)
        except ValueError:
            failed += 1
    return counter.count, failed, counter.last


@cases(0, 1, 2)
def object_made_in_the_body(n):
    counter = Counter()
    d = {"a": n, "b": 0}
    try:
        counter = Counter()
        counter.add(1.0)
        d["a"] = 5
        d["b"] = 6 // n
        counter.add(float(n) - 1.5)
        d["a"] = 7
    except ValueError:
        return counter.count, d["a"]
    except ZeroDivisionError:
        return counter.count + 100, d["a"]
    return counter.count + 10, d["a"]


@cases(0, 1)
def variable_of_a_closure(n):
    count = 0

    def step(k):
        nonlocal count
        count += 1
        return 6 // k

    try:
        step(3)
        step(n)
        step(1)
    except ZeroDivisionError:
        return -count
    return count


@cases(0, 1, 2)
def bound_on_some_ways(n):
    try:
        if n == 1:
            raise ValueError
        y = n
        if n == 2:
            raise KeyError
        z = 1
    except ValueError:
        z = 2
    except KeyError:
        return y
    return y + z


@cases((X, 2), (X, 3), (X[0], 0))
def shapes_that_do_not_fit(x, n):
    try:
        y = x + torch.ones(n)
    except RuntimeError:
        return x
    return y


@cases(0, 1, 2, 3)
def catches_everything(n):
    try:
        if n == 1:
            raise ValueError("v")
        if n == 2:
            return [1, 2][n]
        if n == 3:
            assert n < 3, "small"
    except:  # noqa: E722
        return -n
    return n


@cases(0, 1)
def asserted(n):
    try:
        assert n == 0, f"n = {n}"
    except AssertionError:
        return "caught"
    return "passed"


@cases(0, 1)
def nothing_to_raise_again(n):
    if n:
        raise
    return n


@cases(0, 1, 2)
def raise_behind_a_handler(n):
    for i in range(3):
        try:
            if i == n:
                raise ValueError(i)
        except Exception:
            continue
        finally:
            if i == 2:
                break  # noqa: B012
    else:
        return -1
    return i


@cases(0, 1, 2, 3)
def class_of_what_was_caught(n):
    try:
        if n == 1:
            raise Odd("odd")
        if n == 2:
            raise ValueError("value")
        if n == 3:
            raise KeyError("key")
    except Exception as e:
        print(type(e).__name__)
        if type(e) is Odd:
            return 1
        return 2 if issubclass(type(e), ValueError) else 3
    return 0


# ---- with ----
class Track:
    def __init__(self, log, swallows):
        self.log = log
        self.swallows = swallows

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(2 if error is None else 3)
        if kind is not None and issubclass(kind, LookupError):
            self.log.append(4)
        return self.swallows


@cases(0, 1, 2, 3)
def manager(n):
    log = [0]
    with Track(log, True) as t:
        t.log.append(10)
        if n == 1:
            raise ValueError("one")
        if n == 2:
            raise KeyError("two")
        log.append(20)
    return log


@cases(2, 0, "2")
def manager_around_an_error_that_is_known(n):
    log = [0]
    with Track(log, True):
        log.append(int(6 / n))
    return log


@cases(0, 1)
def manager_that_lets_pass(n):
    log = [0]
    try:
        with Track(log, False), Track(log, n > 1):
            if n:
                raise ValueError("one")
    except ValueError:
        log.append(7)
    return log


@cases(0, 3, 5)
def left_from_inside(n):
    log = [0]
    for i in range(n):
        with Track(log, False):
            if i == 1:
                continue
            if i == 3:
                break
    with Track(log, False):
        return log, n


@cases(([1, 2, 3], 0), ([1, 2, 3], 9), ([], 0))
def suppressed(xs, i):
    found = -1
    with contextlib.suppress(IndexError, KeyError):
        found = 0
        found = xs[i]
    return found


@cases(0, 1)
def not_suppressed(n):
    with contextlib.suppress(KeyError):
        if n:
            raise ValueError
    return n


@torch.autocast("cuda", enabled=False)
def _uncast(x):
    return x @ x


@cases(X)
def managers_that_do_nothing(x):
    with contextlib.nullcontext(x * 2) as y, torch.profiler.record_function("part"):
        y = y + 1
    with torch.autocast("cpu", enabled=False), torch.set_grad_enabled(False):
        y = y @ y.t()
    with torch.autocast("cuda"), torch.cuda.amp.autocast(False), torch.cpu.amp.autocast(enabled=False):
        y = _uncast(y @ y)
    with torch.no_grad():
        return y


@contextlib.contextmanager
def noted(log, x):
    log.append(1)
    try:
        yield x + 1
    except KeyError:
        log.append(3)
    finally:
        log.append(2)
    log.append(4)


@cases(0, 1, 2, 3)
def generator_as_manager(n):
    log = [n]
    total = 0
    with noted(log, n) as y:
        total += y
        if n == 1:
            raise KeyError("swallowed")
        total += 10
        if n == 2:
            raise ValueError("passed on")
        total += 10
    return log, y, total


@cases([2, 3], [0], [0, 0, 0, 5])
def shared_variable_and_recursion(xs):
    def safe(i):
        nonlocal count
        count += 1
        try:
            return 6 // xs[i]
        except (IndexError, ZeroDivisionError):
            count += 10
            return safe(i - 1) if i > 0 else -1
        finally:
            count += 100

    count = 0
    return safe(3), count
