"""Functions that slice, join and change lists, whose gradients the tests compare with eager's."""

from __future__ import annotations

import torch
from torch import Tensor

Sequence = list[Tensor]


def grown(x: Tensor, w: Tensor, n: int) -> Sequence:
    """Return a list of unknown length, of tensors of one size."""
    steps = [x[0] * w]
    for _ in range(n):
        steps.append(torch.tanh(steps[-1] * w) + x[1])
    return steps


def ragged(x: Tensor, w: Tensor, n: int) -> Sequence:
    """Return a list of unknown length, of tensors of several sizes."""
    return [torch.tanh(x[: i + 1].sum(1) * w[0]) for i in range(n + 1)]


def weighed(items: Sequence) -> Tensor:
    """Return a number that depends on all items and on their order."""
    total = torch.zeros(())
    for i, item in enumerate(items):
        total = total + (item * item).sum() * (i + 1)
    return total


def slices_lists(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Sequence]:
    steps = grown(x, w, n)
    total = weighed(steps[n:0:-2]) + weighed(steps[-100:100:3]) + weighed(steps[3:1:-1]) + weighed(steps[-2:])
    for start in range(-3, 4):
        total = total + weighed(steps[start : n - 1 : 2]) * start + weighed(steps[start::-1])
    return torch.stack(steps[::-1]), total, steps[1:]


def joins_lists(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Sequence]:
    steps = grown(x, w, n)
    both = steps + grown(x * 2, w, 1) + steps * (n - 1)
    both.append(w * x[2])
    both += [w * 3, x[3]]
    both += both
    total = weighed(list(reversed(both)))
    copies = steps.copy()
    copies[0] = w * 2
    return torch.stack(both), total + weighed(copies), steps


