#include "tests/engine/memory/arena_cases.h"

#include <algorithm>

namespace rm::test {
namespace {

// Each kernel advances time by one; a buffer's life begins with the kernel that writes it.
class StepRecorder {
public:
    explicit StepRecorder(const StepShape& shape) : shape_(shape) {}

    ArenaTrace record() {
        std::vector<std::size_t> kept;
        for (int layer = 0; layer < shape_.num_layers; ++layer)
            forward(layer, kept);
        loss();
        std::size_t gradient = add(1, kNoGroup);
        for (int layer = shape_.num_layers; layer-- > 0;)
            gradient = backward(layer, kept, gradient);
        end(gradient);
        return std::move(trace_);
    }

private:
    // Adds a buffer of `factor` x tokens x hidden half-precision numbers.
    std::size_t add(double factor, int group) {
        const double bytes = factor * static_cast<double>(shape_.tokens * shape_.hidden * 2);
        const auto blocks = static_cast<std::int64_t>(bytes / 512) + 1;
        trace_.blocks.push_back({now_++, now_ + 1, Bytes{blocks * 512}});
        trace_.groups.push_back(group);
        return trace_.blocks.size() - 1;
    }
    void end(std::size_t buffer) { trace_.blocks[buffer].upper = now_; }
    void end_all(const std::vector<std::size_t>& buffers) {
        for (const std::size_t buffer : buffers)
            end(buffer);
    }

    void forward(int layer, std::vector<std::size_t>& kept) {
        const int group = layer;
        kept.push_back(add(1, kNoGroup));
        const std::size_t normed = add(1, group), q = add(1, group), k = add(0.25, group),
                          v = add(0.25, group);
        end(normed);
        const std::size_t workspace = add(0.37, group);
        kept.push_back(add(1, kNoGroup));
        end_all({q, k, v, workspace});
        const std::size_t out = add(1, group), second = add(1, group);
        std::vector<std::size_t> chunks;
        for (int chunk = 0; chunk < 4; ++chunk) {
            const std::size_t gate = add(0.7, group), up = add(0.7, group), act = add(0.7, group);
            end_all({gate, up});
            chunks.push_back(add(0.25, group));
            end(act);
        }
        end_all({out, second});
        end_all(chunks);
    }

    void loss() {
        const std::size_t normed = add(1, kNoGroup), gradient = add(1, kNoGroup);
        for (int chunk = 0; chunk < 6; ++chunk) {
            const std::size_t logits = add(2.3, kNoGroup), scale = add(0.01, kNoGroup);
            end_all({logits, scale});
        }
        end_all({normed, gradient});
    }

    std::size_t backward(int layer, std::vector<std::size_t>& kept, std::size_t gradient) {
        const int group = shape_.num_layers + layer;
        const std::size_t second = add(1, group), d_second = add(1, group);
        for (int chunk = 0; chunk < 4; ++chunk) {
            const std::size_t gate = add(0.7, group), up = add(0.7, group), d_act = add(0.7, group);
            const std::size_t d_gate = add(0.7, group);
            end_all({gate, up, d_act});
            end(d_gate);
        }
        end_all({second});
        const std::size_t q = add(1, group), k = add(0.25, group), v = add(0.25, group),
                          d_out = add(1, group);
        end(d_second);
        const std::size_t d_q = add(1, group), d_kv = add(0.5, group), delta = add(0.03, group);
        end_all({q, k, v, d_out, delta, kept.back()});
        kept.pop_back();
        const std::size_t next = add(1, kNoGroup);
        end_all({d_q, d_kv, gradient, kept.back()});
        kept.pop_back();
        return next;
    }

