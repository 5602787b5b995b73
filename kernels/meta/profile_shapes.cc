#include "kernels/meta/profile_shapes.h"

#include <algorithm>

namespace rm {
namespace {

// FLOP/s from which the shapes of a real processor and of a GPU are meant.
constexpr double kProcessor = 5e9, kAccelerator = 4e12;

const ProfileShapes& least_shapes() {
    static const ProfileShapes shapes{.products = {{16, 64, 64}},
                                      .tokens = {{16, 64}},
                                      .attention = {{16, 16, 1, 1}},
                                      .attention_rows = {{16, 1}},
                                      .heads = {{8, 64, 64}},
                                      .updates = {1 << 8},
                                      .transfers = {1 << 12, 1 << 16}};
    return shapes;
}

// Shapes of small models, cut at tiles of 512 tokens.
const ProfileShapes& small_shapes() {
    static const ProfileShapes shapes{
        .products = {{64, 64, 256},
                     {64, 256, 256},
                     {512, 64, 256},
                     {512, 256, 256},
                     {512, 512, 512},
                     {512, 1536, 512},
                     {512, 1024, 1024},
                     {512, 3072, 1024}},
        .tokens = {{64, 256}, {512, 256}, {512, 1024}, {2048, 1024}},
        .attention = {{128, 128, 4, 2}, {512, 512, 4, 2}, {256, 1024, 4, 2}, {256, 4096, 4, 2}},
        // Exponentials and sums do not get fewer with the head dim: a FLOP of short heads takes
        // longer.
        .head_dims = {16, 32, 64, 128},
        .attention_rows = {{256, 4}, {1024, 4}, {4096, 4}},
        .heads = {{128, 256, 4096}, {128, 512, 4096}, {128, 1024, 4096}},
        .updates = {1 << 12, 1 << 16, 1 << 20, 1 << 23},
        .transfers = {1 << 14, 1 << 18, 1 << 22, 1 << 26}};
    return shapes;
}

// Shapes of models from 1B to 8B parameters, cut at tiles of 8,192 tokens, and their parts.
const ProfileShapes& large_shapes() {
    static const ProfileShapes shapes{
        .products = {{512, 1024, 1024},
                     {2048, 2048, 2048},
                     {2048, 4096, 4096},
                     {8192, 1024, 4096},
                     {8192, 4096, 4096},
                     {8192, 14336, 4096}},
        .tokens = {{64, 1024}, {512, 1024}, {2048, 4096}, {8192, 4096}},
        .attention = {{512, 512, 32, 8},
                      {2048, 2048, 32, 8},
                      {2048, 8192, 32, 8},
                      {2048, 32768, 32, 8},
                      {2048, 65536, 32, 8}},
        .attention_rows = {{256, 32}, {2048, 32}, {8192, 32}},
        .heads = {{1024, 1024, 32768}, {1024, 2048, 32768}, {1024, 4096, 32768}},
        .updates = {1 << 16, 1 << 20, 1 << 23, 1 << 26},
        .transfers = {1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28}};
    return shapes;
}

// Keeps the first shape and the later ones of at most so many FLOPs.
template <typename Shape, typename Flops>
void keep_up_to(double most, std::vector<Shape>& shapes, const Flops& flops_of) {
    const auto is_long = [&](const Shape& shape) { return flops_of(shape) > most; };
    shapes.erase(std::remove_if(shapes.begin() + 1, shapes.end(), is_long), shapes.end());
}

double as_double(std::int64_t value) {
    return static_cast<double>(value);
}

// FLOPs of attention for each element of a head and each pair of a query and a key that it sees.
constexpr double kForward = 4, kBackward = 10;

double product_flops(double T, double N, double K) {
    return 2 * T * N * K;
}

}  // namespace

ProfileShapes shapes_for(double flops_per_sec, Seconds longest) {
    ProfileShapes shapes = flops_per_sec < kProcessor     ? least_shapes()
                           : flops_per_sec < kAccelerator ? small_shapes()
                                                          : large_shapes();
    const double most = flops_per_sec * longest.value;
    using Shapes = ProfileShapes;
    keep_up_to(most, shapes.products, [](const Shapes::Product& p) {
        return product_flops(as_double(p.T), as_double(p.N), as_double(p.K));
    });
    keep_up_to(most, shapes.heads, [](const Shapes::Head& h) {
        return 3 * product_flops(as_double(h.T), as_double(h.C), as_double(h.V));
    });
    keep_up_to(most, shapes.attention, [](const ProfileSampler::AttentionShape& a) {
        constexpr double kLargestHeadDim = 128;
        return kBackward * kLargestHeadDim * as_double(a.T * a.S * a.Hq);
    });
    return shapes;
}

double probe_speed(Kernels& kernels, const std::function<double()>& now) {
    constexpr double kLongest = 0.05;
    constexpr ProfileSampler::AttentionShape kProbes[] = {{64, 64, 1, 1, 64},
                                                          {256, 256, 4, 4, 64},
                                                          {1024, 1024, 8, 8, 128},
                                                          {4096, 4096, 16, 16, 128}};
    double speed = 0;
    for (const ProfileSampler::AttentionShape& probe : kProbes) {
        const double flops = kForward * as_double(probe.T * probe.S * probe.Hq * probe.D) / 2;
        if (speed > 0 && flops > speed * kLongest) break;
        ProfileSampler sampler(kernels, now);
        sampler.attention(probe);
        ProfileSample& forward = sampler.samples().front();
        sampler.run(forward);
        speed = std::max(speed, flops / forward.seconds());
    }
    return speed;
}

void add_shapes(const ProfileShapes& shapes, ProfileSampler& sampler) {
    for (const auto& [T, N, K] : shapes.products)
        sampler.add_if_room([&, T = T, N = N, K = K] { sampler.products(T, N, K); });
    for (const auto& [T, C] : shapes.tokens)
        sampler.add_if_room([&, T = T, C = C] { sampler.tokens(T, C); });
    for (const std::int64_t D : shapes.head_dims) {
        for (ProfileSampler::AttentionShape shape : shapes.attention) {
            shape.D = D;
            sampler.add_if_room([&] { sampler.attention(shape); });
        }
    }
    for (const auto& [T, C, V] : shapes.heads)
        sampler.add_if_room([&, T = T, C = C, V = V] { sampler.head(T, C, V); });
    for (const std::int64_t size : shapes.updates)
        sampler.add_if_room([&] { sampler.update(size); });
    for (const auto& [T, Hq] : shapes.attention_rows)
        sampler.add_if_room([&, T = T, Hq = Hq] { sampler.attention_rows(T, Hq, 128); });
}

}  // namespace rm
