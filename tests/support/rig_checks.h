#pragma once

#include <gtest/gtest.h>

#include <cmath>

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
