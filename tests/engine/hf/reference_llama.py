#!/usr/bin/env python3
"""An independent Llama in PyTorch, written from the published architecture, to compare the engine with.

usage: reference_llama.py make DIR    tiny random models as Hugging Face directories, with what they compute
       reference_llama.py check DIR   every exported directory computes what its original does, bit for bit

DIR/<case>/model is the directory, DIR/<case>/expected.safetensors holds, in fp64 unless said otherwise:
  tokens (steps, sequences, S + 1) i32      optimizer: learning rate, betas, eps, weight decay, clipping norm
  logits (sequences * S, V) and grad.<name> of the first step, losses (steps), after.<name> after the last
Weights are what the files hold; all arithmetic is fp64. Exits with 77 where torch is missing.
"""

import json
import math
import pathlib
import struct
import sys

try:
    import numpy as np
    import torch
except ImportError as missing:
    print(missing)
    sys.exit(77)

CONTEXT, SEQUENCES, STEPS = 32, 2, 10
# An eps above the rounding noise of f32 gradients: below it AdamW turns noise into whole steps on both sides.
OPTIMIZER = [1e-3, 0.9, 0.95, 1e-5, 0.1, 1.0]
SIZES = {"vocab_size": 96, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 128}
LONG = [1.0, 1.3, 2.0, 4.0]
SHORT = [1.0, 1.0, 1.1, 1.2]

# Changes to config.json, and how the weights are stored. None removes a key.
CASES = {
    "untied_gqa1": ({"num_key_value_heads": None}, {}),
    "untied_gqa4": ({}, {"shards": 3}),
    "tied_gqa8": ({"num_key_value_heads": 1, "tie_word_embeddings": True}, {}),
    "tied_and_stored": ({"tie_word_embeddings": True}, {"store_head": True, "shards": 2}),
    "wide_heads": ({"head_dim": 16, "rms_norm_eps": 1e-6}, {}),
    "bf16": ({}, {"dtype": "BF16", "shards": 2}),
    "f16": ({"num_attention_heads": 4}, {"dtype": "F16"}),
    "linear": ({"rope_scaling": {"type": "linear", "factor": 4.0}}, {}),
    "dynamic": ({"max_position_embeddings": 16, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, {}),
    "dynamic_within": ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, {}),
    "yarn": ({"head_dim": 32, "rope_scaling": {
        "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}}, {}),
    "yarn_all_fields": ({"rope_theta": None, "head_dim": 32, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 5000.0, "factor": 8.0, "original_max_position_embeddings": 512,
        "beta_fast": 16, "beta_slow": 2, "mscale": 0.7, "mscale_all_dim": 1.4, "truncate": False}}, {}),
    "longrope_beyond": ({"original_max_position_embeddings": 31, "rope_scaling": {
        "type": "su", "short_factor": SHORT, "long_factor": LONG}}, {}),
    "longrope_within": ({"rope_theta": None, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 20000.0, "short_factor": SHORT, "long_factor": LONG, "factor": 4.0,
        "original_max_position_embeddings": 32}}, {}),
    "llama3": ({"rope_theta": 500.0, "head_dim": 32, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}}, {}),
}


# ---- safetensors: 8 bytes of length, JSON, data

NUMPY = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I32": np.int32}


