"""Score the rows of a data set with Ray Data, on two workers. A worker that is killed does not stop the job.

Argument: how many rows. Option: --kill ends one worker in the middle.
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import package
import ray

parser = argparse.ArgumentParser()
parser.add_argument("rows", type=int, nargs="?", default=2000)
parser.add_argument("--address", help="of a cluster; a new one on this machine by default")
parser.add_argument("--kill", action="store_true")
options = parser.parse_args()


class Scorer:
    """One on each worker. It loads the package once."""

    def __init__(self, killed: str | None) -> None:
        self.model = package.load()
        self.killed = Path(killed) if killed else None  # there when a worker was killed

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self.killed and batch["id"][0] > options.rows // 2 and not self.killed.exists():
            self.killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        scores = self.model.score(batch["x"])
        assert "torch" not in sys.modules
        return {"id": batch["id"], "score": scores}


def rows(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Stand for a data set that is read: rows that follow from their numbers."""
    x = np.sin(batch["id"][:, None] * np.arange(1, 9)).astype(np.float32)
    return {"id": batch["id"], "x": x}


model = package.load()  # builds the library with the C compiler at the first time, ahead of the workers
if options.address:
    ray.init(options.address)
else:
    ray.init(num_cpus=3, include_dashboard=False)  # two for the workers, one for the tasks that read

with tempfile.TemporaryDirectory() as folder:
    killed = str(Path(folder, "killed")) if options.kill else None
    numbers = ray.data.range(options.rows).map_batches(rows, batch_size=100)
    two = ray.data.ActorPoolStrategy(size=2)
    scored = numbers.map_batches(Scorer, fn_constructor_args=(killed,), batch_size=100, compute=two).take_all()

scored.sort(key=lambda row: row["id"])
expected = model.score(rows({"id": np.arange(options.rows)})["x"])
close = [row["id"] for row in scored] == [*range(options.rows)]
close = close and np.allclose([row["score"] for row in scored], expected, rtol=1e-5, atol=1e-6)  # batches of other sizes
print(f"{len(scored)} rows, close to those of one process: {close}")
