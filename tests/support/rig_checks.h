#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <iostream>
#include <string>

#include "tests/support/rank_rig.h"

// How far two runs of a rig may differ.
namespace rm::test {

// Every element to `tolerance` of its tensor's largest.
inline void expect_close(const Values& actual, const Values& expected, double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (const auto& [name, values] : expected)
        EXPECT_LE(relative_difference(actual.at(name), values), tolerance) << name;
}

// Losses, norms, gradients and weights of every step, on `ref`.
inline void expect_same_training(const RigResult& actual, const RigResult& expected) {
    constexpr double kTolerance = 1e-10;
    for (std::size_t step = 0; step < expected.losses.size(); ++step) {
        const double loss = expected.losses[step], grad_norm = expected.grad_norms[step];
        EXPECT_NEAR(actual.losses[step], loss, kTolerance * loss);
        EXPECT_NEAR(actual.grad_norms[step], grad_norm, kTolerance * grad_norm);
    }
    expect_close(actual.gradients, expected.gradients, kTolerance);
    expect_close(actual.weights, expected.weights, kTolerance);
}

// Losses, norms and weights.
inline void expect_same_bits(const RigResult& x, const RigResult& y, const std::string& what) {
    EXPECT_EQ(x.losses, y.losses) << what;
    EXPECT_EQ(x.grad_norms, y.grad_norms) << what;
    EXPECT_EQ(x.weights, y.weights) << what;
}

// With one micro-batch per step ZeRO only moves data: every stage has the bits of stage 0.
inline void expect_zero_stages_change_no_bit(RigConfig config,
                                             std::initializer_list<int> stages = {1, 2, 3}) {
    config.zero = 0;
    const RigResult plain = run_rig(config);
    for (const int zero : stages) {
        config.zero = zero;
        expect_same_bits(run_rig(config), plain, format("ZeRO {}", zero));
    }
}

// Windows, what is kept, and a second size of chunks only move data.
inline void expect_memory_changes_no_bit(RigConfig config, std::int64_t chunk) {
    const RigResult plain = run_rig(config);
    for (const Keep keep : {Keep::input, Keep::input_and_attention}) {
        for (const double alpha : {0.0, 0.5}) {
            const std::string what = format("{}, alpha {}", to_string(keep), alpha);
            config.memory = policy_of(KeptPlace::host, WorkingSet::windows, keep, alpha);
            expect_same_bits(run_rig(config), plain, "windows, " + what);
            config.memory = policy_of(KeptPlace::device, WorkingSet::whole, keep, alpha);
            expect_same_bits(run_rig(config), plain, what);
        }
    }
    config.memory = {};
    config.chunk = chunk;
    expect_same_bits(run_rig(config), plain, "chunk");
}

// The error of all gradients: the norm of the difference over that of `exact`.
inline double error_of(const RigResult& x, const RigResult& exact) {
    double squares = 0, of_exact = 0;
    for (const auto& [name, values] : exact.gradients) {
        squares += std::pow(norm_difference(x.gradients.at(name), values), 2);
        of_exact += std::pow(norm(values), 2);
    }
    return std::sqrt(squares / of_exact);
}

// x rounds in working precision, n on the oracle; r and `without` are the same without rounding. x
// is as near to n as n is to r.
inline void expect_roundings_of_the_oracle(const RigResult& x, const RigResult& without,
                                           const RigResult& n, const RigResult& r) {
    std::cout << "gradients differ by " << error_of(x, n)
              << " from the oracle's, without rounding by " << error_of(without, r) << "\n";
    EXPECT_NE(x.gradients, without.gradients) << "nothing is rounded";
    EXPECT_LE(error_of(x, r), error_of(without, r) + 1.5 * error_of(n, r));
}

// The derived rule for first losses and gradients in working precision `type`:
// ||x - r|| <= 2 ||n - r|| + 4 ulp ||r||, r the fp64 run, n one rank, x the layout.
inline void expect_derived_tolerance(const RigResult& x, const RigResult& n, const RigResult& r,
                                     DType type) {
    const double exact = r.losses[0];
    EXPECT_NEAR(x.losses[0], exact,
                type == DType::f32 ? 1e-5 * exact : 2 * std::abs(n.losses[0] - exact) + 1e-3);
    for (const auto& [name, gradient] : r.gradients) {
        const double allowed = 2 * norm_difference(n.gradients.at(name), gradient) +
                               4 * std::ldexp(1.0, -23) * norm(gradient);
        EXPECT_LE(norm_difference(x.gradients.at(name), gradient), allowed) << name;
    }
}

}  // namespace rm::test
