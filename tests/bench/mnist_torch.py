"""The peer of epoch_bench.c: the same CNN, data, batch size and optimizer in PyTorch.

    mnist_torch.py ITEMS_FILE BATCH_SIZE THREADS

Prints its version, then for every line "N" on standard input trains N steps and answers "SECONDS MEAN_LOSS".
No DataLoader: the normalised images lie in one tensor, and a batch is an index by a slice of a random permutation, which
is the fastest plain way here.
"""
import sys
import time

import numpy
import torch
from torch import nn


class Model(nn.Module):
    """sdk/examples/mnist/model.c, layer by layer."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.AdaptiveAvgPool2d((8, 8))
        self.dropout = nn.Dropout(0.5)
        self.linear1 = nn.Linear(16 * 8 * 8, 512)
        self.linear2 = nn.Linear(512, 10)

    def forward(self, images):
        x = self.dropout(self.conv1(images))
        x = torch.relu(self.dropout(self.conv2(x)))
        x = self.pool(x).flatten(1)
        x = torch.relu(self.dropout(self.linear1(x)))
        return self.linear2(x)


def batches(images, labels, size):
    """Shuffled batches, epoch after epoch."""
    while True:
        order = torch.randperm(len(images))
        for begin in range(0, len(images), size):
            chosen = order[begin:begin + size]
            yield images[chosen], labels[chosen]


def main():
    path, size, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    items = numpy.fromfile(path, dtype=numpy.uint8).reshape(-1, 785)
    labels = torch.from_numpy(items[:, 0].astype(numpy.int64))
    images = torch.from_numpy(((items[:, 1:].astype(numpy.float32) / 255 - 0.1307) / 0.3081).reshape(-1, 1, 28, 28))
    model = Model().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-5)
    entropy = nn.CrossEntropyLoss()
    source = batches(images, labels, size)
    print(f"torch {torch.__version__}", flush=True)
    for line in sys.stdin:
        steps, total = int(line), 0.0
        begin = time.perf_counter()
        for _ in range(steps):
            image, label = next(source)
            loss = entropy(model(image), label)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"{time.perf_counter() - begin:.6f} {total / steps:.6f}", flush=True)


if __name__ == "__main__":
    main()
