"""Lines of time against a size, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def draw(path: Path, title: str, label: str, sizes: Sequence[int], seconds: Mapping[str, Sequence[float]]) -> None:
    """One line per column, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, times in seconds.items():
        axes.plot(sizes, [t * 1e6 for t in times], marker="o", markersize=4, label=name)
    axes.set(title=title, xlabel=label, ylabel="microseconds", xscale="log", yscale="log")
    axes.set_xticks(list(sizes), [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
