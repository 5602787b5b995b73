#include "kernels/attention_8bit.h"
#include "kernels/cpu/attention/attention_forward.h"
#include "kernels/cpu/attention/rounded_tile.h"

// Attention forward in 8 bits. Codes are f32 numbers here, whose products of int8 and sums are
// exact as on a device.
namespace rm::cpu {
namespace {

// A packed query is its codes (width, 64), its numbers (width, 64), the scales of its codes (64)
// and its products with a centre (64). A packed block of keys is its codes (64, width), those of
// the values (64, width), the centre (width), and the scales of both.
class Forward8Steps {
public:
    static constexpr std::int64_t kScales = 16;
    static std::int64_t query_floats(std::int64_t tile_floats) {
        return 2 * tile_floats + 2 * kTile;
    }
    static std::int64_t kv_floats(std::int64_t tile_floats) {
        return 2 * tile_floats + tile_floats / kTile + kScales;
    }

    Forward8Steps(const AttentionFwd8& op, const AttentionSizes& sizes,
                  const simd::AttentionLoops& loops)
        : op_(op), loops_(loops), D_(sizes.D), tile_floats_(sizes.tile_floats()) {}

    void pack_query(const RunTile& tile, std::int64_t head, float* to) const {
        float *numbers = to + tile_floats_, *scales = numbers + tile_floats_;
        std::fill_n(to, query_floats(tile_floats_), 0.0f);
        std::vector<float> rows = widened(op_.q, tile, head);
        for (std::int64_t row = 0; row < tile.count; ++row) {
            const std::span one = std::span(rows).subspan(usize(row * D_), usize(D_));
            store_column(one, numbers + row);
            scales[row] = round_to_int8(one);
            store_column(one, to + row);
        }
    }

    void pack_kv(const RunTile& tile, std::int64_t head, float* to) const {
        const std::int64_t width = tile_floats_ / kTile;
        std::fill_n(to, kv_floats(tile_floats_), 0.0f);
        std::vector<float> k = widened(op_.k, tile, head), v = widened(op_.v, tile, head);
        const std::vector<float> centre = take_centre(k, D_);
        float *values = to + tile_floats_, *at = values + tile_floats_, *scales = at + width;
        std::copy(centre.begin(), centre.end(), at);
        scales[0] = round_to_int8(k);
        scales[1] = round_to_e4m3(v);
        for (std::int64_t row = 0; row < tile.count; ++row) {
            std::copy_n(k.begin() + row * D_, D_, to + row * width);
            std::copy_n(v.begin() + row * D_, D_, values + row * width);
        }
    }

    void run(const simd::AttentionFwdTile& tile) const {
        const float* numbers = tile.query + tile_floats_;
        const float* centre = tile.kv + 2 * tile_floats_;
        const float* scales = centre + tile_floats_ / kTile;
        std::array<float, kTile> products{};
        for (std::int64_t d = 0; d < D_; ++d) {
            for (std::int64_t row = 0; row < kTile; ++row)
                products[usize(row)] += centre[d] * numbers[d * kTile + row];
        }
        simd::AttentionFwd8Tile rounded;
        static_cast<simd::AttentionFwdTile&>(rounded) = tile;
        rounded.query_scale = numbers + tile_floats_;
        rounded.centre = products.data();
        rounded.k_scale = scales[0];
        rounded.v_scale = scales[1];
        loops_.forward_8bit(rounded);
    }

private:
    static void store_column(std::span<const float> numbers, float* to) {
        for (std::size_t d = 0; d < numbers.size(); ++d)
            to[d * usize(kTile)] = numbers[d];
    }

    const AttentionFwd8& op_;
    const simd::AttentionLoops& loops_;
    const std::int64_t D_, tile_floats_;
};

}  // namespace

Bytes scratch_bytes(const AttentionFwd8& op, const Context& context) {
    return forward_scratch_bytes<Forward8Steps>(op, context);
}
void run(const AttentionFwd8& op, Workspace workspace, Context& context) {
    run_forward<Forward8Steps>(op, workspace, context);
}

}  // namespace rm::cpu
