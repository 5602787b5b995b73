#!/usr/bin/env python3
"""What an independent Llama in PyTorch (../hf/reference_llama.py) says after a prompt, to compare the engine with.

usage: greedy_llama.py MODEL PROMPT NEW_TOKENS OUT [CASE]

MODEL is a Hugging Face directory; with CASE, one of the reference's, it is made first. The program
draws a prompt of PROMPT tokens, or takes the bytes of the file @PROMPT, and continues it with the likeliest token, all in fp64: step by step with the keys and values of earlier
tokens; then one forward pass over all tokens must call each new one the likeliest. OUT is safetensors: tokens (prompt and new) i32; losses (one less) f64, of each token but the first;
margin (1) f64, by how much the least certain choice was ahead of the next one. Exits with 77 where torch is missing.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hf"))
import reference_llama as llama

import numpy as np
import torch


def next_logits(config, w, token, position, cache):
    """logits (V) after a token at `position`; cache: by layer, the keys and values of all tokens before"""
    Hq, D = config["num_attention_heads"], llama.head_dim(config)
    Hk, eps = config.get("num_key_value_heads") or Hq, config["rms_norm_eps"]
    inverse, scale = llama.inverse_frequencies(config, 1)
    angles = torch.from_numpy(position * inverse)[None]
    cos, sin = scale * torch.cos(angles), scale * torch.sin(angles)
    x = w["model.embed_tokens.weight"][token]
    for layer, (keys, values) in enumerate(cache):
        at = {name: w[f"model.layers.{layer}.{name}.weight"] for name in llama.LAYER}
        h = llama.rms_norm(x, at["input_layernorm"], eps)
        q = llama.rotate((at["self_attn.q_proj"] @ h).view(Hq, D), cos, sin)
        keys.append(llama.rotate((at["self_attn.k_proj"] @ h).view(Hk, D), cos, sin))
        values.append((at["self_attn.v_proj"] @ h).view(Hk, D))
        k, v = (torch.stack(rows).repeat_interleave(Hq // Hk, dim=1) for rows in (keys, values))
        weights = (torch.einsum("hd,shd->hs", q, k) / D ** 0.5).softmax(-1)
        x = x + at["self_attn.o_proj"] @ torch.einsum("hs,shd->hd", weights, v).reshape(-1)
        h = llama.rms_norm(x, at["post_attention_layernorm"], eps)
        gate = at["mlp.gate_proj"] @ h
        x = x + at["mlp.down_proj"] @ (gate * torch.sigmoid(gate) * (at["mlp.up_proj"] @ h))
    head = "model.embed_tokens.weight" if config.get("tie_word_embeddings") else "lm_head.weight"
    return w[head] @ llama.rms_norm(x, w["model.norm.weight"], eps)


def main(model, prompt, new_tokens, out, case=None):
    torch.set_num_threads(1)
    if case:
        made = llama.config_of(case)
        llama.store(pathlib.Path(model), made, llama.random_weights(made, np.random.default_rng(5)), llama.CASES[case][1])
    config, arrays = llama.read_directory(pathlib.Path(model))
    weights = {name: torch.from_numpy(a.astype(np.float64)) for name, a in arrays.items()}
    if prompt.startswith("@"):
        prompt = list(pathlib.Path(prompt[1:]).read_bytes())
    else:
        prompt = np.random.default_rng(1).integers(0, config["vocab_size"], int(prompt)).tolist()
    tokens, cache = [], [([], []) for _ in range(config["num_hidden_layers"])]
    while len(tokens) < len(prompt) + int(new_tokens):
        tokens.append(prompt[len(tokens)] if len(tokens) < len(prompt) else logits.argmax().item())
        logits = next_logits(config, weights, tokens[-1], len(tokens) - 1, cache)
    # One forward pass over all says that each token was the likeliest, and by how much.
    logits = llama.logits_of(config, weights, torch.tensor([tokens[:-1]]))[0]
    new = logits[len(prompt) - 1:]
    best = torch.topk(new, 2).values
    assert new.argmax(-1).tolist() == tokens[len(prompt):], "the cache and the forward pass disagree"
    margin = (best[:, 0] - best[:, 1]).min().item()
    losses = torch.nn.functional.cross_entropy(logits, torch.tensor(tokens[1:]), reduction="none")
    llama.write_safetensors(pathlib.Path(out), {"tokens": ("I32", np.array(tokens)), "losses": ("F64", losses.numpy()),
                                                "margin": ("F64", np.array([margin]))})


if __name__ == "__main__":
    main(*sys.argv[1:])
