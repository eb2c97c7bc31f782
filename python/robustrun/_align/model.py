"""The reference computation of the alignment test: a small transformer that trains a few steps.

Weights and inputs are computed from integers, without a random generator. Every result is hashed,
so two machines either agree in every bit or not; there is no tolerance.

On CPUs with portable settings it uses only operations that IEEE 754 rounds exactly (sums, products,
quotients, roots) and matrix products of a library set to compute the same bits everywhere: the C
library's exp and tanh differ between processors. Otherwise it uses softmax and GELU as well.
"""

import ctypes
import hashlib

LAYERS, HEADS = 4, 4
# width, tokens per sequence, sequences
SMALL, LARGE = (128, 32, 4), (1024, 256, 4)
_PRIME = 2147483647  # 2^31 - 1: all products below stay under 2^47
_FACTOR = 48271
_BITS = 16


def digest(tensor):
    """A hash of the tensor's bytes, in hexadecimal."""
    tensor = tensor.detach().cpu().contiguous()
    data = ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())
    return hashlib.sha256(data).hexdigest()[:32]


def numbers(torch, shape, seed):
    """A tensor of well mixed numbers in [-1, 1), exact in float32 and the same on every machine."""
    count = 1
    for size in shape:
        count *= size
    value = torch.arange(count, dtype=torch.int64)
    for _ in range(3):
        value = (value * _FACTOR + seed * 16807 + 1) % _PRIME
    value = (value >> 7) % (1 << _BITS)
    return ((value - (1 << _BITS - 1)).to(torch.float32) / float(1 << _BITS - 1)).reshape(shape)


class Model:
    """One precision on one device. `exact`: without exp and tanh."""

    def __init__(self, torch, device, precision, exact, size):
        self.torch, self.exact = torch, exact
        self.width, self.length, self.count = size
        self.device, self.precision = device, precision
        width = self.width
        shapes = {"attention": (width, 3 * width), "projection": (width, width),
                  "up": (width, 4 * width), "down": (4 * width, width)}
        self.layers = [
            {name: self._tensor(shape, 100 * layer + number, 1.0 / shape[0] ** 0.5)
             for number, (name, shape) in enumerate(shapes.items())}
            for layer in range(LAYERS)
        ]
        self.speeds = [{name: torch.zeros_like(weight) for name, weight in layer.items()}
                       for layer in self.layers]
        for layer in self.layers:
            for weight in layer.values():
                weight.requires_grad_(True)
        self.goal = self._tensor((self.count, self.length, width), 9001)

    def _tensor(self, shape, seed, scale=1.0):
        made = numbers(self.torch, shape, seed) * scale
        return made.to(self.device, getattr(self.torch, self.precision))

    def train(self, steps, after_update=None):
        """Trains and yields (name, hash) of every result, in the order of computation."""
        for step in range(1, steps + 1):
            where = "%s step %d" % (self.precision, step)
            output = self._forward(self._tensor(self.goal.shape, 5000 + step))
            yield where + ", output", digest(output)
            error = output - self.goal
            (error * error).mean().backward()
            for number, layer in enumerate(self.layers, 1):
                gradients = [weight.grad.reshape(-1) for weight in layer.values()]
                yield "%s, gradient of layer %d" % (where, number), digest(
                    self.torch.cat(gradients))
            self._update()
            if after_update:
                after_update(self, step)
        for number, layer in enumerate(self.layers, 1):
            weights = [weight.reshape(-1) for weight in layer.values()]
            yield "%s, weights of layer %d" % (self.precision, number), digest(
                self.torch.cat(weights))

    def _forward(self, x):
        for layer in self.layers:
            query, key, value = self._heads(self._norm(x) @ layer["attention"])
            scores = query @ key.transpose(-1, -2) * (self.width // HEADS) ** -0.5
            mixed = (self._shares(scores) @ value).transpose(1, 2)
            x = x + mixed.reshape(self.count, self.length, self.width) @ layer["projection"]
            x = x + self._bend(self._norm(x) @ layer["up"]) @ layer["down"]
        return x

    def _heads(self, joint):
        split = joint.reshape(self.count, self.length, 3, HEADS, self.width // HEADS)
        return (split[:, :, part].transpose(1, 2) for part in range(3))

    def _norm(self, x):
        return x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt()

    def _shares(self, scores):
        if not self.exact:
            return scores.softmax(-1)
        positive = scores.relu() + 1e-3
        return positive / positive.sum(-1, keepdim=True)

    def _bend(self, x):
        return x.relu() if self.exact else self.torch.nn.functional.gelu(x)

    def _update(self):
        with self.torch.no_grad():
            for number, layer in enumerate(self.layers):
                for name, weight in layer.items():
                    speed = self.speeds[number][name]
                    speed.mul_(0.875).add_(weight.grad)
                    weight.sub_(speed * 0.0625)
                    weight.grad = None

    def flip_bit(self):
        """Flips one bit of one weight in the middle of the model, as a faulty memory cell would."""
        weight = self.layers[LAYERS // 2]["up"].data.reshape(-1)
        kind = self.torch.int16 if weight.element_size() == 2 else self.torch.int32
        words = weight.view(kind)
        words[words.numel() // 3] ^= 1 << 5
