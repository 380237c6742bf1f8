"""The peer of loader_bench.c: torchvision's ImageFolder and PyTorch's DataLoader on the same folder, with the same steps.

    loader_torch.py FOLDER WORKERS EPOCHS BATCH_SIZE

Prints its version, then pictures per second of each epoch. Workers stay from epoch to epoch, and have started before the clock does.
"""
import sys
import time

import torch
import torchvision
from torchvision import transforms


def main():
    folder, workers, epochs, batch_size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    steps = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    data = torchvision.datasets.ImageFolder(folder, steps)
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(data, batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}", flush=True)
    for epoch in range(-1, epochs):
        start, items = time.perf_counter(), 0
        for images, _ in loader:
            items += len(images)
        if epoch >= 0:
            print(items / (time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
