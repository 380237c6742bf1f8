"""The peer of the bench suite: the kinds of op_kinds.c and of models/ in PyTorch, under the same names and arguments.

    peer_torch.py THREADS [DEVICE [WAY [PRECISION]]]

DEVICE is cpu or cuda:N. WAY is eager, compile (torch.compile of what is measured; of a training step, of the model) or
cudagraph (the same recorded whole as a CUDA graph and replayed) or onednn (products, convolutions and inference by oneDNN
in its own layouts). PRECISION is default, highest (no TF32), high (TF32),
bf16 or f16 (autocast of models).

First line out: "torch VERSION", or "absent TEXT" where there is no PyTorch, or no oneDNN in it. Then, for every line in, one line out:

    case KIND ARG...   "ready LOSS" after a warm-up (LOSS nan where there is none), "missing" for a kind not known here,
                       "missing TEXT" for one that this way cannot do, "error TEXT"; KIND@bf16 and KIND@f16 are in these
    run SECONDS        "TIME LOSS": seconds of one repetition, over about so many seconds
    end                "ended", on a GPU "ended BYTES", the most that tensors took; the case is let go

What counts for us counts here: inputs are made before the clock starts, results are new tensors (as code without `out=`
makes them), nothing is recorded where nothing is derived. On a CPU every step reads its loss, and every repetition is
done when it returns; on a GPU repetitions are told to it one after the other and waited for together, and the loss of
the last is read then.
"""
import contextlib
import gc
import math
import re
import sys
import time
import warnings

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils import mkldnn
except ImportError as absent:
    print("absent", absent, flush=True)
    sys.exit()

CHAIN = 100
KINDS = {}
MODELS = {}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
DEVICE = torch.device(sys.argv[2] if len(sys.argv) > 2 else "cpu")
WAY = sys.argv[3] if len(sys.argv) > 3 else "eager"
PRECISION = sys.argv[4] if len(sys.argv) > 4 else "default"
ON_GPU = DEVICE.type != "cpu"
dtype_of_case = [torch.float32]


class Cannot(Exception):
    """This way of running PyTorch cannot do the kind."""


def kind(function):
    """A function of the arguments that prepares and returns what one repetition does."""
    KINDS[function.__name__] = function
    return function


def normal(*shape):
    return torch.randn(*shape, dtype=dtype_of_case[0], device=DEVICE)


def leaf(*shape):
    return normal(*shape).requires_grad_()


def ready(run, has_loss=False):
    """Marks what is measured as it is: what could be compiled in it has been. Does it give a loss?"""
    run.is_ready = True
    run.has_loss = has_loss
    return run


def compiled(function):
    return function if WAY in ("eager", "onednn") else torch.compile(function)


def eager_only(run):
    """What a compiler would leave out or unroll."""
    if WAY == "compile":
        raise Cannot("calls are counted here, which a compiler leaves out")
    return ready(run)


def backward(forward, *leaves):
    """Gradients of all leaves, seeded with ones."""
    forward = compiled(forward)
    ones = []

    def run():
        with torch.enable_grad():
            result = forward()
            if not ones:
                ones.append(torch.ones_like(result))
            return torch.autograd.grad(result, leaves, ones[0])
    return ready(run)


# -- element by element ------------------------------------------------------------------------------------------------------

def unary(name, op):
    def prepare(n):
        x = normal(n)
        return lambda: op(x)
    KINDS[name] = prepare


unary("exp", torch.exp)
unary("relu", torch.relu)
unary("tanh", torch.tanh)
unary("gelu", F.gelu)
unary("sum", torch.sum)
unary("mean", torch.mean)
unary("max", torch.max)
unary("sort", lambda x: torch.sort(x).values)
unary("cast_bf16", lambda x: x.to(torch.bfloat16))
unary("dropout", lambda x: F.dropout(x, 0.5, True))


@kind
def copy(n):
    a, b = normal(n), normal(n)
    return ready(lambda: b.copy_(a))


@kind
def add(n):
    a, b = normal(n), normal(n)
    return lambda: a + b


@kind
def mul(n):
    a, b = normal(n), normal(n)
    return lambda: a * b


