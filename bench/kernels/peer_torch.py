#!/usr/bin/python3
"""The benchmarks' work in libtorch, for comparison in the same run.

usage: peer_torch.py THREADS [cpu|cuda]

Says {"ready": true} once torch is loaded. Then each line of its input is a work, a JSON object whose "work"
names one of WORKS and whose other members are its sizes, answered by {"ready": true}; or the word `run`,
which runs the last work once, answered by {"seconds": ...}, after `run cpu` CPU seconds per thread, after `run N`
those of one of N runs in a row. A failure is answered by {"error": "..."}.
"""

import json
import math
import os
import sys
import time


def say(**answer):
    print(json.dumps(answer), flush=True)


# OpenBLAS makes threads of its own, which torch.set_num_threads does not reach.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = sys.argv[1]

try:
    import torch
except ImportError as error:
    say(error=f"{sys.executable} has no torch ({error}): install python3-torch")
    sys.exit(1)

ON_GPU = sys.argv[2:] == ["cuda"]
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


# Debian's torch takes whatever BLAS is installed for products of f32.
if not ON_GPU and "/blas/libblas.so" in open("/proc/self/maps").read():
    print("the torch peer: products of f32 are 20 to 40 times slower by the reference BLAS of this machine; "
          "install libopenblas0-pthread", file=sys.stderr)


def randn(spec, *shape, dtype=None):
    return torch.randn(*shape).to(dtype or DTYPES[spec["dtype"]])


def linear_fwd(spec):
    x, w = randn(spec, spec["T"], spec["K"]), randn(spec, spec["N"], spec["K"])
    return lambda: torch.nn.functional.linear(x, w)


def linear_bwd_input(spec):
    d_y, w = randn(spec, spec["T"], spec["N"]), randn(spec, spec["N"], spec["K"])
    return lambda: d_y @ w


def linear_bwd_weight(spec):
    d_y, x = randn(spec, spec["T"], spec["N"]), randn(spec, spec["T"], spec["K"])
    d_w = torch.zeros(spec["N"], spec["K"], dtype=x.dtype)
    return lambda: d_w.addmm_(d_y.t(), x)


def turns(spec, forward, leaves, gradient):
    """The forward pass, or both where the work wants both."""
    backward = spec.get("backward", False)
    for x in leaves:
        x.requires_grad_(backward)

    def both():
        for x in leaves:
            x.grad = None
        forward().backward(gradient)

    return both if backward else forward


def causal_mask(tokens, dtype):
    return None if ON_GPU else torch.full((tokens, tokens), -math.inf).triu(1).to(dtype)


