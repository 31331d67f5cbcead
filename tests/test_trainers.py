"""Compiled modules train as eager's do under what people train with: losses and final weights agree."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from settings import OPTIMIZE
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import lr_scheduler, swa_utils
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

import scriptc

Call = Callable[[Tensor], Tensor]


class Net(nn.Module):
    """A recurrent net, with dropout and batch norm where they are asked for."""

    def __init__(self, dropout: float = 0.0, norm: bool = False):
        super().__init__()
        self.input, self.state, self.output = nn.Linear(3, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.drop = nn.Dropout(dropout)
        self.norm = nn.BatchNorm1d(8) if norm else nn.Identity()

    def forward(self, xs: Tensor) -> Tensor:
        h = torch.zeros(xs.shape[1], 8, dtype=xs.dtype)
        for x in xs:
            h = self.drop(self.norm(torch.tanh(self.input(x) + self.state(h))))
        return self.output(h)


def net_of(**options: Any) -> Net:
    torch.manual_seed(0)
    return Net(**options).double()


def batches(count: int = 8) -> list[tuple[Tensor, Tensor]]:
    """Return sequences of several lengths, and what is wanted of them."""
    generator = torch.Generator().manual_seed(5)
    return [
        (torch.randn(3 + i % 3, 5, 3, dtype=torch.float64, generator=generator),
         torch.randn(5, 2, dtype=torch.float64, generator=generator))
        for i in range(count)
    ]  # fmt: skip


BATCHES = batches()


def loss_of(call: Call, batch: tuple[Tensor, Tensor]) -> Tensor:
    return (call(batch[0]) - batch[1]).square().mean()


def train(
    call: Call, optimizer: torch.optim.Optimizer, between: Callable[[], object] = lambda: None, **zeroing: bool
) -> list[float]:
    """Return the losses of one step for each batch. between: is called between backward and step."""
    losses = []
    for batch in BATCHES:
        optimizer.zero_grad(**zeroing)
        loss = loss_of(call, batch)
        loss.backward()
        between()
        optimizer.step()
        losses.append(loss.item())
    return losses


def sgd(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), lr=0.1)


def assert_trains_alike(run: Callable[[Net, Any], Any], **options: Any) -> None:
    """Compare what `run` returns for a net and what is called for it, and the net's state, compiled and in eager."""
    found = []
    for compiled in (False, True):
        net = net_of(**options)
        call = scriptc.compile(net, optimize=OPTIMIZE) if compiled else net
        torch.manual_seed(9)
        found.append((run(net, call), dict(net.state_dict())))
    torch.testing.assert_close(found[1], found[0], rtol=1e-10, atol=1e-12)


KINDS = {"plain": {}, "dropout": {"dropout": 0.3}, "batch norm": {"norm": True}, "both": {"dropout": 0.3, "norm": True}}


@pytest.mark.parametrize("kind", KINDS)
def test_steps(kind):
    assert_trains_alike(lambda net, call: train(call, sgd(net)), **KINDS[kind])


def test_losses_fall():
    net = net_of()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    call = scriptc.compile(net, optimize=OPTIMIZE)
    losses = [sum(train(call, optimizer)) for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]


# ---- optimizers ----

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "momentum": lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda ps: torch.optim.Adam(ps, lr=0.01, amsgrad=True),
    "adamw of lists": lambda ps: torch.optim.AdamW(ps, lr=0.01, foreach=True),
    "fused adam": lambda ps: torch.optim.Adam(ps, lr=0.01, fused=True),
    "rmsprop": lambda ps: torch.optim.RMSprop(ps, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    assert_trains_alike(lambda net, call: train(call, OPTIMIZERS[name](net.parameters())))


def test_closures_of_lbfgs():
    def run(net, call):
        optimizer, losses = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4), []
        for batch in BATCHES[:3]:

            def closure(batch: tuple[Tensor, Tensor] = batch) -> Tensor:
                optimizer.zero_grad()
                loss = loss_of(call, batch)
                loss.backward()
                losses.append(loss.item())
                return loss

            optimizer.step(closure)
        return losses

    assert_trains_alike(run)


@pytest.mark.parametrize("to_none", [True, False])
def test_zeroed_gradients(to_none):
    assert_trains_alike(lambda net, call: train(call, sgd(net), set_to_none=to_none))


