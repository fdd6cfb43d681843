#!/usr/bin/env python3
"""Rounds a checkpoint's matrices to 4 bits the simple way, for comparison with block formats.

Symmetric absmax: groups of 64 weights of a row, the scale is the largest magnitude / 15, and the
levels are the 16 odd numbers from -15 to 15 times the scale, so there is none for zero. The scale
is an fp16: 4.25 bits a weight. Router gates and vectors stay as they are. The result is a
checkpoint in F32 that holds the rounded weights; `smoe quality` measures it (docs/quality.md).
Needs numpy.

  absmax4.py models/tales /tmp/absmax4
"""
import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np

GROUP = 64


def rounded(x):
    rows, cols = x.shape
    if cols % GROUP:  # a short row is one group
        groups = x.reshape(rows, 1, cols)
    else:
        groups = x.reshape(rows, cols // GROUP, GROUP)
    scale = np.abs(groups).max(axis=2, keepdims=True) / 15
    scale = scale.astype(np.float16).astype(np.float32)
    safe = np.where(scale > 0, scale, 1)
    level = np.clip(2 * np.floor(groups / safe / 2) + 1, -15, 15)
    return (level * scale).reshape(rows, cols)


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    data = (source / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    out, tensors, offset = {}, [], 0
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + at for at in info["data_offsets"])
        if info["dtype"] == "BF16":
            bits = np.frombuffer(data[begin:end], "<u2").astype(np.uint32) << 16
            x = bits.view(np.float32)
        elif info["dtype"] == "F32":
            x = np.frombuffer(data[begin:end], "<f4")
        else:
            sys.exit(f"{name}: {info['dtype']} is not read")
        x = x.reshape(info["shape"])
        if x.ndim == 2 and not name.endswith(".gate.weight"):
            x = rounded(x)
        raw = np.ascontiguousarray(x, "<f4").tobytes()
        out[name] = {"dtype": "F32", "shape": info["shape"],
                     "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
        tensors.append(raw)
    target.mkdir(parents=True, exist_ok=True)
    text = json.dumps(out).encode()
    with open(target / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(tensors))
    for path in source.glob("*.json"):
        shutil.copy(path, target)


if __name__ == "__main__":
    main()