def causal_attention(q, k, v, mask):
    """q is (heads, tokens, D); fewer heads of k and v are shared. On a GPU torch's own fused kernel, on a CPU
    softmax(q k^T + mask) v as torch operations."""
    if ON_GPU:
        return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True,
                                                                enable_gqa=len(k) < len(q))[0]
    if len(k) < len(q):
        k, v = (x.repeat_interleave(len(q) // len(k), dim=0) for x in (k, v))
    return torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + mask, dim=-1) @ v


def attention(spec):
    S, Hq, Hk, D = spec["S"], spec["Hq"], spec["Hk"], spec["D"]
    q, k, v = randn(spec, Hq, S, D), randn(spec, Hk, S, D), randn(spec, Hk, S, D)
    d_out = randn(spec, Hq, S, D)
    mask = causal_mask(S, q.dtype)
    return turns(spec, lambda: causal_attention(q, k, v, mask), (q, k, v), d_out)


def norm(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def rmsnorm(spec):
    x, w = randn(spec, spec["T"], spec["C"]), randn(spec, spec["C"])
    d_y = randn(spec, spec["T"], spec["C"])
    return turns(spec, lambda: norm(x, w), (x, w), d_y)


def swiglu(spec):
    gate, up, d_h = (randn(spec, spec["T"], spec["F"]) for _ in range(3))
    return turns(spec, lambda: torch.nn.functional.silu(gate) * up, (gate, up), d_h)


def rotary(T, D, dtype):
    """cos and sin, (T, D)."""
    angles = torch.outer(torch.arange(T).float(), 1e4 ** (-torch.arange(0, D, 2).float() / D))
    return [torch.cat((f(angles), f(angles)), -1).to(dtype) for f in (torch.cos, torch.sin)]


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


def rope(spec):
    T, H, D = spec["T"], spec["H"], spec["D"]
    x = randn(spec, T, H, D)
    cos, sin = (a[:, None] for a in rotary(T, D, x.dtype))
    return lambda: rotate(x, cos, sin)


def add(spec):
    x, y = randn(spec, spec["size"]), randn(spec, spec["size"])
    return lambda: y.add_(x)


def adamw(spec):
    weight = torch.nn.Parameter(torch.randn(spec["size"]))
    weight.grad = torch.randn(spec["size"])
    optimizer = torch.optim.AdamW([weight], lr=1e-3, betas=(0.9, 0.95), foreach=True)
    return optimizer.step


def cross_entropy(spec):
    """Linear head and cross entropy, with all gradients."""
    T, C, V = spec["T"], spec["C"], spec["V"]
    x, w = randn(spec, T, C).requires_grad_(), randn(spec, V, C).requires_grad_()
    targets = torch.randint(V, (T,))

    def run():
        x.grad = w.grad = None
        logits = torch.nn.functional.linear(x, w).float()
        torch.nn.functional.cross_entropy(logits, targets).backward()

    return run


class Llama(torch.nn.Module):
    """Layers of RMSNorm, causal attention with rotary positions, and SwiGLU; an untied head."""

    def __init__(self, spec):
        super().__init__()
        C, H, F, V = spec["C"], spec["Hq"] * spec["D"], spec["F"], spec["V"]
        self.heads, self.kv_heads, self.head_dim = spec["Hq"], spec["Hk"], spec["D"]
        KV = self.kv_heads * self.head_dim

        def weight(rows, columns):
            return torch.nn.Parameter(torch.randn(rows, columns) * 0.02)

        def layer():
            return torch.nn.ParameterDict({
                "norm": torch.nn.Parameter(torch.ones(C)), "mlp_norm": torch.nn.Parameter(torch.ones(C)),
                "q": weight(H, C), "k": weight(KV, C), "v": weight(KV, C), "o": weight(C, H),
                "gate": weight(F, C), "up": weight(F, C), "down": weight(C, F)})

        self.layers = torch.nn.ModuleList(layer() for _ in range(spec["L"]))
        self.embedding, self.head = weight(V, C), weight(V, C)
        self.final_norm = torch.nn.Parameter(torch.ones(C))

    def attend(self, x, layer, cos, sin, mask):
        linear, T, D = torch.nn.functional.linear, x.shape[0], self.head_dim
        q, k, v = (linear(x, layer[name]).view(T, -1, D).transpose(0, 1) for name in "qkv")
        out = causal_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, mask)
        return linear(out.transpose(0, 1).reshape(T, self.heads * D), layer["o"])

    def forward(self, tokens, targets):
        functional = torch.nn.functional
        x = functional.embedding(tokens, self.embedding)
        cos, sin = rotary(len(tokens), self.head_dim, x.dtype)
        mask = causal_mask(len(tokens), x.dtype)
        for layer in self.layers:
            x = x + self.attend(norm(x, layer["norm"]), layer, cos, sin, mask)
            y = norm(x, layer["mlp_norm"])
            h = functional.silu(functional.linear(y, layer["gate"])) * functional.linear(y, layer["up"])
            x = x + functional.linear(h, layer["down"])
        logits = functional.linear(norm(x, self.final_norm), self.head)
        return functional.cross_entropy(logits.float(), targets)


def step(spec):
    """A training step: forward, backward, clipping and AdamW, all weights of the type asked for."""
    model = Llama(spec).to(DTYPES[spec["dtype"]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), foreach=True)
    tokens = torch.randint(spec["V"], (spec["T"] + 1,))

    def run():
        optimizer.zero_grad(set_to_none=True)
        model(tokens[:-1], tokens[1:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


WORKS = {f.__name__: f for f in (linear_fwd, linear_bwd_input, linear_bwd_weight, attention, rmsnorm, swiglu, rope,
                                 add, adamw, cross_entropy, step)}


def seconds_of(work, how):
    """One run by the wall clock, by CPU time per thread ("cpu"), or one of many (a number)."""
    times = int(how) if how.isdigit() else 1
    clock = time.process_time if how == "cpu" else time.perf_counter
    if ON_GPU:
        torch.cuda.synchronize()
    start = clock()
    for _ in range(times):
        work()
    if ON_GPU:
        torch.cuda.synchronize()
    return (clock() - start) / times / (torch.get_num_threads() if how == "cpu" else 1)


def main():
    torch.set_num_threads(int(sys.argv[1]))
    if ON_GPU:
        torch.set_default_device("cuda")
    torch.manual_seed(1)
    say(ready=True, torch=torch.__version__)
    work = None
    for line in sys.stdin:
        try:
            if line.startswith("run"):
                say(seconds=seconds_of(work, line[3:].strip()))
            else:
                spec = json.loads(line)
                work = None  # gives the last one's memory back first
                work = WORKS[spec["work"]](spec)
                say(ready=True)
        except Exception as error:  # whatever torch throws is an answer
            say(error=f"{line.strip()}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
