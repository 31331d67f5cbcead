"""Lines of time against a size, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def draw(path: Path, title: str, label: str, sizes: Sequence[int], seconds: Mapping[str, Sequence[float]]) -> None:
    """Draw one line per column, with both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.5, 4.5), layout="constrained")
    for at, (name, times) in enumerate(seconds.items()):
        style = "-" if at < 10 else "--"  # colors repeat after ten lines
        axes.plot(sizes, [t * 1e6 for t in times], style, marker="o", markersize=4, label=name)
    axes.set(title=title, xlabel=label, ylabel="microseconds", xscale="log", yscale="log")
    axes.set_xticks(list(sizes), [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