def joins_tuples(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    steps = tuple(grown(x, w, n))
    both = (*steps, w * 2) + steps
    return weighed(list(both[::-1] + both * 2)), both[n]


def inserts_items(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    steps = [w * 2]
    for i in range(n):
        steps.insert(0, torch.tanh(steps[0] * x[i % 4]))
    for i in range(-3, 4):
        steps.insert(i * n, steps[i % len(steps)] * w * i)
    return weighed(steps), steps


def removes_items(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor, Sequence]:
    steps = grown(x, w, n + 6)
    first, last = steps.pop(0), steps.pop()
    middle = steps.pop(n // 2) * steps.pop(-2)
    before = weighed(steps)
    del steps[n], steps[-1]
    steps.append(first * last)
    del steps[n + 1 :], steps[::2]
    steps.append(middle)
    while len(steps) > 2:
        last = torch.tanh(last * steps.pop() + steps[0])
    return before, weighed(steps), last, steps


def replaces_items(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    steps = grown(x, w, n + 1)
    for i in range(n + 2):
        steps[i - 1] = steps[i] * w + steps[-1]
        steps[i] = steps[i]
    steps[0], steps[-1] = steps[-1], steps[0] * 2
    steps.reverse()
    return weighed(steps), steps


def splices_lists(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Sequence]:
    x, w = x.double(), w.double()  # float32 would round sums of many items
    steps, others = grown(x, w, n + 2), grown(x * 2, w, 2)
    steps[1:3] = others
    others[n:] = steps
    steps[:0] = others
    steps[-3:-1] = []
    steps[5:2] = others
    steps[1:2] = steps
    steps[-n - 50 : n - 3] = [w * 5]
    steps[::2] = [step * 2 for step in steps[::2]]
    steps.extend(steps)
    total = weighed(steps)
    others.clear()
    others.append(w * 2)
    return total, weighed(others), steps


def changes_items_of_several_sizes(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor, Sequence]:
    steps = ragged(x, w, n)
    joined, first = torch.cat(steps), steps.pop(0)
    steps.insert(n // 2, first * first)
    steps[-1] = first
    total = weighed(steps)
    steps[0] = w * 2
    back = steps[::-1]
    back[0] = w[:2] * 3
    steps[1:n] = back
    del steps[0]
    steps.append(x[:, 0])
    return joined, torch.cat(back), total + weighed(steps), steps


def changes_lists_in_a_loop(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    steps, total = grown(x, w, 2), torch.zeros(()) + w.sum()
    for i in range(n):
        own = steps[i % 2 :]
        own.append(torch.tanh(own[-1] * w))
        if i % 2:
            own.insert(0, w * i)
            steps[0] = own[1] * 0.5
        else:
            own.pop()
            steps.extend(own[:1])
        total = total + weighed(own)
        if i == 2:
            break
    return total, steps


def keeps_a_window(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Sequence]:
    window, sums = [w], [w]
    for i in range(n):
        window.append(torch.tanh(x[i % 4] * window[-1]))
        if len(window) > 2:
            window.pop(0)
        sums.append(torch.stack(window).sum(0))
    return torch.stack(sums), window


def lists_views(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, ...]:
    y = (x * w)[: n + 1]
    rows, parts = y.unbind(0), y.split(2)
    h, mixed = w, list(rows)
    for row in rows[::-1]:
        h = torch.tanh(h * row)
    for i in range(n):
        h = h + rows[i % len(rows)] * parts[i % len(parts)][0]
    mixed[0] = mixed[0] * w
    mixed += rows
    mixed.extend(x[:n].unbind(0)[1:])
    return h, weighed(mixed), torch.stack(rows), torch.cat(parts), torch.cat(parts[::-1]), rows[-1], y


def writes_before_a_list_holds(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    steps, y = [w], x * w
    joined = torch.cat([y, y * 2])
    y.mul_(2)
    for _ in range(n):
        joined = torch.cat([joined, y])
        y.mul_(0.5)
        step = steps[-1] + x[1]
        step.mul_(w)
        steps.append(step)
    return joined, y, weighed(steps)


def changes_one_of_several_lists(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps, others = grown(x, w, n), grown(x * 2, w, n)
    chosen = steps if n % 2 else others
    chosen.append(w * 3)
    return steps[-1]


def removes_from_one_of_several_lists(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps, others = grown(x, w, n), grown(x * 2, w, n)
    chosen = steps if n % 2 else others
    chosen.pop()
    return others[-1]


def changes_a_list_in_lists(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps, lists = grown(x, w, n), []
    for _ in range(n + 1):
        lists.append(steps)
    lists[n].append(w * 2)
    return steps[-1]


def writes_to_an_item(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps = []
    for _ in range(n + 1):
        step = x[0] * w
        steps.append(step)
        step.mul_(2)
    return torch.stack(steps)


def writes_behind_views_in_a_list(x: Tensor, w: Tensor, n: int) -> Tensor:
    y = (x * w)[: n + 1]
    rows = y.unbind(0)[::-1]
    y.mul_(2)
    return rows[0] * w


def changes_one_of_several_constants(x: Tensor, w: Tensor, n: int) -> Tensor:
    """No gradient flows to the lists but by a name that is one of them."""
    steps, others = [torch.ones(3)], [torch.zeros(3)]
    chosen = steps if n % 2 else others
    chosen[0] = w * 3
    return steps[0] * others[0]


def changes_a_constant_in_a_dict(x: Tensor, w: Tensor, n: int) -> Tensor:
    lists = {i: [torch.ones(3)] for i in range(n + 1)}
    lists[n].append(w * 3)
    return lists[n][-1]


def writes_to_one_of_several_constants(x: Tensor, w: Tensor, n: int) -> Tensor:
    total = torch.zeros(3)
    chosen = total if n % 2 == 0 else torch.ones(3)
    chosen.add_(w * 2)
    return total * 3


def writes_to_a_part_in_a_list(x: Tensor, w: Tensor, n: int) -> Tensor:
    whole = torch.zeros(4, 3)
    rows = [whole[i] for i in range(n)]
    rows[n - 1].copy_(w * 3)
    return whole


def fills_a_list_of_none(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps: list[Tensor | None] = [None] * (n + 1)
    for i in range(n + 1):
        steps[i] = torch.tanh(x[i % 4] * w)
        steps[i] = steps[i] * 2 + w  # type: ignore[operator]
    return torch.stack(steps)  # type: ignore[arg-type]


def remembers_results(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    known: list[Tensor | None] = [None] * (n + 2)
    known[0] = x[0] * w
    total = w
    for i in range(2 * n + 1):
        before, found = known[i % 2], known[i % (n + 2)]
        if found is None:
            found = torch.sigmoid(w * i) if before is None else torch.tanh(before * w)
            known[i % (n + 2)] = found
        total = total + found * i
    last = known[n]
    return total, w if last is None else last


def changes_a_list_with_none(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps = [None if i % 3 == 1 else x[i % 4] * w for i in range(n + 3)]
    steps.insert(1, torch.tanh(w))
    steps.append(None)
    removed = steps.pop(0)
    steps[1:2] = [None, x[1] * w, None]
    steps = steps[::-1] + steps[:2]
    del steps[n]
    total = w if removed is None else removed
    for i, step in enumerate(steps):
        if step is not None:
            total = total + step * step * i
    return total


def replaces_pairs(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Keep the states of two layers in a list of pairs, as a stack of LSTM cells does."""
    states = [(x[layer] * w, x[layer]) for layer in range(2)]
    for t in range(n):
        y = x[t % 4]
        for layer in range(2):
            h, c = states[layer]
            states[layer] = (torch.tanh(h * w + y), c * w + h)
            y = states[layer][0]
    return states[-1][0] + states[0][1], states[1][1]


def returns_pairs(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    states = [(x[0], x[1] * w)]
    for i in range(n):
        states.append((torch.tanh(states[-1][0] * w), states[0][1] * i))
        if n > 3 and i == 2:
            return states[1][1], states
    return states[n][0] * w, states


def reads_pairs(x: Tensor, w: Tensor, n: int) -> tuple[Tensor, Tensor]:
    found = [(x[0] * w, (w, n))]
    for i in range(n):
        found.append((torch.tanh(found[-1][0] * w), (found[-1][0] + x[i % 4], i)))
        found.insert(0, (w * i, found[len(found) // 2][1]))
    found[1:2] = [*found[:2], (x[1] * w, (w * 2, 7))]
    removed = found.pop(0)
    found = found[::-1] + found * 2
    del found[n]
    total = removed[0] * removed[1][1]
    for y, (z, i) in found:
        total = total + y * z * (i + 1)
    return total, found[n][1][0]


def writes_to_an_item_beside_none(x: Tensor, w: Tensor, n: int) -> Tensor:
    steps: list[Tensor | None] = [None] * (n + 1)
    steps[0] = x[0] * w
    item = steps[n - n]
    assert item is not None
    item.mul_(w)
    return steps[0] * 1  # type: ignore[operator]


CHANGES_OF_LISTS = [
    slices_lists, joins_lists, joins_tuples, inserts_items, removes_items, replaces_items, splices_lists,
    changes_items_of_several_sizes, changes_lists_in_a_loop, keeps_a_window, lists_views,
    writes_before_a_list_holds, fills_a_list_of_none, remembers_results, changes_a_list_with_none,
    replaces_pairs, reads_pairs, returns_pairs,
]  # fmt: skip

# programs that are refused, with a part of the line and of the reason
REFUSED = [
    (changes_one_of_several_lists, "chosen.append", "a list that may be one of several"),
    (removes_from_one_of_several_lists, "chosen.pop", "a list that may be one of several"),
    (changes_a_list_in_lists, r"lists\[n\].append", "a list that may be one of several"),
    (changes_one_of_several_constants, "chosen.0. =", "a list that may be one of several"),
    (changes_a_constant_in_a_dict, r"lists\[n\].append", "a list that may be one of several"),
    (writes_to_an_item_beside_none, "item.mul_", "a write to a tensor from outside of the function"),
    (writes_to_one_of_several_constants, "chosen.add_", "a write to a tensor that may be one of several"),
    (writes_to_a_part_in_a_list, "rows.n - 1..copy_", "a write to a tensor"),
    (writes_to_an_item, "step.mul_", "a write to a tensor that a list holds"),
    (writes_behind_views_in_a_list, "y.mul_", "a write to a tensor that a list holds"),
]
