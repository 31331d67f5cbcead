"""Compiled modules train in the loops of Lightning and of Hugging Face's Trainer, where these packages are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from settings import OPTIMIZE
from torch import Tensor, nn

import scriptc

CHARACTERS, UNITS, COUNT = 12, 8, 32


class Rnn(nn.Module):
    """Predicts the next character. The result is what Hugging Face's Trainer wants of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, UNITS)
        self.input, self.state = nn.Linear(UNITS, UNITS), nn.Linear(UNITS, UNITS)
        self.output = nn.Linear(UNITS, CHARACTERS)

    def forward(self, input_ids: Tensor, labels: Tensor) -> dict[str, Tensor]:
        h, scores = torch.zeros(input_ids.shape[0], UNITS, dtype=self.output.bias.dtype), []
        for t in range(input_ids.shape[1]):
            h = torch.tanh(self.input(self.embedding(input_ids[:, t])) + self.state(h))
            scores.append(self.output(h))
        logits = torch.stack(scores, 1)
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


def examples() -> list[dict[str, Tensor]]:
    text = torch.randint(0, CHARACTERS, (COUNT, 7), generator=torch.Generator().manual_seed(0))
    return [{"input_ids": row[:-1], "labels": row[1:]} for row in text]


def net_of() -> Rnn:
    torch.manual_seed(0)
    return Rnn().double()


def assert_trains_alike(losses: dict[bool, list[float]], nets: dict[bool, nn.Module]) -> None:
    assert len(losses[False]) > 3
    torch.testing.assert_close(losses[True], losses[False], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(nets[True].state_dict(), nets[False].state_dict(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_lightning(tmp_path: Path, whole: bool) -> None:
    """Train a net within a LightningModule. whole: the LightningModule is compiled, not the net in it."""
    lightning = pytest.importorskip("lightning")

    class Training(lightning.LightningModule):
        def __init__(self, net: Any) -> None:
            super().__init__()
            self.net = net
            self.losses: list[float] = []

        def forward(self, batch: dict[str, Tensor]) -> Tensor:
            return self.net(batch["input_ids"], batch["labels"])["loss"]

        def training_step(self, batch: dict[str, Tensor], number: int) -> Tensor:
            loss = self(batch)
            self.losses.append(loss.item())
            self.log("loss", loss)
            return loss

        def validation_step(self, batch: dict[str, Tensor], number: int) -> None:
            self.losses.append(self(batch).item())

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    losses, nets = {}, {}
    for compiled in (False, True):
        net = nets[compiled] = net_of()
        training = Training(scriptc.compile(net, optimize=OPTIMIZE) if compiled and not whole else net)
        if compiled and whole:
            training = scriptc.compile(training, optimize=OPTIMIZE)
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", precision="64-true", logger=False, default_root_dir=tmp_path,
            enable_progress_bar=False, gradient_clip_val=0.5, accumulate_grad_batches=2, detect_anomaly=True,
        )  # fmt: skip
        torch.manual_seed(1)
        loaders = [torch.utils.data.DataLoader(examples(), batch_size=8, shuffle=shuffle) for shuffle in (True, False)]
        trainer.fit(training, *loaders)
        losses[compiled] = training.losses
    assert_trains_alike(losses, nets)


@pytest.mark.filterwarnings("ignore")
def test_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train with evaluations, then go on from a checkpoint."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    losses, nets = {}, {}
    for compiled in (False, True):
        net, folder = net_of(), tmp_path / str(compiled)
        options = transformers.TrainingArguments(
            output_dir=str(folder), max_steps=8, per_device_train_batch_size=8, gradient_accumulation_steps=2,
            learning_rate=0.01, logging_steps=1, save_steps=4, eval_strategy="steps", eval_steps=4, report_to=[], use_cpu=True,
            disable_tqdm=True,
        )  # fmt: skip
        model = scriptc.compile(net, optimize=OPTIMIZE) if compiled else net
        trainer = transformers.Trainer(model, options, train_dataset=examples(), eval_dataset=examples())
        seen: list[float] = []
        for checkpoint in (None, str(folder / "checkpoint-4")):
            trainer.train(resume_from_checkpoint=checkpoint)
            seen += [entry[key] for entry in trainer.state.log_history for key in ("loss", "eval_loss") if key in entry]
        losses[compiled], nets[compiled] = seen, net
    assert_trains_alike(losses, nets)