@kind
def chain(n):
    a, b, c = normal(n), normal(n), normal(n)
    return lambda: F.gelu(a * b + c)


@kind
def where(n):
    a, b, mask = normal(n), normal(n), torch.rand(n) < 0.5
    return lambda: torch.where(mask, b, a)


@kind
def add_row(m, n):
    a, row = normal(m, n), normal(1, n)
    return lambda: a + row


# -- along axes --------------------------------------------------------------------------------------------------------------

def along(name, op):
    def prepare(m, n, axis):
        x = normal(m, n)
        return lambda: op(x, axis)
    KINDS[name] = prepare


along("sum_dim", lambda x, axis: torch.sum(x, axis, keepdim=True))
along("mean_dim", lambda x, axis: torch.mean(x, axis, keepdim=True))
along("max_dim", lambda x, axis: torch.amax(x, axis, keepdim=True))
along("argmax", lambda x, axis: torch.argmax(x, axis, keepdim=True))
along("cumsum", torch.cumsum)
along("softmax", torch.softmax)
along("log_softmax", torch.log_softmax)


@kind
def topk(n, k):
    x = normal(n)
    return lambda: torch.topk(x, k).values


@kind
def softmax_grad(m, n, axis):
    x = leaf(m, n)
    return backward(lambda: torch.softmax(x, axis), x)


def norm_of(x, gamma, beta, axis):
    return F.layer_norm(x.t() if axis == 0 else x, gamma.shape, gamma, beta, 1e-5)


@kind
def layer_norm(m, n, axis):
    size = (m, n)[axis]
    x, gamma, beta = normal(m, n), normal(size), normal(size)
    return lambda: norm_of(x, gamma, beta, axis)


@kind
def layer_norm_grad(m, n, axis):
    size = (m, n)[axis]
    x, gamma, beta = leaf(m, n), leaf(size), leaf(size)
    return backward(lambda: norm_of(x, gamma, beta, axis), x, gamma, beta)


@kind
def mixed_layer_norm_grad(m, n):
    x, gamma, beta = leaf(m, n), leaf(n), leaf(n)
    gamma, beta = (p.detach().float().requires_grad_() for p in (gamma, beta))
    return backward(lambda: norm_of(x.float(), gamma, beta, 1).to(x.dtype), x, gamma, beta)


@kind
def batch_norm_grad(n, c, h, w):
    x, gamma, beta = leaf(n, c, h, w), leaf(c), leaf(c)
    mean, var = torch.zeros(c), torch.ones(c)
    return backward(lambda: F.batch_norm(x, mean, var, gamma, beta, True, 0.1, 1e-5), x, gamma, beta)


# -- products ----------------------------------------------------------------------------------------------------------------

@kind
def matmul(batch, m, k, n, transposed, bf16):
    def factor(rows, columns, is_transposed):
        shape = (columns, rows) if is_transposed else (rows, columns)
        x = normal(*((batch,) if batch else ()), *shape)
        if bf16:
            x = x.to(torch.bfloat16)
        return x.transpose(-1, -2) if is_transposed else x
    a, b = factor(m, k, transposed == 1), factor(k, n, transposed == 2)
    return lambda: a @ b


@kind
def linear(m, k, n):
    x, weight, bias = normal(m, k), normal(n, k), normal(n)
    return lambda: F.linear(x, weight, bias)


@kind
def linear_grad(m, k, n):
    x, weight, bias = leaf(m, k), leaf(n, k), leaf(n)
    return backward(lambda: F.linear(x, weight, bias), x, weight, bias)


@kind
def attention(n, heads, t, d, causal):
    q, k, v = (normal(n, heads, t, d) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))


@kind
def attention_grad(n, heads, t, d, causal):
    q, k, v = (leaf(n, heads, t, d) for _ in range(3))
    return backward(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal)), q, k, v)


# -- convolution and pooling -------------------------------------------------------------------------------------------------

