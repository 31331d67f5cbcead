"""Run streams of frames on two actors, which keep a state for each stream. An actor that is killed goes on where it was.

Option: --kill ends one actor in the middle.
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

STREAMS, FRAMES, ACTORS = 6, 20, 2

parser = argparse.ArgumentParser()
parser.add_argument("--address", help="of a cluster; a new one on this machine by default")
parser.add_argument("--states", help="a folder that all workers see; a temporary one by default")
parser.add_argument("--kill", action="store_true")
options = parser.parse_args()


@ray.remote(max_restarts=-1, max_task_retries=-1)  # Ray starts a killed actor again, and repeats the calls that it lost
class Streams:
    """Keeps the states of its streams in memory, and in files for the actor that replaces it.

    The file STREAM-N holds the state in front of frame N. So a call that is repeated gives the same scores.
    """

    def __init__(self, folder: Path) -> None:
        self.model, self.folder = package.load(), folder
        self.first = self.model.state.copy()
        self.states, self.reached = {}, {}

    def step(self, stream: int, n: int, frame: np.ndarray) -> np.ndarray:
        """Return the scores of frame n, which follows the frame n - 1 of the stream."""
        if self.reached.pop(stream, None) != n:  # a new stream, or one that another actor has served up to here
            self.states[stream] = self.first.copy()
            if n > 0:
                self.states[stream].load(self.path(stream, n))
        self.model.state = self.states[stream]
        scores = self.model.step(frame)
        self.states[stream].save(self.path(stream, n + 1))  # replaces the file when it is complete
        self.path(stream, n - 1).unlink(missing_ok=True)  # nobody repeats the frame before: its caller has its scores
        self.reached[stream] = n + 1
        assert "torch" not in sys.modules
        return scores

    def process(self) -> int:
        return os.getpid()

    def path(self, stream: int, n: int) -> Path:
        return self.folder / f"{stream}-{n}.safetensors"


def frame(stream: int, n: int) -> np.ndarray:
    return np.sin((stream + 1) * n * np.arange(8, dtype=np.float32))[None]


model = package.load()  # builds the library with the C compiler at the first time, ahead of the actors
if options.address:
    ray.init(options.address)
else:
    ray.init(num_cpus=ACTORS, include_dashboard=False)
temporary = tempfile.TemporaryDirectory()
actors = [Streams.remote(Path(options.states or temporary.name)) for _ in range(ACTORS)]
processes = ray.get([actor.process.remote() for actor in actors])

found = []
for n in range(FRAMES):
    calls = [actors[s % ACTORS].step.remote(s, n, frame(s, n)) for s in range(STREAMS)]
    if options.kill and n == FRAMES // 2:
        os.kill(processes[0], signal.SIGKILL)
    found.append(ray.get(calls))

after = ray.get([actor.process.remote() for actor in actors])
equal = True
for s in range(STREAMS):
    model.state.reset()
    for n in range(FRAMES):
        equal &= np.array_equal(found[n][s], model.step(frame(s, n)))
replaced = sum(before != now for before, now in zip(processes, after, strict=True))
temporary.cleanup()
print(f"{STREAMS} streams of {FRAMES} frames, {replaced} actors replaced, equal to those of one process: {equal}")
