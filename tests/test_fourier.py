"""torch.fft, stft and istft beside eager: lengths with divisors and without, norms, dims, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from settings import sweep
from three_ways import call, eager, interpreted

import scriptc

X = torch.randn(3, 20)
Z = torch.complex(X, X.flip(0))
SIGNAL = torch.randn(2, 200)
WINDOW, SHORT = torch.hann_window(32), torch.hamming_window(25)


def ffts(x, z):
    return torch.fft.fft(x), torch.fft.fft(z, 7, dim=0), torch.fft.fft(z, n=30, norm="ortho"), torch.fft.ifft(z, norm="forward")


def of_real(x, z):
    back = torch.fft.irfft(z), torch.fft.irfft(z, 21, norm="ortho"), torch.fft.irfft(x)
    return torch.fft.rfft(x), torch.fft.rfft(x, 17, -2), *back


def over_dims(x, z):
    cube = z.reshape(3, 4, 5)
    return (
        torch.fft.fft2(x), torch.fft.ifftn(cube), torch.fft.rfft2(x, s=(4, 8)), torch.fft.irfftn(cube, s=(3, 4, 7)),
    )  # fmt: skip


def over_one_dim(x: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Dims and sizes that are numbers stand for tuples of one."""
    return torch.fft.rfft2(x, dim=0), torch.fft.fftn(z, dim=1), torch.fft.ifft2(z, s=4, dim=-1), torch.fft.rfftn(x, s=-1, dim=1)


def of_other_dtypes(x, z):
    return torch.fft.rfft(x.double()), torch.fft.fft((10 * x).long()), torch.fft.ifft(z.to(torch.complex128))


def frequencies(x, z):
    shifted = torch.fft.fftshift(x) + torch.fft.ifftshift(x, dim=1)
    return torch.fft.fftfreq(7, 0.5), torch.fft.rfftfreq(8), torch.fft.fftfreq(1), shifted


def spectrograms(y, window, short):
    return (
        torch.stft(y, 32, 8, window=window, return_complex=True),
        torch.stft(y[0], 32, 9, win_length=25, window=short, center=False, normalized=True, return_complex=True),
        torch.stft(y[0], 32, onesided=False, pad_mode="constant", return_complex=False),
    )


def there_and_back(y, window, length):
    spectrum = y.stft(32, 8, window=window, return_complex=True)
    return torch.istft(spectrum, 32, 8, window=window), spectrum.istft(32, 8, window=window, length=length)


PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (ffts, [(X, Z), (X[:, :13], Z[:, :13]), (X[:, :1], Z[:, :1])]),
    (of_real, [(X, Z), (X[:, :13], Z[:, :13]), (X[:, :2], Z[:, :2])]),
    (over_dims, [(X, Z)]),
    (over_one_dim, [(X, Z)]),
    (of_other_dtypes, [(X, Z)]),
    (frequencies, [(X, Z)]),
    (spectrograms, [(SIGNAL, WINDOW, SHORT), (SIGNAL[:1, :50], WINDOW, SHORT)]),
    (there_and_back, [(SIGNAL, WINDOW, 200), (SIGNAL[:, :64], WINDOW, 60), (SIGNAL[0], WINDOW, 230)]),
]


@pytest.mark.compiled_together
@pytest.mark.filterwarnings("ignore:stft with return_complex=False", "ignore:The length of signal")
@pytest.mark.parametrize("optimize", sweep([0, 1], 0))
@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_equals_eager(function: Callable[..., Any], calls: list[tuple[Any, ...]], optimize: int) -> None:
    compiled = scriptc.compile(function, optimize=optimize)
    for given in calls:
        torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-4, atol=1e-4)
    found = interpreted(function, call(*calls[0]), compiled)
    assert found.error is None
    torch.testing.assert_close(tuple(found.result), function(*calls[0]), rtol=1e-4, atol=1e-4)


@pytest.mark.compiled_together
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.fft.fft(x, 0),
        lambda x: torch.fft.rfft(torch.complex(x, x)),
        lambda x: torch.fft.rfft(x.half()),
        lambda x: torch.fft.ifft(x, norm="none"),
        lambda x: torch.fft.irfft(x[:, :1]),
        lambda x: torch.stft(x, 16),
        lambda x: torch.stft(x, 64, center=False, return_complex=True),
        lambda x: torch.stft(x, 8, hop_length=0, return_complex=True),
        lambda x: torch.istft(x, 8),
        lambda x: torch.istft(torch.stft(x, 8, 2, window=torch.hann_window(8), return_complex=True), 8, 2,
                              window=torch.hann_window(8), center=False),
    ],
)  # fmt: skip
def test_raises_what_eager_raises(function: Callable[..., Any]) -> None:
    expected = eager(function, call(X))
    assert expected.error is not None
    with pytest.raises(type(expected.error)):
        scriptc.compile(function, optimize=0)(X)


@pytest.mark.parametrize("optimize", sweep([0, 1], 0))
def test_large_lengths_are_accurate(optimize: int) -> None:
    x = torch.randn(2, 4096, dtype=torch.float64)
    for signal, tolerance in ((x, 1e-10), (x.float(), 2e-3)):
        made = scriptc.compile(lambda x: torch.fft.rfft(x), optimize=optimize)
        torch.testing.assert_close(made(signal), torch.fft.rfft(signal), rtol=tolerance, atol=tolerance)


def test_istft_has_gradients() -> None:
    def there_and_back_again(y: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(32)
        return torch.istft(torch.stft(y, 32, 8, window=window, return_complex=True) ** 2, 32, 8, window=window)

    y = SIGNAL.clone().requires_grad_()
    (expected,) = torch.autograd.grad(there_and_back_again(y).square().sum(), y)
    (found,) = torch.autograd.grad(scriptc.compile(there_and_back_again, optimize=0)(y).square().sum(), y)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("points", [62, 64, 67])
def test_results_of_real_transforms_are_whole(points: int) -> None:
    def real_transforms(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        spectrum = torch.stft(x[0], 16, 4, window=torch.hann_window(16), return_complex=True)
        flat = torch.view_as_real(torch.fft.rfft(x)).view(-1)
        return flat, torch.fft.rfft(x), torch.fft.rfft(x, dim=1), spectrum, spectrum.transpose(1, 2).view(-1)

    x = torch.randn(2, 3, points)
    expected, found = real_transforms(x), scriptc.compile(real_transforms, optimize=0)(x)
    torch.testing.assert_close(found, expected)
    assert [t.stride() for t in found] == [t.stride() for t in expected]