SCHEDULERS: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
    "one cycle": lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=16),
    "cosine": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 8),
    "warm-up": lambda optimizer: lr_scheduler.LinearLR(optimizer, 0.1, total_iters=4),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedules(name):
    def run(net, call):
        optimizer = sgd(net)
        return train(call, optimizer, SCHEDULERS[name](optimizer).step)

    with pytest.warns(UserWarning, match="lr_scheduler.step"):  # the schedule steps between backward and step
        assert_trains_alike(run)


def test_an_optimizer_for_each_weight_steps_within_backward():
    def run(net, call):
        for weight in net.parameters():
            own = torch.optim.SGD([weight], lr=0.1)
            weight.register_post_accumulate_grad_hook(lambda _, own=own: (own.step(), own.zero_grad()) and None)
        losses = []
        for batch in BATCHES:
            loss = loss_of(call, batch)
            loss.backward()
            losses.append(loss.item())
        return losses

    assert_trains_alike(run)


# ---- gradients ----


def test_clipped_gradients():
    def run(net, call):
        norms = []

        def clip():
            norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.5).item())
            nn.utils.clip_grad_value_(net.parameters(), 0.05)

        return train(call, sgd(net), clip), norms

    assert_trains_alike(run)


def test_gradients_of_several_batches():
    def run(net, call):
        optimizer, losses = sgd(net), []
        for i, batch in enumerate(BATCHES):
            loss = loss_of(call, batch) / 4
            loss.backward()
            losses.append(loss.item())
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
        return losses

    assert_trains_alike(run)


def test_two_losses_of_one_call():
    def run(net, call):
        optimizer, losses = sgd(net), []
        for xs, wanted in BATCHES:
            optimizer.zero_grad()
            result = call(xs)
            result.square().mean().backward(retain_graph=True)
            loss = (result - wanted).abs().sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert_trains_alike(run)


def test_hooks_of_tensors():
    def run(net, call):
        seen: dict[str, list[float]] = {name: [] for name in ("weight", "stored", "result", "several")}
        net.state.weight.register_hook(lambda g: seen["weight"].append(g.sum().item()))
        net.input.weight.register_hook(lambda g: g * 2)
        net.input.weight.register_post_accumulate_grad_hook(lambda p: seen["stored"].append(p.grad.sum().item()))
        torch.autograd.graph.register_multi_grad_hook(
            list(net.parameters()), lambda gs: seen["several"].append(sum(g.sum().item() for g in gs))
        )

        def hooked(xs: Tensor) -> Tensor:
            result = call(xs)
            result.register_hook(lambda g: seen["result"].append(g.sum().item()) or g * 3)
            return result

        losses = train(hooked, sgd(net))
        result = call(BATCHES[0][0])
        result.retain_grad()
        result.square().sum().backward()
        return losses, seen, result.grad

    assert_trains_alike(run)


def test_hooks_of_modules():
    def run(net, call):
        net.state.register_forward_hook(lambda module, args, result: result * 1.5)
        net.state.register_forward_pre_hook(lambda module, args: (args[0] * 0.5,))
        net.register_forward_hook(lambda module, args, result: result + 1)
        net.register_full_backward_pre_hook(lambda module, out: (out[0] * 2,))
        return train(call, sgd(net))

    assert_trains_alike(run)


def test_gradcheck():
    call = scriptc.compile(net_of(), optimize=OPTIMIZE)
    assert torch.autograd.gradcheck(call, (torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True),))


def test_a_jacobian_is_eagers():
    assert_trains_alike(lambda net, call: torch.autograd.functional.jacobian(call, BATCHES[0][0]))


def test_anomaly_mode():
    def run(net, call):
        with torch.autograd.set_detect_anomaly(True):
            return train(call, sgd(net))

    assert_trains_alike(run)


def test_anomaly_mode_names_the_call_whose_gradient_is_nan():
    net = net_of()
    call = scriptc.compile(net, optimize=OPTIMIZE)
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="(?s)test_trainers.py.*call\\("):
        result = call(BATCHES[0][0] * float("nan"))
        with pytest.raises(RuntimeError, match="returned nan values"):
            result.sum().backward()


@pytest.mark.parametrize("enter", [
    lambda: torch.autograd.graph.save_on_cpu(),
    lambda: torch.autograd.graph.saved_tensors_hooks(Tensor.clone, lambda t: t),
])  # fmt: skip
def test_hooks_of_saved_tensors(enter):
    def run(net, call):
        with enter():
            return train(call, sgd(net))

    assert_trains_alike(run)


