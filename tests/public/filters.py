"""Kalman filters, control loops and Gaussian processes: loops around inverses, solutions and Cholesky factors."""

from __future__ import annotations

import math

import torch
from three_ways import call
from torch import nn

from public.cases import lengths, public


class KalmanFilter(nn.Module):
    """A constant-velocity model with measured positions."""

    def __init__(self, dt=0.1, process_noise=0.05, measurement_noise=0.3):
        super().__init__()
        eye = torch.eye(2)
        self.register_buffer("F", torch.cat([torch.cat([eye, dt * eye], 1), torch.cat([torch.zeros(2, 2), eye], 1)], 0))
        self.register_buffer("H", torch.cat([eye, torch.zeros(2, 2)], 1))
        self.register_buffer("Q", process_noise**2 * torch.eye(4))
        self.log_r = nn.Parameter(torch.full((2,), math.log(measurement_noise**2)))

    def predict(self, x, P):
        return self.F @ x, self.F @ P @ self.F.T + self.Q

    def update(self, x, P, z):
        R = torch.diag(torch.exp(self.log_r))
        y = z.unsqueeze(-1) - self.H @ x
        S = self.H @ P @ self.H.T + R
        K = P @ self.H.T @ torch.linalg.inv(S)
        x = x + K @ y
        I_KH = torch.eye(P.shape[-1]) - K @ self.H
        P = I_KH @ P @ I_KH.T + K @ R @ K.T
        log_lik = -0.5 * (y.T @ torch.linalg.solve(S, y) + torch.logdet(S) + 2 * math.log(2 * math.pi))
        return x, P, log_lik.squeeze()

    def forward(self, zs):
        x = torch.zeros(4, 1)
        P = torch.eye(4) * 10.0
        means, covs = [], []
        total = torch.zeros(())
        for z in zs:
            x, P = self.predict(x, P)
            x, P, ll = self.update(x, P, z)
            total = total + ll
            means.append(x.squeeze(-1))
            covs.append(P)
        if len(means) == 0:
            return torch.empty(0, 4), torch.empty(0, 4, 4), total
        return torch.stack(means), torch.stack(covs), total


def batched_kalman(zs, F, H, Q, R):
    """zs [time, batch, m]: one filter for each series, gains by Cholesky, and a smoother backwards."""
    T, B = zs.shape[0], zs.shape[1]
    n = F.shape[0]
    x = torch.zeros(B, n, 1, dtype=zs.dtype)
    P = torch.eye(n, dtype=zs.dtype).repeat(B, 1, 1)
    xs, Ps, x_preds, P_preds = [], [], [], []
    for t in range(T):
        x_pred = F @ x
        P_pred = F @ P @ F.mT + Q
        S = H @ P_pred @ H.mT + R
        L = torch.linalg.cholesky(S)
        K = torch.cholesky_solve(H @ P_pred, L).mT
        x = x_pred + K @ (zs[t].unsqueeze(-1) - H @ x_pred)
        P = P_pred - K @ S @ K.mT
        P = 0.5 * (P + P.mT)
        xs.append(x)
        Ps.append(P)
        x_preds.append(x_pred)
        P_preds.append(P_pred)
    smoothed = [xs[-1]]
    x_s, P_s = xs[-1], Ps[-1]
    for t in range(T - 2, -1, -1):
        G = torch.linalg.solve(P_preds[t + 1], F @ Ps[t]).mT
        x_s = xs[t] + G @ (x_s - x_preds[t + 1])
        P_s = Ps[t] + G @ (P_s - P_preds[t + 1]) @ G.mT
        smoothed.insert(0, x_s)
    return torch.stack(xs).squeeze(-1), torch.stack(smoothed).squeeze(-1), P_s


def lqr(A, B, Q, R, steps: int, tol: float = 1e-9):
    """The gain of a discrete regulator, by iterating the Riccati equation; then the closed loop from a state of ones."""
    P = Q
    for _ in range(steps):
        K = torch.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P_next = Q + A.T @ P @ (A - B @ K)
        if torch.linalg.norm(P_next - P, ord="fro") < tol:
            break
        P = P_next
    K = torch.linalg.inv(R + B.T @ P @ B) @ (B.T @ P @ A)
    x = torch.ones(A.shape[0], dtype=A.dtype)
    path = [x]
    for _ in range(steps):
        x = (A - B @ K) @ x
        path.append(x)
    return K, torch.stack(path), torch.linalg.matrix_norm(A - B @ K, 2)


class NotPSDError(Exception):
    pass


