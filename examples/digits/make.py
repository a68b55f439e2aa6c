#!/usr/bin/env python3
"""Trains, prunes and writes the digits example: make.py [--check].

A four-layer perceptron for scikit-learn's 8x8 digits. Each layer is pruned in
its own way and the network is then fine-tuned with the masks held:

    fc1  64 -> 256   2:4 along the inputs
    fc2 256 -> 256   16x16 blocks, a quarter of them kept
    fc3 256 -> 128   unstructured, 10 % of the weights kept
    fc4 128 -> 10    dense

Written beside this script: model.mlir (linalg on tensors, any batch),
weights.safetensors, test.safetensors (inputs, labels and our logits of the
held-out digits) and expected.json (accuracies and patterns). With --check
nothing is written: the files must be what this script makes.

The result is the same on every machine. Matrix products take operands rounded
to 20-bit multiples of a power of two, so every sum is exact in double precision
whatever order the BLAS adds in, and the only random source is MT19937, whose
stream numpy keeps frozen.
"""

import argparse
import json
import pathlib
import struct
import sys

import numpy
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).resolve().parent
SIZES = [64, 256, 256, 128, 10]
PATTERNS = ["nm", "block", "unstructured", "dense"]
TRAIN = 1437
BATCH = 479  # Divides TRAIN, so that every step sees as much data.
DENSE_STEPS, TUNE_STEPS = 300, 300


def grid(a):
    """a rounded to 20 significant bits below its largest magnitude."""
    _, exponent = numpy.frexp(numpy.max(numpy.abs(a)))
    scale = 2.0 ** (20 - int(exponent))
    return numpy.rint(a * scale) / scale


def product(a, b):
    """a @ b, exact for the rounded operands: 20 + 20 + log2(1437) < 53 bits."""
    return grid(a) @ grid(b)


def forward(x, layers):
    """The activations of every layer; x is batch x 64."""
    activations = [x]
    for index, (weight, bias) in enumerate(layers):
        y = product(activations[-1], weight.T) + bias
        activations.append(numpy.maximum(y, 0) if index + 1 < len(layers) else y)
    return activations


def gradients(x, labels, layers):
    """Of the mean cross entropy with respect to each weight and bias."""
    activations = forward(x, layers)
    logits = activations[-1]
    p = numpy.exp(grid(logits - logits.max(axis=1, keepdims=True)))
    p = grid(p)
    delta = p / product(p, numpy.ones((p.shape[1], 1)))
    delta[numpy.arange(len(x)), labels] -= 1
    delta /= len(x)
    result = []
    for index in range(len(layers) - 1, -1, -1):
        bias = product(numpy.ones((1, len(x))), delta)[0]
        result.append((product(delta.T, activations[index]), bias))
        if index:
            delta = product(delta, layers[index][0]) * (activations[index] > 0)
    return result[::-1]


def train(x, labels, layers, masks, steps, rate, random):
    """Adam with a linear decay of the rate; masked weights stay zero."""
    moments = [[(numpy.zeros_like(p), numpy.zeros_like(p)) for p in layer] for layer in layers]
    beta1, beta2 = 0.9, 0.999
    power1 = power2 = 1.0  # Running products: pow() differs between C libraries.
    order = None
    for step in range(steps):
        at = step * BATCH % TRAIN
        if at == 0:
            order = random.permutation(TRAIN)
        batch = order[at : at + BATCH]
        now = rate * (1 - step / steps)
        power1, power2 = power1 * beta1, power2 * beta2
        for index, grads in enumerate(gradients(x[batch], labels[batch], layers)):
            updated = []
            for kind, (parameter, grad) in enumerate(zip(layers[index], grads)):
                m, v = moments[index][kind]
                m = beta1 * m + (1 - beta1) * grad
                v = beta2 * v + (1 - beta2) * grad * grad
                moments[index][kind] = (m, v)
                m = m / (1 - power1)
                v = v / (1 - power2)
                parameter = parameter - now * m / (numpy.sqrt(v) + 1e-8)
                updated.append(parameter)
            layers[index] = (updated[0] * masks[index], updated[1])
    return layers