    StepShape shape_;
    ArenaTrace trace_;
    std::int64_t now_ = 0;
};

bool is_free(const ArenaTrace& trace, const std::vector<Bytes>& offsets, Bytes offset) {
    const ArenaBlock& block = trace.blocks[offsets.size()];
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const ArenaBlock& other = trace.blocks[i];
        if (live_together(block, other) && offset < offsets[i] + other.size &&
            offsets[i] < offset + block.size) {
            return false;
        }
    }
    return true;
}

bool has_plan(const ArenaTrace& trace, Bytes capacity, std::vector<Bytes>& offsets) {
    if (offsets.size() == trace.blocks.size()) return true;
    const Bytes size = trace.blocks[offsets.size()].size;
    for (Bytes offset; offset + size <= capacity; offset += Bytes{1}) {
        if (!is_free(trace, offsets, offset)) continue;
        offsets.push_back(offset);
        if (has_plan(trace, capacity, offsets)) return true;
        offsets.pop_back();
    }
    return false;
}

}  // namespace

ArenaTrace random_trace(Rng& rng, int count, int horizon, std::int64_t max_size) {
    ArenaTrace trace;
    for (int i = 0; i < count; ++i) {
        const auto lower =
            static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(horizon)));
        const auto left = static_cast<std::uint64_t>(horizon - lower);
        const auto upper = lower + 1 + static_cast<std::int64_t>(rng.below(left));
        const auto size =
            1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(max_size)));
        trace.blocks.push_back({lower, upper, Bytes{size}});
    }
    return trace;
}

ArenaTrace step_trace(const StepShape& shape) {
    return StepRecorder(shape).record();
}

ArenaTrace full_trace(Rng& rng, std::int64_t num_moments, std::int64_t capacity) {
    ArenaTrace trace;
    std::int64_t free = capacity;
    for (std::int64_t now = 0; now < num_moments; ++now) {
        while (free > 0) {
            const auto part =
                1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(free)));
            const std::int64_t size = rng.below(2) == 0 ? free : part;
            trace.blocks.push_back({now, num_moments, Bytes{size}});
            free -= size;
        }
        for (ArenaBlock& block : trace.blocks) {
            if (block.upper != num_moments || rng.below(2) == 0) continue;
            block.upper = now + 1;
            free += block.size.value;
        }
    }
    return trace;
}

ArenaTrace layers_in_windows(int num_layers) {
    constexpr std::int64_t kPeriod = 62;
    const std::vector<ArenaBlock> layer = {
        {0, 44, {512}},  {1, 45, {512}},  {2, 42, {16}},    {3, 43, {16}},   {4, 40, {16}},
        {5, 41, {16}},   {6, 38, {512}},  {7, 39, {512}},   {8, 36, {128}},  {9, 37, {128}},
        {10, 34, {128}}, {11, 35, {128}}, {18, 33, {1152}}, {19, 32, {9}},   {20, 31, {9}},
        {21, 60, {144}}, {22, 61, {144}}, {23, 58, {144}},  {24, 59, {144}}, {25, 56, {576}},
        {26, 57, {576}}, {27, 54, {576}}, {28, 55, {576}},  {29, 52, {9}},   {30, 53, {9}},
        {46, 78, {512}}, {47, 79, {512}}, {48, 76, {512}},  {49, 77, {512}}, {50, 74, {512}},
        {51, 75, {512}}};
    ArenaTrace trace;
    for (int i = 0; i < num_layers; ++i) {
        for (const ArenaBlock& block : layer)
            trace.blocks.push_back(
                {block.lower + i * kPeriod, block.upper + i * kPeriod, block.size});
    }
    return trace;
}

ArenaTrace entangled_trace() {
    return {{{0, 2, {4}},
             {0, 4, {2}},
             {2, 3, {4}},
             {3, 8, {2}},
             {3, 5, {2}},
             {4, 8, {1}},
             {4, 5, {1}},
             {5, 7, {3}},
             {7, 9, {1}},
             {7, 10, {2}},
             {8, 9, {3}},
             {9, 10, {4}}},
            {}};
}

Bytes least_peak_of_all_plans(const ArenaTrace& trace) {
    for (Bytes capacity = peak_live(trace.blocks);; capacity += Bytes{1}) {
        std::vector<Bytes> offsets;
        if (has_plan(trace, capacity, offsets)) return capacity;
    }
}

}  // namespace rm::test