def test_saved_tensors_on_disk_lead_to_eagers_gradients(tmp_path):
    def pack(t: Tensor) -> Path:
        handle, name = tempfile.mkstemp(dir=tmp_path)
        os.close(handle)
        torch.save(t, name)
        return Path(name)

    def run(net, call):
        with torch.autograd.graph.saved_tensors_hooks(pack, torch.load):
            loss_of(call, BATCHES[0]).backward()
        return [p.grad for p in net.parameters()]

    assert_trains_alike(run)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints(kind, reentrant):
    def run(net, call):
        return train(lambda xs: checkpoint(call, xs.clone().requires_grad_(), use_reentrant=reentrant), sgd(net))

    assert_trains_alike(run, **KINDS[kind])


# ---- mixed precision ----


def test_scaled_gradients():
    def run(net, call):
        scaler, optimizer, losses = torch.amp.GradScaler("cpu"), sgd(net), []
        for batch in BATCHES:
            optimizer.zero_grad()
            loss = loss_of(call, batch)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        return losses

    assert_trains_alike(run)


def test_a_call_runs_where_autocast_is_off():
    def run(net, call):
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cpu", enabled=False):
            return train(call, sgd(net))

    assert_trains_alike(run)


# ---- weights ----


def test_copies_train_on_their_own():
    def run(net, call):
        first = train(call, sgd(net))
        copied = copy.deepcopy(call)
        return first, train(copied, sgd(copied)), train(call, sgd(net)), list(copied.parameters())

    assert_trains_alike(run)


def test_training_goes_on_from_a_file():
    def run(net, call):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        losses, file = [train(call, optimizer)], io.BytesIO()
        torch.save({"net": call.state_dict(), "optimizer": optimizer.state_dict()}, file)
        losses.append(train(call, optimizer))
        file.seek(0)
        saved = torch.load(file)
        call.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        losses.append(train(call, optimizer))
        assert losses[1] == losses[2]
        call.load_state_dict(saved["net"], assign=True)  # other parameters
        return losses, train(call, sgd(net))

    assert_trains_alike(run, norm=True)


def test_weights_that_are_frozen_for_a_time():
    def run(net, call):
        losses = [train(call, sgd(net))]
        for requires_grad in (False, True):
            net.state.requires_grad_(requires_grad)
            losses.append(train(call, sgd(net)))
        net.requires_grad_(False)
        assert not call(BATCHES[0][0]).requires_grad
        net.requires_grad_(True)
        return [*losses, train(call, sgd(net))]

    assert_trains_alike(run)


def test_tied_weights():
    def run(net, call):
        net.norm = nn.Linear(8, 8, dtype=torch.float64)
        net.norm.weight = net.state.weight
        losses = train(call, sgd(net))
        assert net.norm.weight is net.state.weight
        return losses

    assert_trains_alike(run)


def test_evaluation_between_epochs():
    def run(net, call):
        losses, results = [], []
        for mode in (torch.no_grad, torch.inference_mode):
            losses.append(train(call, sgd(net)))
            call.eval()
            with mode():
                results.append(call(BATCHES[0][0]).tolist())
            call.train()
        return losses, results

    assert_trains_alike(run, **KINDS["both"])


def test_weights_that_functional_call_lends():
    def run(net, call):
        lent = {name: p.detach().clone().requires_grad_() for name, p in net.named_parameters()}
        losses = []
        for xs, wanted in BATCHES:
            loss = (torch.func.functional_call(call, lent, (xs,)) - wanted).square().mean()
            gradients = torch.autograd.grad(loss, list(lent.values()))
            lent = {
                name: (p - 0.1 * g).detach().requires_grad_()
                for (name, p), g in zip(lent.items(), gradients, strict=True)
            }
            losses.append(loss.item())
        return losses, lent

    assert_trains_alike(run)


def test_gradients_flow_through_a_step_of_training():
    def run(net, call):
        lent = dict(net.named_parameters())
        inner = (torch.func.functional_call(call, lent, (BATCHES[0][0],)) - BATCHES[0][1]).square().mean()
        gradients = torch.autograd.grad(inner, list(lent.values()))
        lent = {name: p - 0.1 * g for (name, p), g in zip(lent.items(), gradients, strict=True)}
        loss = (torch.func.functional_call(call, lent, (BATCHES[1][0],)) - BATCHES[1][1]).square().mean()
        loss.backward()
        return loss, [p.grad for p in net.parameters()]

    assert_trains_alike(run)


