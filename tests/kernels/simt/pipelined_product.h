#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/simt/emulator.h"
#include "tests/kernels/simt/plain_tiles.h"

// A typical two-stage tile kernel, and the faults that such kernels tend to have. Proves that the
// emulator, the address sanitizer and the thread sanitizer catch them.
namespace rm::device {

enum class Fault {
    none,
    missing_wait,            // reads tiles that have not landed
    missing_barrier,         // reads what other threads have copied before it has landed for them
    missing_refill_barrier,  // a fast warp refills the stage that a slow one still reads
    off_by_one_row,          // copies one row too many
    divergent_barrier,       // one warp skips a barrier
    wrong_swizzle            // writes tiles in another order than it reads them
};

// c = a b^T; a (M, K), b (N, K) bf16, c (M, N) fp32; N is a multiple of kTileN, K of kTileK.
template <Fault kFault>
struct PipelinedProduct {
    static constexpr int kWarps = 4, kThreads = 32 * kWarps;
    static constexpr int kTileM = 16 * kWarps, kTileN = 32, kTileK = 32;
    struct Shared {
        SharedTile<kTileM, kTileK> a[2];
        SharedTile<kTileN, kTileK> b[2];
    };
    struct Params {
        const std::uint16_t* a;
        const std::uint16_t* b;
        float* c;
        int M, N, K;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const int row = simt::block_x() * kTileM, column = simt::block_y() * kTileN;
        RegisterTile<16, kTileN> sums;
        fill(sums, 0);
        load_stage(p, shared, row, column, 0);
        const int num_tiles = p.K / kTileK;
        for (int i = 0; i < num_tiles; ++i) {
            if (i + 1 < num_tiles) load_stage(p, shared, row, column, i + 1);
            simt::cp_async_commit();
            if (kFault != Fault::missing_wait) simt::cp_async_wait<1>();
            if (kFault != Fault::missing_barrier) simt::sync_block();
            mma_ABt<kTileK>(sums, shared.a[i % 2].at(simt::warp() * 16, 0),
                            shared.b[i % 2].at(0, 0));
            // Every warp must read this stage before any warp refills it.
            if (kFault == Fault::missing_refill_barrier) continue;
            if (kFault == Fault::divergent_barrier && simt::warp() == kWarps - 1) continue;
            simt::sync_block();
        }
        simt::cp_async_wait<0>();
        const int first = row + simt::warp() * 16;
        store(p.c + static_cast<std::int64_t>(first) * p.N + column, p.N, sums, p.M - first);
    }

    SIMT_FN static void load_stage(const Params& p, Shared& shared, int row, int column, int i) {
        const int too_many = kFault == Fault::off_by_one_row ? 1 : 0;
        load_async<kThreads>(shared.a[i % 2],
                             p.a + static_cast<std::int64_t>(row) * p.K + i * kTileK, p.K,
                             p.M - row + too_many);
        const std::uint16_t* b = p.b + static_cast<std::int64_t>(column) * p.K + i * kTileK;
        if (kFault == Fault::wrong_swizzle) {
            load_unswizzled(shared.b[i % 2], b, p.K);
        } else {
            load_async<kThreads>(shared.b[i % 2], b, p.K, p.N - column);
        }
        if (i == 0) simt::cp_async_commit();
    }

    SIMT_FN static void load_unswizzled(SharedTile<kTileN, kTileK>& tile, const std::uint16_t* from,
                                        int stride) {
        const int row = simt::thread() / 4, chunk = simt::thread() % 4;
        simt::cp_async_16(tile.x + row * kTileK + chunk * 8, from + row * stride + chunk * 8);
    }
};

// A problem whose sums are exact in any order, and the kernel's result.
class ProductProblem {
public:
    static constexpr int M = 104, N = 64, K = 160;

    ProductProblem() : a_(draw(M * K, 1)), b_(draw(N * K, 2)) {}

    template <Fault kFault>
    std::vector<float> on_emulator(std::uint64_t seed) const {
        using Kernel = PipelinedProduct<kFault>;
        std::vector<float> c(M * N, -1);
        const typename Kernel::Params params{a_.data(), b_.data(), c.data(), M, N, K};
        const auto body = [&](void* shared) {
            Kernel::run(params, *static_cast<typename Kernel::Shared*>(shared));
        };
        const simt::Extent grid{(M + Kernel::kTileM - 1) / Kernel::kTileM, N / Kernel::kTileN};
        simt::emulate(grid, Kernel::kThreads, sizeof(typename Kernel::Shared), body, {seed});
        return c;
    }

    std::vector<float> on_host() const {
        std::vector<float> c(M * N);
        for (std::size_t i = 0; i < c.size(); ++i) {
            for (std::size_t k = 0; k < K; ++k)
                c[i] += from_bf16(a_[i / N * K + k]) * from_bf16(b_[i % N * K + k]);
        }
        return c;
    }

private:
    static std::vector<std::uint16_t> draw(std::size_t count, std::uint32_t seed) {
        std::mt19937 random(seed);
        std::uniform_int_distribution<int> number(-8, 8);
        std::vector<std::uint16_t> bits(count);
        for (std::uint16_t& x : bits)
            x = rm::to_bf16(static_cast<float>(number(random)));
        return bits;
    }

    std::vector<std::uint16_t> a_, b_;
};

}  // namespace rm::device