def to_bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def from_bf16(x):
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, array)"""
    header, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, (dtype, array) in tensors.items():
        blob = np.ascontiguousarray(array, dtype=NUMPY[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert header.pop("__metadata__")["format"] == "pt"
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = np.frombuffer(data[begin:end], NUMPY[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = from_bf16(array) if entry["dtype"] == "BF16" else array
    return tensors


def read_directory(path):
    """config, name -> array"""
    index = path / "model.safetensors.index.json"
    if not index.exists():
        weights = read_safetensors(path / "model.safetensors")
    else:
        weights = {}
        weight_map = json.loads(index.read_text())["weight_map"]
        for file in sorted(set(weight_map.values())):
            held = read_safetensors(path / file)
            assert all(weight_map[name] == file for name in held)
            weights.update(held)
        assert set(weights) == set(weight_map)
    return json.loads((path / "config.json").read_text()), weights


# ---- rotary embedding

def inverse_frequencies(config, length):
    """(D / 2 frequencies, factor of cos and sin) at a sequence of `length` tokens"""
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {"rope_type": "default"})
    kind = rope.get("rope_type", rope.get("type"))
    base = rope.get("rope_theta", config.get("rope_theta"))
    dim = head_dim(config)
    longest = config["max_position_embeddings"]
    original = config.get("original_max_position_embeddings") or rope.get("original_max_position_embeddings") or longest
    factor = rope.get("factor") or longest / original
    exponents = np.arange(0, dim, 2, dtype=np.float64) / dim
    if kind == "dynamic":
        grown = max(length, longest)
        base = base * (factor * grown / longest - (factor - 1)) ** (dim / (dim - 2))
    inverse = 1 / base ** exponents
    if kind in ("default", "dynamic"):
        return inverse, 1.0
    if kind == "linear":
        return inverse / factor, 1.0
    if kind == "llama3":
        wavelength = 2 * math.pi / inverse
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        smooth = (original / wavelength - low) / (high - low)
        blended = (1 - smooth) * inverse / factor + smooth * inverse
        result = np.where(wavelength > original / low, inverse / factor, blended)
        return np.where(wavelength < original / high, inverse, result), 1.0
    if kind in ("longrope", "su"):
        divisors = rope["long_factor"] if length > original else rope["short_factor"]
        default = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
        return inverse / np.array(divisors, dtype=np.float64), rope.get("attention_factor", default)
    assert kind == "yarn", kind

    def pair(rotations):
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair(rope.get("beta_fast", 32)), pair(rope.get("beta_slow", 1))
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)

    def scale(mscale):
        return 0.1 * mscale * math.log(factor) + 1 if factor > 1 else 1.0

    default = scale(rope["mscale"]) / scale(rope["mscale_all_dim"]) if "mscale" in rope else scale(1)
    return inverse / factor * ramp + inverse * (1 - ramp), rope.get("attention_factor", default)


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


# ---- the model

def rms_norm(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rotate(x, cos, sin):
    """x (B, S, H, D): pairs are (i, i + D / 2)"""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def logits_of(config, weights, tokens):
    """tokens (B, S) -> (B, S, V)"""
    B, S = tokens.shape
    Hq = config["num_attention_heads"]
    Hk, D = config.get("num_key_value_heads") or Hq, head_dim(config)
    inverse, scale = inverse_frequencies(config, S)
    angles = torch.outer(torch.arange(S, dtype=torch.float64), torch.from_numpy(inverse))
    cos, sin = (scale * f(angles)[None, :, None, :] for f in (torch.cos, torch.sin))
    mask = torch.full((S, S), -math.inf, dtype=torch.float64).triu(1)
    eps = config["rms_norm_eps"]
    x = weights["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        w = {name: weights[f"model.layers.{layer}.{name}.weight"] for name in LAYER}
        h = rms_norm(x, w["input_layernorm"], eps)
        q = rotate((h @ w["self_attn.q_proj"].T).view(B, S, Hq, D), cos, sin)
        k = rotate((h @ w["self_attn.k_proj"].T).view(B, S, Hk, D), cos, sin)
        v = (h @ w["self_attn.v_proj"].T).view(B, S, Hk, D)
        k, v = (t.repeat_interleave(Hq // Hk, dim=2) for t in (k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(D) + mask
        out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).reshape(B, S, Hq * D)
        x = x + out @ w["self_attn.o_proj"].T
        h = rms_norm(x, w["post_attention_layernorm"], eps)
        gate = h @ w["mlp.gate_proj"].T
        x = x + (gate * torch.sigmoid(gate) * (h @ w["mlp.up_proj"].T)) @ w["mlp.down_proj"].T
    head = "model.embed_tokens.weight" if config.get("tie_word_embeddings") else "lm_head.weight"
    return rms_norm(x, weights["model.norm.weight"], eps) @ weights[head].T


LAYER = ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
         "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]


def shapes_of(config):
    C, F, V, D = config["hidden_size"], config["intermediate_size"], config["vocab_size"], head_dim(config)
    Hq = config["num_attention_heads"]
    Hk = config.get("num_key_value_heads") or Hq
    layer = dict(zip(LAYER, [(C,), (Hq * D, C), (Hk * D, C), (Hk * D, C), (C, Hq * D), (C,), (F, C), (F, C), (C, F)]))
    shapes = {"model.embed_tokens.weight": (V, C)}
    for i in range(config["num_hidden_layers"]):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    shapes["model.norm.weight"] = (C,)
    if not config.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = (V, C)
    return shapes


def random_weights(config, rng):
    def draw(shape):
        spread = rng.standard_normal(shape)
        return (1 + 0.1 * spread if len(shape) == 1 else spread / math.sqrt(shape[1])).astype(np.float32)

    return {name: draw(shape) for name, shape in shapes_of(config).items()}


# ---- training

def train(config, arrays, tokens):
    """Ten AdamW steps; what expected.safetensors holds."""
    weights = {name: torch.from_numpy(a.astype(np.float64)).requires_grad_() for name, a in arrays.items()}
    rate, beta1, beta2, eps, decay, clip = OPTIMIZER
    norms = [w for w in weights.values() if w.dim() == 1]
    matrices = [w for w in weights.values() if w.dim() > 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": decay}, {"params": norms, "weight_decay": 0}],
                                  lr=rate, betas=(beta1, beta2), eps=eps)
    expected, losses = {}, []
    for step in range(STEPS):
        batch = torch.from_numpy(tokens[step].astype(np.int64))
        logits = logits_of(config, weights, batch[:, :-1]).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            expected["logits"] = logits.detach().numpy()
            expected |= {f"grad.{name}": w.grad.numpy().copy() for name, w in weights.items()}
        norm = torch.sqrt(sum((w.grad ** 2).sum() for w in weights.values()))
        for w in weights.values():
            w.grad *= min(1.0, clip / norm.item())
        optimizer.step()
    expected |= {f"after.{name}": w.detach().numpy() for name, w in weights.items()}
    return expected | {"losses": np.array(losses)}


# ---- the two commands

def store(path, config, arrays, how):
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config, indent=2))
    (path / "tokenizer.json").write_text('{"version": "1.0"}')
    (path / "LICENSE").write_text("as you like it\n")
    (path / "pytorch_model.bin").write_bytes(b"weights of another kind")
    dtype = how.get("dtype", "F32")
    tensors = {name: (dtype, to_bf16(a) if dtype == "BF16" else a.astype(NUMPY[dtype])) for name, a in arrays.items()}
    if how.get("store_head"):
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    if "shards" not in how:
        write_safetensors(path / "model.safetensors", tensors)
        return
    weight_map, count = {}, how["shards"]
    for i in range(count):
        file = f"model-{i + 1:05}-of-{count:05}.safetensors"
        part = {name: tensor for n, (name, tensor) in enumerate(tensors.items()) if n % count == i}
        write_safetensors(path / file, part)
        weight_map |= {name: file for name in part}
    text = json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map})
    (path / "model.safetensors.index.json").write_text(text)


def config_of(name):
    changes, _ = CASES[name]
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rope_theta": 10000.0,
              "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "attention_bias": False, "eos_token_id": 2, **SIZES}
    return {key: value for key, value in {**config, **changes}.items() if value is not None}


def make_case(root, number, name):
    config = config_of(name)
    rng = np.random.default_rng(number)
    store(root / name / "model", config, random_weights(config, rng), CASES[name][1])
    tokens = rng.integers(0, config["vocab_size"], (STEPS, SEQUENCES, CONTEXT + 1)).astype(np.int32)
    _, arrays = read_directory(root / name / "model")
    if config["tie_word_embeddings"]:
        arrays.pop("lm_head.weight", None)
    expected = {key: ("F64", value) for key, value in train(config, arrays, tokens).items()}
    expected |= {"tokens": ("I32", tokens), "optimizer": ("F64", np.array(OPTIMIZER))}
    write_safetensors(root / name / "expected.safetensors", expected)


def logits_from(directory, tokens):
    config, arrays = read_directory(directory)
    weights = {name: torch.from_numpy(a.astype(np.float64)) for name, a in arrays.items()}
    return logits_of(config, weights, tokens)


def check_case(root, name):
    tokens = read_safetensors(root / name / "expected.safetensors")["tokens"]
    tokens = torch.from_numpy(tokens[0, :, :-1].astype(np.int64))
    exported = root / name / "exported"
    same = torch.equal(logits_from(exported, tokens), logits_from(root / name / "model", tokens))
    carried = sorted(p.name for p in exported.iterdir() if p.suffix != ".safetensors" and "index" not in p.name)
    if not same or carried != ["LICENSE", "config.json", "tokenizer.json"]:
        print(f"{name}: logits {'equal' if same else 'differ'}, files {carried}")
        return False
    return True


def main(command, root):
    torch.set_num_threads(1)
    root = pathlib.Path(root)
    if command == "make":
        for number, name in enumerate(CASES):
            make_case(root, number, name)
        return 0
    return 0 if all([check_case(root, name) for name in CASES]) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
