"""Two convolutional nets for MNIST, in evaluation mode, at several batch sizes."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

import scriptc


class SmallNet(nn.Module):
    """The net of pytorch2c's README."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 320)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        x = F.relu(self.fc2(x))
        return F.log_softmax(x, dim=1)


class Net(nn.Module):
    """The net of PyTorch's MNIST example."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.dropout2(x)
        x = self.fc2(x)
        output = F.log_softmax(x, dim=1)
        return output


small, large = SmallNet().eval(), Net().eval()
example_args = (torch.zeros(1, 1, 28, 28),)


def main() -> None:
    torch.manual_seed(0)
    for model in (small, large):
        compiled = scriptc.compile(model)
        for batch in (1, 3, 64):
            print(f"{type(model).__name__}, batch {batch}")
            print(scriptc.compare(compiled, torch.randn(batch, 1, 28, 28)).check())


if __name__ == "__main__":
    main()
