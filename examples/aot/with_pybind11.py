"""Stream two sequences through the GRU in two threads, by the package's extension module. Needs numpy; takes torch tensors too.

Argument: the folder of the extension module.
"""

import sys
from threading import Thread

import numpy as np

sys.path.insert(0, sys.argv[1])  # not needed after `pip install ./gru`
import gru_pybind11  # noqa: E402

INPUTS, FRAMES = 8, 6

model = gru_pybind11.load()
scores = [None, None]


def stream(s):
    mine = model.copy()  # the same weights, and a state of its own
    for t in range(FRAMES):
        scores[s] = mine(np.full((1, INPUTS), (s + 1) * 0.1 * t, np.float32))


threads = [Thread(target=stream, args=(s,)) for s in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for s in range(2):
    print(f"sequence {s}:", *(f"{score:.5f}" for score in scores[s][0]))
try:
    model(np.zeros((1, 3), np.float32))
except RuntimeError as error:
    print(f"RuntimeError: {error}")