def psd_safe_cholesky(A, jitter=1e-6, max_tries=3):
    L, info = torch.linalg.cholesky_ex(A)
    if not torch.any(info):
        return L
    if torch.isnan(A).any():
        raise ValueError(f"cholesky_cpu: {torch.isnan(A).sum().item()} of {A.numel()} elements are NaN.")
    for i in range(max_tries):
        shift = jitter * (100**i)
        L, info = torch.linalg.cholesky_ex(A + shift * torch.eye(A.shape[-1], dtype=A.dtype))
        if not torch.any(info):
            return L
    raise NotPSDError(f"Matrix not positive definite after repeatedly adding jitter up to {shift:.1e}.")


class ExactGP(nn.Module):
    """Predictive mean and variance, and the log marginal likelihood, with an RBF kernel."""

    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.tensor(0.2, dtype=torch.float64))
        self.raw_outputscale = nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
        self.raw_noise = nn.Parameter(torch.tensor(-4.0, dtype=torch.float64))
        self.mean = nn.Parameter(torch.tensor(0.1, dtype=torch.float64))

    def kernel(self, a, b):
        d = torch.cdist(a / nn.functional.softplus(self.raw_lengthscale), b / nn.functional.softplus(self.raw_lengthscale))
        return nn.functional.softplus(self.raw_outputscale) * torch.exp(-0.5 * d**2)

    def forward(self, train_x, train_y, test_x):
        n = train_x.shape[0]
        K = self.kernel(train_x, train_x) + nn.functional.softplus(self.raw_noise) * torch.eye(n, dtype=train_x.dtype)
        L = psd_safe_cholesky(K)
        resid = (train_y - self.mean).unsqueeze(-1)
        alpha = torch.cholesky_solve(resid, L)
        K_s = self.kernel(train_x, test_x)
        mean = self.mean + (K_s.mT @ alpha).squeeze(-1)
        v = torch.linalg.solve_triangular(L, K_s, upper=False)
        var = self.kernel(test_x, test_x).diagonal() - (v * v).sum(0)
        mll = -0.5 * (resid.mT @ alpha).squeeze() - L.diagonal().log().sum() - 0.5 * n * math.log(2 * math.pi)
        return mean, var.clamp_min(0), mll


def robust_inverse(S):
    """An inverse, or what comes near to it, as estimators write that."""
    try:
        return torch.linalg.inv(S), "inv"
    except torch.linalg.LinAlgError:
        return torch.linalg.pinv(S), "pinv"


def whitened(x, eps: float = 1e-5):
    """ZCA: by the eigenvectors of a covariance, whose signs cancel."""
    c = torch.cov(x.T) + eps * torch.eye(x.shape[1], dtype=x.dtype)
    w, V = torch.linalg.eigh(c)
    return (x - x.mean(0)) @ (V * w.rsqrt()) @ V.T


@public
def kalman_filter():
    return KalmanFilter(), lengths(lambda n: (torch.randn(n, 2),))


@public
def kalman_smoother():
    F = torch.tensor([[1.0, 0.1], [0.0, 1.0]], dtype=torch.float64)
    H = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    Q, R = 0.01 * torch.eye(2, dtype=torch.float64), 0.1 * torch.eye(1, dtype=torch.float64)
    return batched_kalman, lengths(lambda n: (torch.randn(n, 3, 1, dtype=torch.float64), F, H, Q, R), 6, 1, 2)


@public
def regulator():
    A = torch.tensor([[1.1, 0.2], [0.0, 0.9]], dtype=torch.float64)
    B = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    Q, R = torch.eye(2, dtype=torch.float64), torch.eye(1, dtype=torch.float64)
    return lqr, [*(call(A, B, Q, R, n) for n in (40, 1, 0)), call(A, B, Q, 0 * R, 3), call(A, 0 * B, Q, 0 * R, 3)]


@public
def gaussian_process():
    def data(n):
        x = torch.rand(n, 2, dtype=torch.float64)
        return x, torch.sin(3 * x[:, 0]) + x[:, 1], torch.rand(4, 2, dtype=torch.float64)

    x, y, at = data(5)
    return ExactGP(), [*lengths(data, 7, 1, 30), call(x * math.nan, y, at)]


@public
def jitter():
    same = torch.ones(4, 4, dtype=torch.float64)
    return psd_safe_cholesky, [call(same + torch.eye(4)), call(same), call(-same), call(same * math.nan)]


@public
def inverse_or_pseudo_inverse():
    x = torch.randn(3, 3, dtype=torch.float64)
    return robust_inverse, [call(x), call(torch.ones(3, 3, dtype=torch.float64)), call(x[:2]), call(torch.stack([x, 0 * x]))]


@public
def zca_whitening():
    return whitened, lengths(lambda n: (torch.randn(n, 3, dtype=torch.float64),), 20, 7)