@kind
def conv2d(n, channels, h, w, out, size, stride, padding, groups):
    x, weight, bias = normal(n, channels, h, w), normal(out, channels // groups, size, size), normal(out)
    return lambda: F.conv2d(x, weight, bias, stride, padding, 1, groups)


@kind
def conv2d_grad(n, channels, h, w, out, size, stride, padding, groups):
    x, weight, bias = leaf(n, channels, h, w), leaf(out, channels // groups, size, size), leaf(out)
    return backward(lambda: F.conv2d(x, weight, bias, stride, padding, 1, groups), x, weight, bias)


def pool(name, op):
    def prepare(n, c, h, w, *options):
        x = normal(n, c, h, w)
        return lambda: op(x, *options)

    def prepare_grad(n, c, h, w, *options):
        x = leaf(n, c, h, w)
        return backward(lambda: op(x, *options), x)
    KINDS[name] = prepare
    KINDS[name + "_grad"] = prepare_grad


pool("max_pool", F.max_pool2d)
pool("avg_pool", F.avg_pool2d)
pool("adaptive_avg_pool", lambda x, h, w: F.adaptive_avg_pool2d(x, (h, w)))


# -- by index ----------------------------------------------------------------------------------------------------------------

@kind
def embedding(vectors, d, batch, sequence):
    weight, indices = normal(vectors, d), torch.randint(0, vectors, (batch, sequence))
    return lambda: F.embedding(indices, weight)


@kind
def embedding_grad(vectors, d, batch, sequence):
    weight, indices = leaf(vectors, d), torch.randint(0, vectors, (batch, sequence))
    return backward(lambda: F.embedding(indices, weight), weight)


def indices_of(m, n, k, axis):
    shape = (k, n) if axis == 0 else (m, k)
    return torch.randint(0, (m, n)[axis], shape)


@kind
def gather(m, n, k, axis):
    x, indices = normal(m, n), indices_of(m, n, k, axis)
    return lambda: torch.gather(x, axis, indices)


@kind
def scatter_add(m, n, k, axis):
    x, indices = normal(m, n), indices_of(m, n, k, axis)
    values = normal(*indices.shape)
    return lambda: torch.scatter_add(x, axis, indices, values)


@kind
def select(m, n, k):
    x, indices = normal(m, n), torch.randint(0, m, (k,))
    return lambda: torch.index_select(x, 0, indices)


@kind
def select_add(m, n, k):
    x, indices, values = normal(m, n), torch.randint(0, m, (k,)), normal(k, n)
    return lambda: torch.index_add(x, 0, indices, values)


# -- copies ------------------------------------------------------------------------------------------------------------------

@kind
def cat(m, n, axis):
    a, b = normal(m, n), normal(m, n)
    return lambda: torch.cat((a, b), axis)


@kind
def slice(m, n, begin, end):  # pylint: disable=redefined-builtin
    x = normal(m, n)
    return lambda: x[:, begin:end].reshape(-1)


@kind
def transpose(m, n):
    x = normal(m, n)
    return lambda: x.t().reshape(-1)


@kind
def channels_last(n, c, h, w):
    x = normal(n, c, h, w)
    return lambda: x.permute(0, 2, 3, 1).reshape(-1)


@kind
def heads(n, t, count, d):
    x = normal(n, t, count, d)
    return lambda: x.transpose(1, 2).reshape(-1)


# -- random ------------------------------------------------------------------------------------------------------------------

@kind
def uniform(n):
    return lambda: torch.rand(n, device=DEVICE)


KINDS["normal"] = lambda n: lambda: torch.randn(n, device=DEVICE)


@kind
def bernoulli(n):
    return lambda: torch.empty(n, device=DEVICE).bernoulli_(0.5)


# -- training ----------------------------------------------------------------------------------------------------------------

def adam_of(n, fused):
    parameter = leaf(n)
    parameter.grad = normal(n)
    optimizer = torch.optim.Adam([parameter], lr=1e-4, fused=fused, capturable=WAY == "cudagraph")
    return ready(lambda: optimizer.step() and None)


@kind
def adam(n):
    return adam_of(n, None)


@kind
def adam_fused(n):
    return adam_of(n, True)


@kind
def cross_entropy(n, classes):
    logits, targets = normal(n, classes), torch.randint(0, classes, (n,))
    return lambda: F.cross_entropy(logits, targets)


@kind
def cross_entropy_grad(n, classes):
    logits, targets = leaf(n, classes), torch.randint(0, classes, (n,))
    return backward(lambda: F.cross_entropy(logits, targets), logits)


@kind
def mixed_cross_entropy_grad(n, classes):
    logits, targets = leaf(n, classes), torch.randint(0, classes, (n,))
    return backward(lambda: F.cross_entropy(logits.float(), targets), logits)


# -- overhead ----------------------------------------------------------------------------------------------------------------

@kind
def tiny_add(n):
    a, b = normal(n), normal(n)

    def run():
        for _ in range(CHAIN):
            a + b  # pylint: disable=pointless-statement
    return eager_only(run)


@kind
def host_add(n):
    """The time of the calls alone; see Case.repeat."""
    run = tiny_add(n)
    run.host_only = True
    return run


@kind
def tiny_add_in_place(n):
    a, b = normal(n), normal(n)

    def run():
        for _ in range(CHAIN):
            a.add_(b)
    return eager_only(run)


@kind
def tiny_add_untracked(n):
    """Where gradients are on, but nothing asks for one."""
    run = tiny_add(n)

    def run_enabled():
        with torch.enable_grad():
            run()
    return eager_only(run_enabled)


@kind
def tiny_add_grad(n):
    a, b = leaf(n), normal(n)

    def forward():
        x = a
        for _ in range(CHAIN):
            x = x + b
        return x
    return backward(forward, a)


@kind
def tiny_linear(m, k, n):
    x, weight, bias = normal(m, k), normal(n, k), normal(n)

    def run():
        for _ in range(CHAIN):
            torch.relu(F.linear(x, weight, bias))
    return eager_only(run)


# -- models: each is the network of the same name in models/ ------------------------------------------------------------------

class Guide(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.AdaptiveAvgPool2d((8, 8))
        self.dropout = nn.Dropout(0.5)
        self.linear1 = nn.Linear(16 * 8 * 8, 512)
        self.linear2 = nn.Linear(512, 10)

    def forward(self, x):
        x = self.dropout(self.conv1(x))
        x = torch.relu(self.dropout(self.conv2(x)))
        x = self.pool(x).flatten(1)
        x = torch.relu(self.dropout(self.linear1(x)))
        return self.linear2(x)


class Lenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


class Mlp(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        sizes = [784] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.last = nn.Linear(sizes[-1], 10)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.last(x)


class Block(nn.Module):
    def __init__(self, d, head_count, is_causal):
        super().__init__()
        self.is_causal = is_causal
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads = head_count

    def attend(self, x):
        n, t, d = x.shape
        q, k, v = (part.view(n, t, self.heads, d // self.heads).transpose(1, 2) for part in self.qkv(x).split(d, 2))
        if hasattr(F, "scaled_dot_product_attention"):  # from 2.0 on
            x = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        else:
            later = torch.ones(t, t, dtype=torch.bool).triu(1 if self.is_causal else t)
            scores = (q @ k.transpose(2, 3) / (d // self.heads) ** 0.5).masked_fill(later, float("-inf"))
            x = scores.softmax(3) @ v
        return self.proj(x.transpose(1, 2).reshape(n, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, d, layers, head_count, length, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, d)
        nn.init.normal_(self.tokens.weight, 0, 0.02)
        self.positions = nn.Parameter(0.02 * torch.randn(1, length, d))
        self.blocks = nn.ModuleList(Block(d, head_count, True) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocabulary, bias=False)

    def forward(self, x):
        x = self.tokens(x) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Lstm(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class ResBlock(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if channels != out or stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        skip = self.shortcut(x)
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(x)) + skip)


class Resnet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        blocks, channels = [], width
        for i in range(8):
            out = width << (i // 2)
            blocks.append(ResBlock(channels, out, 2 if i > 0 and i % 2 == 0 else 1))
            channels = out
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(8 * width, 10)

    def forward(self, x):
        x = self.blocks(torch.relu(self.norm(self.stem(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.norm1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if channels != out or stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        skip = self.shortcut(x)
        x = torch.relu(self.norm1(self.conv1(x)))
        x = torch.relu(self.norm2(self.conv2(x)))
        return torch.relu(self.norm3(self.conv3(x)) + skip)


class Resnet50(nn.Module):
    def __init__(self, width, _, classes, *stages):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        blocks, channels = [], width
        for stage, count in enumerate(stages):
            for i in range(count):
                blocks.append(Bottleneck(channels, width << stage, 2 if stage > 0 and i == 0 else 1))
                channels = 4 * (width << stage)
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(32 * width, classes)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.head(F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1))


class Vit(nn.Module):
    def __init__(self, d, layers, head_count, size, patch, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, d, patch, patch)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, d))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + (size // patch) ** 2, d))
        self.blocks = nn.ModuleList(Block(d, head_count, False) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(len(x), -1, -1), x), 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class Pair(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(x)))


class Unet(nn.Module):
    """The loss takes its classes where they are, at axis 1."""

    def __init__(self, width, _, levels, classes):
        super().__init__()
        channels = [width << i for i in range(levels)]
        self.down = nn.ModuleList(Pair(3 if i == 0 else c // 2, c) for i, c in enumerate(channels))
        self.bottom = Pair(channels[-1], 2 * channels[-1])
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in reversed(channels))
        self.joined = nn.ModuleList(Pair(2 * c, c) for c in reversed(channels))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for pair in self.down:
            kept.append(pair(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for up, pair in zip(self.up, self.joined):
            x = pair(torch.cat((kept.pop(), up(x)), 1))
        return self.head(x)


class Bert(nn.Module):
    def __init__(self, d, head_count, _):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d, head_count, 4 * d, 0.0, "gelu", batch_first=True)
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        return self.head(self.layer(x)).flatten(0, 1)


class LstmLanguage(nn.Module):
    def __init__(self, d, _, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, d)
        self.lstm = nn.LSTM(d, d, 2, batch_first=True)
        self.head = nn.Linear(d, vocabulary)

    def forward(self, x):
        return self.head(self.lstm(self.tokens(x))[0]).flatten(0, 1)


class Llama(nn.Module):
    """The cache is overwritten where it is."""

    def __init__(self, batch, d, head_count, kept, inside, length):
        super().__init__()
        self.size, self.last = d // head_count, length - 1
        self.norm1, self.norm2 = nn.RMSNorm(d, 1e-5), nn.RMSNorm(d, 1e-5)
        self.query, self.output = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.key, self.value = (nn.Linear(d, kept * self.size, bias=False) for _ in range(2))
        self.inner, self.outer = (nn.Linear(d, inside, bias=False) for _ in range(2))
        self.down = nn.Linear(inside, d, bias=False)
        self.register_buffer("keys", normal(batch, kept, length, self.size))
        self.register_buffer("values", normal(batch, kept, length, self.size))
        angles = self.last * 500000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        self.register_buffer("turn", torch.polar(torch.ones_like(angles), angles))

    def turned(self, x):
        """Pairs of neighbours as complex numbers, as in Meta's code."""
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.turn).flatten(-2)

    def attend(self, x):
        query, key, value = (f(x).unflatten(-1, (-1, self.size)).transpose(1, 2) for f in (self.query, self.key, self.value))
        self.keys[:, :, self.last:] = self.turned(key)
        self.values[:, :, self.last:] = value
        query = self.turned(query).unflatten(1, (self.keys.shape[1], -1)).flatten(2, 3)  # a group as queries of its head
        x = F.scaled_dot_product_attention(query, self.keys, self.values)
        return self.output(x.reshape(len(x), 1, -1))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(F.silu(self.inner(y)) * self.outer(y))


def images(channels, size):
    return lambda batch, *_: (normal(batch, channels, size, size), torch.randint(0, 10, (batch,)))


def adam_for(network):
    """On a GPU the fastest that there is."""
    if not ON_GPU:
        return torch.optim.Adam(network.parameters(), lr=1e-4)
    return torch.optim.Adam(network.parameters(), lr=1e-4, fused=True, capturable=WAY == "cudagraph")


def autocast():
    if PRECISION not in ("bf16", "f16"):
        return contextlib.nullcontext()
    return torch.autocast(DEVICE.type, DTYPES[PRECISION])


def told(loss):
    """On a GPU the loss is read after the last of many steps."""
    return loss.detach() if ON_GPU else loss.item()


def model(name, make, data):
    """Two kinds: training steps that return their loss, and inference."""
    def training(batch, *sizes):
        with torch.enable_grad():
            network = make(*sizes).train()
        inputs, targets = data(batch, *sizes)
        optimizer = adam_for(network)
        forward = compiled(network)
        scaler = torch.amp.GradScaler(DEVICE.type) if PRECISION == "f16" else None

        def update(loss):
            if scaler is None:
                loss.backward()
                optimizer.step()
                return
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

        def step():
            with torch.enable_grad():
                with autocast():
                    loss = F.cross_entropy(forward(inputs), targets)
                optimizer.zero_grad(set_to_none=True)
                update(loss)
            return told(loss)
        return ready(step, has_loss=True)

    def inference(batch, *sizes):
        network = make(*sizes).eval()
        inputs, _ = data(batch, *sizes)
        forward = compiled(network)

        def run():
            with torch.inference_mode(), autocast():
                return forward(inputs)
        return ready(run)
    KINDS[name] = training
    KINDS[name + "_infer"] = inference
    MODELS[name] = (make, data)


def tokens(batch, length, vocabulary):
    return torch.randint(0, vocabulary, (batch, length)), torch.randint(0, vocabulary, (batch * length,))


def pictures(batch, size, classes):
    return normal(batch, 3, size, size), torch.randint(0, classes, (batch,))


model("guide", Guide, images(1, 28))
model("lenet", Lenet, images(1, 28))
model("mlp", Mlp, lambda batch, *_: (normal(batch, 784), torch.randint(0, 10, (batch,))))
model("gpt", Gpt, lambda batch, d, layers, heads, length, vocabulary: tokens(batch, length, vocabulary))
model("lstm", lambda hidden, _: Lstm(hidden), lambda batch, hidden, length: (normal(batch, length, hidden), torch.randint(0, 10, (batch,))))
model("resnet", Resnet, images(3, 32))
model("resnet50", Resnet50, lambda batch, width, size, classes, *_: pictures(batch, size, classes))
model("vit", Vit, lambda batch, d, layers, heads, size, patch, classes: pictures(batch, size, classes))
model("unet", Unet, lambda batch, width, size, levels, classes: (
    normal(batch, 3, size, size), torch.randint(0, classes, (batch, size, size))))
model("bert", Bert, lambda batch, d, heads, length: (normal(batch, length, d), torch.randint(0, 10, (batch * length,))))
model("lstm_language", LstmLanguage, lambda batch, d, length, vocabulary: tokens(batch, length, vocabulary))


@kind
def llama_decode(batch, d, *sizes):
    network, x = Llama(batch, d, *sizes).eval(), normal(batch, 1, d)
    forward = compiled(network)

    def run():
        with torch.inference_mode():
            return forward(x)
    return ready(run)


def layers(*sizes):
    return (nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))


def wgan_of():
    first, second, last = layers(64, 256, 512, 784)
    generator = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last, nn.Sigmoid())
    first, second, last = layers(784, 512, 256, 1)
    critic = nn.Sequential(first, nn.LeakyReLU(0.2), second, nn.LeakyReLU(0.2), last)
    return generator, critic


def gradient_penalty(critic, real, fake):
    share = torch.rand(len(real), 1, device=DEVICE)
    x = (fake + share * (real - fake)).requires_grad_()
    slope, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def stepped(optimizer, loss):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return told(loss)


@kind
def wgan_critic(batch):
    generator, critic = wgan_of()
    real = torch.rand(batch, 784)
    optimizer = adam_for(critic)

    def step():
        fake = generator(normal(batch, 64))
        with torch.enable_grad():
            gap = critic(real).mean() - critic(fake).mean()
            return stepped(optimizer, 10 * gradient_penalty(critic, real, fake) - gap)
    return ready(step, has_loss=True)


@kind
def wgan_generator(batch):
    generator, critic = wgan_of()
    critic.requires_grad_(False)
    optimizer = adam_for(generator)

    def step():
        with torch.enable_grad():
            return stepped(optimizer, -critic(generator(normal(batch, 64))).mean())
    return ready(step, has_loss=True)


# -- oneDNN in the layouts that it wants, which PyTorch calls mkldnn ------------------------------------------------------------
#
# What comes back stays in that layout. Weights are laid out before the clock starts.

ONEDNN = {}


def onednn(function):
    ONEDNN[function.__name__] = function
    return function


def packed_convolution(weight, shape, stride, padding, groups):
    return torch._C._nn.mkldnn_reorder_conv2d_weight(  # pylint: disable=protected-access
        weight.to_mkldnn(), [padding] * 2, [stride] * 2, [1, 1], groups, list(shape))


def blocked(*shape):
    """A tensor as a convolution of oneDNN leaves it."""
    channels = shape[1]
    weight = packed_convolution(normal(channels, channels, 1, 1), shape, 1, 0, 1)
    return torch.conv2d(normal(*shape).to_mkldnn(), weight, None, [1, 1], [0, 0], [1, 1], 1)


@onednn
def conv2d(n, channels, h, w, out, size, stride, padding, groups):  # pylint: disable=function-redefined
    x, bias = blocked(n, channels, h, w), normal(out).to_mkldnn()
    weight = packed_convolution(normal(out, channels // groups, size, size), (n, channels, h, w), stride, padding, groups)
    return ready(lambda: torch.conv2d(x, weight, bias, [stride] * 2, [padding] * 2, [1, 1], groups))


def packed_product(m, k, n, bias):
    x, weight = normal(m, k), torch.ops.mkldnn._reorder_linear_weight(normal(n, k), m)  # pylint: disable=protected-access
    product = torch.ops.mkldnn._linear_pointwise  # pylint: disable=protected-access
    return ready(lambda: product(x, weight, bias, "none", [], ""))


@onednn
def matmul(batch, m, k, n, transposed, bf16):  # pylint: disable=function-redefined
    del transposed  # the right factor is laid out anew anyway
    if batch or bf16:
        raise Cannot("only one product in f32 has its right factor laid out in advance")
    return packed_product(m, k, n, None)


@onednn
def linear(m, k, n):  # pylint: disable=function-redefined
    return packed_product(m, k, n, normal(n))


def onednn_model(name, make, data):
    """Inference: layers that oneDNN has are replaced; the input goes in its layout where all layers take that."""
    def inference(batch, *sizes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own use of TorchScript
            network = mkldnn.to_mkldnn(make(*sizes).eval())
        x, _ = data(batch, *sizes)

        def run_with(inputs):
            with torch.inference_mode():
                return network(inputs)
        forms = ([x.to_mkldnn()] if x.is_floating_point() else []) + [x]
        problem = None
        for inputs in forms:
            try:
                for _ in range(4):  # what TorchScript compiles, it compiles within these
                    run_with(inputs)
                return ready(lambda: run_with(inputs))  # pylint: disable=cell-var-from-loop
            except (RuntimeError, NotImplementedError) as refused:
                problem = refused
        raise Cannot(" ".join(str(problem).split())[:160])
    ONEDNN[name + "_infer"] = inference


for model_name, parts in MODELS.items():
    onednn_model(model_name, *parts)


# -- the conversation --------------------------------------------------------------------------------------------------------

WARM_UPS = 15 if ON_GPU else 1


def wait():
    if ON_GPU:
        torch.cuda.synchronize(DEVICE)


def recorded(run):
    """A CUDA graph of one repetition, after some on a stream of its own, as PyTorch wants it."""
    stream = torch.cuda.Stream(DEVICE)
    stream.wait_stream(torch.cuda.current_stream(DEVICE))
    with torch.cuda.stream(stream):
        for _ in range(4):
            run()
    torch.cuda.current_stream(DEVICE).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run()

    def replay():
        graph.replay()
        return result
    replay.host_only = getattr(run, "host_only", False)
    replay.has_loss = getattr(run, "has_loss", False)
    return replay


class Case:
    """What is measured at the moment."""

    def __init__(self, run):
        self.run = run
        self.host_only = getattr(run, "host_only", False)
        self.has_loss = getattr(run, "has_loss", False)
        self.loss = math.nan
        self.seconds = 0.0

    def repeat_host(self, count):
        """Seconds of `count` repetitions without those in which the device is waited for."""
        total = 0.0
        for _ in range(count):
            begin = time.perf_counter()
            self.run()
            total += time.perf_counter() - begin
            wait()
        return total

    def repeat_all(self, count):
        result = None
        begin = time.perf_counter()
        for _ in range(count):
            result = self.run()
        if self.has_loss:
            self.loss = float(result)
        wait()
        return time.perf_counter() - begin

    def repeat(self, count):
        """Seconds of one repetition."""
        self.seconds = (self.repeat_host(count) if self.host_only else self.repeat_all(count)) / count
        return self.seconds

    def warm_up(self):
        """The loss of the first repetition; then until 30 ms have gone."""
        self.repeat(1)
        first, total, count, done = self.loss, 0.0, 1, 0
        while total < 0.03 or done < WARM_UPS:
            total += self.repeat(count) * count
            done += count
            count *= 2
            if total > 1:
                break
        return first


def prepared(name, arguments):
    """The case, compiled and recorded as this peer does it."""
    name, _, dtype = name.partition("@")
    dtype_of_case[0] = DTYPES[dtype or "f32"]
    with DEVICE if ON_GPU else contextlib.nullcontext():
        run = (ONEDNN if WAY == "onednn" else KINDS)[name](*arguments)
    if not getattr(run, "is_ready", False):
        run = compiled(run)
    return recorded(run) if WAY == "cudagraph" else run


def let_go():
    """What the case before has left."""
    gc.collect()
    if WAY in ("compile", "cudagraph"):
        torch._dynamo.reset()  # pylint: disable=protected-access
    if ON_GPU:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(DEVICE)


def begin(words):
    """The reply to "case", and the case. A way that cannot says why; to eager PyTorch that is an error."""
    if words[1].partition("@")[0] not in (ONEDNN if WAY == "onednn" else KINDS):
        return "missing", None
    let_go()
    try:
        case = Case(prepared(words[1], [int(word) for word in words[2:]]))
        return f"ready {case.warm_up():.9g}", case
    except Cannot as problem:
        return f"missing {problem}", None
    except Exception as problem:  # pylint: disable=broad-exception-caught
        if WAY == "eager":
            raise
        return "missing " + " ".join(str(problem).split())[:240], None


def answer(words, case):
    """The reply to a line, and the case that is prepared after it."""
    if words[0] == "case":
        return begin(words)
    if words[0] == "run":
        count = max(1, round(float(words[1]) / case.seconds))
        return f"{case.repeat(count):.9g} {case.loss:.9g}", case
    return f"ended {torch.cuda.max_memory_allocated(DEVICE)}" if ON_GPU else "ended", None


def set_precision():
    if PRECISION == "default":
        return
    torch.backends.cuda.matmul.allow_tf32 = PRECISION != "highest"
    torch.backends.cudnn.allow_tf32 = PRECISION != "highest"


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    set_precision()
    if ON_GPU:
        torch.cuda.set_device(DEVICE)
    device = f", {torch.cuda.get_device_name(DEVICE)}" if ON_GPU else ""
    precision = f", precision {PRECISION}" if PRECISION != "default" else ""
    if WAY == "onednn" and (ON_GPU or not torch.backends.mkldnn.is_available()):
        print("absent it has no oneDNN for this device", flush=True)
        return
    version = re.search(r"MKL-DNN v([0-9.]+)", torch.__config__.show()) if WAY == "onednn" else None
    inner = f"oneDNN {version.group(1)} of " if version else ""
    print(f"{inner}torch {torch.__version__}{device}{precision}", flush=True)
    case = None
    for line in sys.stdin:
        try:
            reply, case = answer(line.split(), case)
        except (RuntimeError, ValueError, TypeError) as problem:
            reply = "error " + " ".join(str(problem).split())
        print(reply, flush=True)


if __name__ == "__main__":
    main()
