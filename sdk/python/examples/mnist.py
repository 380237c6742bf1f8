"""The CNN of the Burn guide on digits, as sdk/examples/mnist in C: the same
numbers come out, to the bit. mnist.py [TRAIN_ITEMS TEST_ITEMS EPOCHS [STACK]]"""
import sys

import burn
from burn import nn
from burn.data import Dataset, Loader


class Model(nn.Module):
    def __init__(self, classes, hidden):
        self.conv1 = nn.Conv2d((1, 8), 3)
        self.conv2 = nn.Conv2d((8, 16), 3)
        self.pool = nn.AdaptiveAvgPool2d(8)
        self.dropout = nn.Dropout(0.5)
        self.linear1 = nn.Linear(16 * 8 * 8, hidden)
        self.linear2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = self.dropout(self.conv1(x))
        x = self.dropout(self.conv2(x)).relu()
        x = self.pool(x).flatten(1, 3)
        x = self.dropout(self.linear1(x)).relu()
        return self.linear2(x)


def step(model, batch):
    output = model(batch.image)
    return burn.cross_entropy(output, batch.label), output, batch.label


def main(train_items=20000, test_items=4000, epochs=4, stack=None):
    device = burn.set_default_device(stack or burn.Device())
    train = Dataset.digits(train_items, seed=84).normalize_mnist()
    test = Dataset.digits(test_items, seed=85).normalize_mnist()
    device.seed(42)
    learner = burn.train.Learner(Model(10, 512), burn.optim.Adam(), step)
    return learner.fit(Loader(train, 64, shuffle=True, seed=42),
                       Loader(test, 64, seed=42), epochs=epochs, lr=1e-3)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:4]]
    last = main(*numbers, *sys.argv[4:5]).last
    print(f"train loss {last['train']['Loss']!r}, "
          f"test loss {last['valid']['Loss']!r}, "
          f"test accuracy {last['valid']['Accuracy']!r}")
