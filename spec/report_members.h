#pragma once

#include "spec/member.h"
#include "spec/report.h"

// The members of a rank's reports, for every form: see member.h. The names state the units.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<AxisTraffic> auto& traffic) {
    auto& [bytes_sent, wait_seconds] = traffic;
    visit(Member{.name = "bytes_sent"}, bytes_sent);
    visit(Member{.name = "wait_seconds"}, wait_seconds);
}

template <typename Visit>
void describe(Visit& visit, Like<HopRate> auto& hop) {
    auto& [bytes, bytes_per_second] = hop;
    visit(Member{.name = "bytes"}, bytes);
    visit(Member{.name = "bytes_per_second"}, bytes_per_second);
}

template <typename Visit>
void describe(Visit& visit, Like<Fp8TensorReport> auto& tensor) {
    auto& [flushed, saturated, error, layer] = tensor;
    visit(Member{.name = "flushed"}, flushed);
    visit(Member{.name = "saturated"}, saturated);
    visit(Member{.name = "error"}, error);
    visit(Member{.name = "layer"}, layer);
}

template <typename Visit>
void describe(Visit& visit, Like<StepReport> auto& report) {
    auto& [step, num_steps, stage, tokens, tokens_total, loss, grad_norm, finite, rate, diverged,
           seconds, flops, causal_mfu, full_mfu, hfu, peak_name, phases, memory, axes, last_one,
           hops, h2d, d2h, due_step, saving, loading, fp8, fp8_fallback_layers, fp8_fallbacks] =
        report;
    visit(Member{.name = "step"}, step);
    visit(Member{.name = "num_steps"}, num_steps);
    visit(Member{.name = "stage"}, stage);
    visit(Member{.name = "tokens"}, tokens);
    visit(Member{.name = "tokens_total"}, tokens_total);
    visit(Member{.name = "loss", .written = Written::measured}, loss);
    visit(Member{.name = "grad_norm", .written = Written::measured}, grad_norm);
    visit(Member{.name = "finite"}, finite);
    visit(Member{.name = "learning_rate"}, rate);
    visit(Member{.name = "diverged_above"}, diverged);
    visit(Member{.name = "seconds"}, seconds);
    visit(Member{.name = "model_flops"}, flops);
    visit(Member{.name = "causal_mfu"}, causal_mfu);
    visit(Member{.name = "full_mfu"}, full_mfu);
    visit(Member{.name = "hfu"}, hfu);
    visit(Member{.name = "peak_name"}, peak_name);
    visit(Member{.name = "phase_seconds"}, phases);
    visit(Member{.name = "memory_bytes"}, memory);
    visit(Member{.name = "axes"}, axes);
    visit(Member{.name = "last_collective"}, last_one);
    visit(Member{.name = "hops"}, hops);
    visit(Member{.name = "h2d_bytes"}, h2d);
    visit(Member{.name = "d2h_bytes"}, d2h);
    visit(Member{.name = "checkpoint_due_step"}, due_step);
    visit(Member{.name = "checkpoint_seconds"}, saving);
    visit(Member{.name = "loading_seconds"}, loading);
    visit(Member{.name = "fp8"}, fp8);
    visit(Member{.name = "fp8_fallback_layers"}, fp8_fallback_layers);
    visit(Member{.name = "fp8_fallbacks"}, fp8_fallbacks);
}

template <typename Visit>
void describe(Visit& visit, Like<PositionLoss> auto& position) {
    auto& [from_tokens, targets, loss] = position;
    visit(Member{.name = "from_tokens"}, from_tokens);
    visit(Member{.name = "targets"}, targets);
    visit(Member{.name = "loss", .written = Written::measured}, loss);
}

template <typename Visit>
void describe(Visit& visit, Like<EvaluationReport> auto& report) {
    auto& [step, targets, loss, unigram_entropy, bigram_entropy, by_position] = report;
    visit(Member{.name = "step"}, step);
    visit(Member{.name = "targets"}, targets);
    visit(Member{.name = "held_out_loss", .written = Written::measured, .stored = "loss"}, loss);
    visit(Member{.name = "unigram_entropy"}, unigram_entropy);
    visit(Member{.name = "bigram_entropy"}, bigram_entropy);
    visit(Member{.name = "by_position"}, by_position);
}

template <typename Visit>
void describe(Visit& visit, Like<SuiteCell> auto& cell) {
    auto& [task, length, depth, samples, score, loss] = cell;
    visit(Member{.name = "task"}, task);
    visit(Member{.name = "length"}, length);
    visit(Member{.name = "depth"}, depth);
    visit(Member{.name = "samples"}, samples);
    visit(Member{.name = "score"}, score);
    visit(Member{.name = "loss", .written = Written::measured}, loss);
}

template <typename Visit>
void describe(Visit& visit, Like<SuiteReport> auto& report) {
    auto& [step, suite, name, trained_context, effective_length, seconds, cells] = report;
    visit(Member{.name = "step"}, step);
    visit(Member{.name = "suite"}, suite);
    visit(Member{.name = "name"}, name);
    visit(Member{.name = "trained_context"}, trained_context);
    visit(Member{.name = "effective_length"}, effective_length);
    visit(Member{.name = "seconds"}, seconds);
    visit(Member{.name = "cells"}, cells);
}

template <typename Visit>
void describe(Visit& visit, Like<PeerConnection> auto& connection) {
    auto& [own, other] = connection;
    visit(Member{.name = "own"}, own);
    visit(Member{.name = "other"}, other);
}

template <typename Visit>
void describe(Visit& visit, Like<RingNeighbours> auto& ring) {
    auto& [sends_to, receives_from] = ring;
    visit(Member{.name = "sends_to"}, sends_to);
    visit(Member{.name = "receives_from"}, receives_from);
}

template <typename Visit>
void describe(Visit& visit, Like<ConnectedReport> auto& report) {
    auto& [rank, address, peers, rings, network] = report;
    visit(Member{.name = "rank"}, rank);
    visit(Member{.name = "address"}, address);
    visit(Member{.name = "peers"}, peers);
    visit(Member{.name = "rings"}, rings);
    visit(Member{.name = "network"}, network);
}

}  // namespace rm
