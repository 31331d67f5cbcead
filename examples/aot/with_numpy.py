"""Stream two sequences through the GRU, frame by frame and in turns, on numpy arrays. Needs numpy alone."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "gru" / "python"))  # not needed after `pip install ./gru`
import gru  # noqa: E402

INPUTS, FRAMES = 8, 6

model = gru.load()  # builds the library at the first time
states = [model.state.copy(), model.state.copy()]
scores = [None, None]
for t in range(FRAMES):
    for s, state in enumerate(states):
        model.state = state
        scores[s] = model(np.full((1, INPUTS), (s + 1) * 0.1 * t, np.float32))
for s in range(2):
    print(f"sequence {s}:", *(f"{score:.5f}" for score in scores[s][0]))
try:
    model(np.zeros((1, 3), np.float32))
except RuntimeError as error:
    print(f"RuntimeError: {error}")
