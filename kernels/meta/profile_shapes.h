#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "kernels/meta/profile_samples.h"

namespace rm {

// The shapes at which a machine is measured, each list by ascending work.
struct ProfileShapes {
    struct Product {
        std::int64_t T = 0, N = 0, K = 0;
    };
    struct Tokens {
        std::int64_t T = 0, C = 0;
    };
    struct Head {
        std::int64_t T = 0, C = 0, V = 0;
    };
    struct Rows {
        std::int64_t T = 0, Hq = 0;
    };
    std::vector<Product> products;
    std::vector<Tokens> tokens;
    std::vector<ProfileSampler::AttentionShape> attention;  // of each head dim; D is not set
    std::vector<std::int64_t> head_dims = {64, 128};
    std::vector<Rows> attention_rows;
    std::vector<Head> heads;
    std::vector<std::int64_t> updates;    // weights
    std::vector<std::int64_t> transfers;  // bytes
};

// For a machine with so many FLOP/s in attention: of steps of the size that it would train, tiles
// of 512 tokens or of 8,192. A shape whose product or attention would take longer than `longest` is
// left out, the least of each list never. A machine below 5 GFLOP/s, which is an emulated one, gets
// the least shapes.
ProfileShapes shapes_for(double flops_per_sec, Seconds longest);

// FLOP/s in attention, which every backend does with kernels of its own, by the largest of some
// shapes that takes about 50 ms at most. `now`: seconds.
double probe_speed(Kernels& kernels, const std::function<double()>& now);

// Adds the samples of all shapes, but of those for which there is no memory.
void add_shapes(const ProfileShapes& shapes, ProfileSampler& sampler);

}  // namespace rm