def test_averages_of_weights():
    def run(net, call):
        optimizer = sgd(net)
        averages = [
            swa_utils.AveragedModel(call),
            swa_utils.AveragedModel(call, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9)),
        ]
        losses = []
        for _ in range(2):
            losses += train(call, optimizer)
            for average in averages:
                average.update_parameters(call)
        swa_utils.update_bn([xs for xs, _ in BATCHES], averages[0])
        return losses, [(average(BATCHES[0][0]), average.state_dict()) for average in averages]

    assert_trains_alike(run, norm=True)


class Symmetric(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight.triu() + weight.triu(1).T


PARAMETRIZATIONS: dict[str, Callable[[nn.Linear], object]] = {
    "weight_norm": nn.utils.parametrizations.weight_norm,
    "orthogonal": nn.utils.parametrizations.orthogonal,
    "own": lambda layer: nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric()),
}


@pytest.mark.parametrize("name", PARAMETRIZATIONS)
def test_parametrizations(name):
    def run(net, call):
        PARAMETRIZATIONS[name](net.state)
        return train(call, sgd(net))

    assert_trains_alike(run)


def test_cached_parametrizations_are_refused():
    net = net_of()
    nn.utils.parametrizations.weight_norm(net.state)
    call = scriptc.compile(net, optimize=OPTIMIZE)
    with nn.utils.parametrize.cached(), pytest.raises(scriptc.CompileError, match="(?s)parametrize.py.*builtin"):
        call(BATCHES[0][0])
    torch.testing.assert_close(call(BATCHES[0][0]), net(BATCHES[0][0]))


# ---- data ----


class Sequences(Dataset):
    """Sequences that workers compute with a compiled function."""

    def __init__(self) -> None:
        self.double = scriptc.compile(doubled, optimize=OPTIMIZE)

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        xs = torch.full((4, 3), float(i), dtype=torch.float64)
        return self.double(xs, i % 3), torch.full((2,), 0.1 * i, dtype=torch.float64)


def doubled(xs: Tensor, times: int) -> Tensor:
    for _ in range(times):
        xs = torch.sin(xs) * 2
    return xs


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders(workers):
    def run(net, call):
        loss_of(call, BATCHES[0]).backward()  # workers are forked from a process that has trained
        optimizer, losses = sgd(net), []
        for _ in range(2):
            for xs, wanted in DataLoader(Sequences(), batch_size=4, num_workers=workers, shuffle=True):
                optimizer.zero_grad()
                loss = loss_of(call, (xs.transpose(0, 1), wanted))
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return losses

    assert_trains_alike(run)


# ---- several processes ----

RANKS = 2


def train_a_rank(rank: int, folder: Path) -> None:
    """Train a net in eager and compiled on this rank's batches, and save both outcomes."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", world_size=RANKS, rank=rank)
    outcomes = []
    for compiled in (False, True):
        net = net_of(norm=True)
        call = DistributedDataParallel(scriptc.compile(net, optimize=OPTIMIZE) if compiled else net)
        optimizer, losses = sgd(net), []
        for i, batch in enumerate(BATCHES[rank::RANKS]):
            synchronized = i % 2 == 1
            with contextlib.nullcontext() if synchronized else call.no_sync():
                loss = loss_of(call, batch)
                loss.backward()
            if synchronized:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
        outcomes.append({"losses": losses, "state": dict(net.state_dict())})
    torch.save(outcomes, folder / f"{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.skipif(not (dist.is_available() and dist.is_gloo_available()), reason="this torch has no gloo")
def test_several_processes(tmp_path):
    torch.multiprocessing.spawn(train_a_rank, (tmp_path,), nprocs=RANKS)
    outcomes = [torch.load(tmp_path / f"{rank}.pt") for rank in range(RANKS)]
    for eager, compiled in outcomes:
        torch.testing.assert_close(compiled, eager, rtol=1e-10, atol=1e-12)
    first, second = (compiled for _, compiled in outcomes)
    assert first["losses"] != second["losses"]  # their batches differ
    torch.testing.assert_close(first["state"]["state.weight"], second["state"]["state.weight"], rtol=0, atol=0)