def largest(scores, count):
    """A mask of the `count` largest scores; ties go to the lower index."""
    order = numpy.argsort(-scores.ravel(), kind="stable")
    mask = numpy.zeros(scores.size)
    mask[order[:count]] = 1
    return mask.reshape(scores.shape)


def mask_of(weight, pattern):
    """Which weights a pattern keeps, by magnitude."""
    m, k = weight.shape
    if pattern == "nm":
        groups = numpy.abs(weight).reshape(-1, 4)
        order = numpy.argsort(-groups, axis=1, kind="stable")
        mask = numpy.zeros(groups.shape)
        numpy.put_along_axis(mask, order[:, :2], 1, axis=1)
        return mask.reshape(m, k)
    if pattern == "block":
        tiles = numpy.abs(grid(weight)).reshape(m // 16, 16, k // 16, 16).sum(axis=(1, 3))
        return numpy.kron(largest(tiles, tiles.size // 4), numpy.ones((16, 16)))
    if pattern == "unstructured":
        return largest(numpy.abs(weight), weight.size // 10)
    return numpy.ones(weight.shape)


def stored(layers):
    """What is stored: weights in f16, biases in f32."""
    return [(w.astype(numpy.float16), b.astype(numpy.float32)) for w, b in layers]


def infer(x, layers):
    """The stored network as model.mlir computes it: f16 operands, wide sums, the
    bias and relu in f32, the result in f16."""
    for index, (weight, bias) in enumerate(layers):
        y = x.astype(numpy.float64) @ weight.T.astype(numpy.float64)
        y = y.astype(numpy.float32) + bias
        if index + 1 < len(layers):
            y = numpy.maximum(y, numpy.float32(0))
        x = y.astype(numpy.float16)
    return x


def accuracy(logits, labels):
    return round(float((logits.argmax(axis=1) == labels).mean()), 4)


def safetensors(tensors):
    """The bytes of a safetensors file; tensors is a list of (name, array)."""
    types = {"float16": "F16", "float32": "F32", "uint8": "U8"}
    header, offset = {}, 0
    for name, array in tensors:
        header[name] = {
            "dtype": types[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for _, a in tensors)


def mlir(layers):
    """The network as linalg on tensors; the weights are resources at the end."""
    lines = [
        "// The pruned digits network, written by make.py. X is batch x 64, the result",
        "// batch x 10; weights are out x in, as torch keeps them.",
        "#x = affine_map<(n, m, k) -> (n, k)>",
        "#w = affine_map<(n, m, k) -> (m, k)>",
        "#y = affine_map<(n, m, k) -> (n, m)>",
        "#nm = affine_map<(n, m) -> (n, m)>",
        "#bias = affine_map<(n, m) -> (m)>",
        "",
        "func.func @digits(%x0: tensor<?x64xf16>) -> tensor<?x10xf16> {",
        "  %c0 = arith.constant 0 : index",
        "  %zero = arith.constant 0.0 : f32",
        "  %n = tensor.dim %x0, %c0 : tensor<?x64xf16>",
    ]
    for index, (weight, _) in enumerate(layers):
        m, k = weight.shape
        layer = f"fc{index + 1}"
        last = index + 1 == len(layers)
        lines += [
            "",
            f"  // {layer}: {PATTERNS[index]}",
            f"  %w{index} = arith.constant dense_resource<{layer}_weight> : tensor<{m}x{k}xf16>",
            f"  %b{index} = arith.constant dense_resource<{layer}_bias> : tensor<{m}xf32>",
            f"  %empty{index} = tensor.empty(%n) : tensor<?x{m}xf32>",
            f"  %init{index} = linalg.fill ins(%zero : f32) outs(%empty{index} : tensor<?x{m}xf32>) -> tensor<?x{m}xf32>",
            f"  %acc{index} = linalg.matmul indexing_maps = [#x, #w, #y]",
            f"    ins(%x{index}, %w{index} : tensor<?x{k}xf16>, tensor<{m}x{k}xf16>)",
            f"    outs(%init{index} : tensor<?x{m}xf32>) -> tensor<?x{m}xf32>",
            f"  %out{index} = tensor.empty(%n) : tensor<?x{m}xf16>",
            f"  %x{index + 1} = linalg.generic {{indexing_maps = [#nm, #bias, #nm], iterator_types = [\"parallel\", \"parallel\"]}}",
            f"    ins(%acc{index}, %b{index} : tensor<?x{m}xf32>, tensor<{m}xf32>) outs(%out{index} : tensor<?x{m}xf16>) {{",
            "  ^bb0(%acc: f32, %b: f32, %out: f16):",
            "    %sum = arith.addf %acc, %b : f32",
        ]
        if last:
            lines.append("    %y = arith.truncf %sum : f32 to f16")
        else:
            lines.append("    %relu = arith.maximumf %sum, %zero : f32")
            lines.append("    %y = arith.truncf %relu : f32 to f16")
        lines += ["    linalg.yield %y : f16", f"  }} -> tensor<?x{m}xf16>"]
    lines += [f"  return %x{len(layers)} : tensor<?x10xf16>", "}", "", "{-#", "  dialect_resources: {", "    builtin: {"]
    blobs = []
    for index, (weight, bias) in enumerate(layers):
        for kind, array in (("weight", weight), ("bias", bias)):
            # The blob begins with its alignment as a little-endian u32.
            data = struct.pack("<I", array.itemsize) + array.tobytes()
            blobs.append(f'      fc{index + 1}_{kind}: "0x{data.hex().upper()}"')
    lines += [",\n".join(blobs), "    }", "  }", "#-}", ""]
    return "\n".join(lines).encode()


def build():
    """Trains and prunes; returns the files as {name: bytes}."""
    digits = load_digits()
    random = numpy.random.RandomState(20)
    order = random.permutation(len(digits.target))
    x = digits.data[order] / 16.0
    labels = digits.target[order]
    train_x, train_y, test_x, test_y = x[:TRAIN], labels[:TRAIN], x[TRAIN:], labels[TRAIN:]

    layers = []
    for fan_in, fan_out in zip(SIZES, SIZES[1:]):
        bound = numpy.sqrt(6.0 / fan_in)
        layers.append((random.uniform(-bound, bound, (fan_out, fan_in)), numpy.zeros(fan_out)))
    ones = [numpy.ones(w.shape) for w, _ in layers]
    layers = train(train_x, train_y, layers, ones, DENSE_STEPS, 2e-3, random)
    inputs = test_x.astype(numpy.float16)
    dense = accuracy(infer(inputs, stored(layers)), test_y)

    masks = [mask_of(w, pattern) for (w, _), pattern in zip(layers, PATTERNS)]
    layers = [(w * mask, b) for (w, b), mask in zip(layers, masks)]
    at_once = accuracy(infer(inputs, stored(layers)), test_y)
    layers = stored(train(train_x, train_y, layers, masks, TUNE_STEPS, 1e-3, random))
    logits = infer(inputs, layers)

    names = [f"fc{i + 1}" for i in range(len(layers))]
    expected = {
        "test_digits": len(test_y),
        "dense_accuracy": dense,
        "pruned_accuracy_before_tuning": at_once,
        "pruned_accuracy": accuracy(logits, test_y),
        "layers": {
            name: {
                "shape": list(weight.shape),
                "pattern": pattern,
                "nnz": int(numpy.count_nonzero(weight)),
                "sparsity_ratio": round(1 - numpy.count_nonzero(weight) / weight.size, 4),
            }
            for name, (weight, _), pattern in zip(names, layers, PATTERNS)
        },
    }
    tensors = []
    for name, (weight, bias) in zip(names, layers):
        tensors += [(f"{name}.weight", weight), (f"{name}.bias", bias)]
    return {
        "model.mlir": mlir(layers),
        "weights.safetensors": safetensors(tensors),
        "test.safetensors": safetensors(
            [("inputs", inputs), ("logits", logits), ("labels", test_y.astype(numpy.uint8))]
        ),
        "expected.json": (json.dumps(expected, indent=2) + "\n").encode(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the files beside this script")
    options = parser.parse_args()
    files = build()
    sys.stdout.write(files["expected.json"].decode())
    different = [n for n, data in files.items() if not (HERE / n).exists() or (HERE / n).read_bytes() != data]
    if options.check:
        for name in different:
            print(f"error: {name} is not what this script makes", file=sys.stderr)
        return 1 if different else 0
    for name, data in files.items():
        (HERE / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
