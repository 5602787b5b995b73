#include "engine/checkpoint/slice.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/text.h"

namespace rm {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 50;
constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxNameBytes = 512;

std::int64_t product(std::span<const std::int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

struct PartRange {
    std::int64_t start = 0;  // along split_dim
    std::int64_t length = 1;
};

PartRange part_range(const Slice& slice) {
    if (slice.shape.empty()) return {};
    const std::int64_t size = slice.shape[usize(slice.split_dim)];
    const std::int64_t short_length = size / slice.split_count;
    const std::int64_t num_long = size % slice.split_count;
    return {slice.split_index * short_length + std::min(slice.split_index, num_long),
            short_length + (slice.split_index < num_long ? 1 : 0)};
}

Status check_name(const std::string& name) {
    const bool printable =
        std::all_of(name.begin(), name.end(), [](char c) { return c > 32 && c < 127; });
    if (!name.empty() && name.size() <= kMaxNameBytes && printable && name != "__metadata__") {
        return {};
    }
    return invalid_argument(
        "tensor name '{}': it must be 1 to {} visible ASCII characters, not '{}'", name,
        kMaxNameBytes, "__metadata__");
}

Status check_shape(const Slice& slice) {
    bool right = slice.shape.size() <= kMaxRank;
    std::int64_t elements = 1;
    for (const std::int64_t size : slice.shape) {
        right = right && size >= 1 && size <= kMaxElements / elements;
        if (right) elements *= size;
    }
    if (right) return {};
    return invalid_argument("{}: at most {} dims of at least 1, and at most 2^50 elements",
                            to_string(slice), kMaxRank);
}

}  // namespace

Slice whole_tensor(std::string name, DType dtype, std::vector<std::int64_t> shape) {
    Slice slice{.tensor = std::move(name), .dtype = dtype, .shape = std::move(shape)};
    slice.count = tensor_elements(slice);
    return slice;
}

Slice element_range(Slice whole, std::int64_t first, std::int64_t count) {
    whole.first = first;
    whole.count = count;
    return whole;
}

Status check_slice(const Slice& slice) {
    RM_RETURN_IF_ERROR(check_name(slice.tensor));
    RM_RETURN_IF_ERROR(check_shape(slice));
    const auto rank = static_cast<std::int64_t>(slice.shape.size());
    const bool dim_exists =
        slice.split_dim >= 0 && slice.split_dim < std::max<std::int64_t>(rank, 1);
    if (!dim_exists || slice.split_count < 1 || slice.split_index < 0 ||
        slice.split_index >= slice.split_count || (rank == 0 && slice.split_count != 1)) {
        return invalid_argument("{}: there is no such part", to_string(slice));
    }
    const std::int64_t elements = part_elements(slice);
    if (slice.first < 0 || slice.count < 0 || slice.first > elements ||
        slice.count > elements - slice.first) {
        return invalid_argument("{}: the part has {} elements", to_string(slice), elements);
    }
    return {};
}

std::int64_t tensor_elements(const Slice& slice) {
    return product(slice.shape);
}

std::vector<std::int64_t> part_shape(const Slice& slice) {
    std::vector<std::int64_t> shape = slice.shape;
    if (!shape.empty()) shape[usize(slice.split_dim)] = part_range(slice).length;
    return shape;
}

std::int64_t part_elements(const Slice& slice) {
    return product(part_shape(slice));
}

std::int64_t num_bytes(const Slice& slice) {
    return slice.count * size_of(slice.dtype);
}

std::string to_string(const Slice& slice) {
    return format("{} ({}) {}, part {} of {} along {}, elements {}+{}", slice.tensor,
                  join(slice.shape), to_string(slice.dtype), slice.split_index, slice.split_count,
                  slice.split_dim, slice.first, slice.count);
}

RunCursor::RunCursor(const Slice& slice)
    : first_(slice.first), next_(slice.first), end_(slice.first + slice.count) {
    if (slice.split_count == 1) {  // one run, for any dim
        row_ = stride_ = std::max<std::int64_t>(tensor_elements(slice), 1);
        return;
    }
    const auto dim = usize(slice.split_dim);
    const std::int64_t inner = product(std::span(slice.shape).subspan(dim + 1));
    const PartRange part = part_range(slice);
    row_ = part.length * inner;
    stride_ = slice.shape[dim] * inner;
    offset_ = part.start * inner;
}

ElementRun RunCursor::current() const {
    const std::int64_t outer = next_ / row_;
    const std::int64_t within = next_ % row_;
    return {outer * stride_ + offset_ + within, next_ - first_,
            std::min(row_ - within, end_ - next_)};
}

Status for_each_overlap(const Slice& a, const Slice& b, const OverlapVisitor& overlap) {
    RunCursor run_a(a);
    RunCursor run_b(b);
    while (!run_a.done() && !run_b.done()) {
        const ElementRun x = run_a.current();
        const ElementRun y = run_b.current();
        const std::int64_t first = std::max(x.in_tensor, y.in_tensor);
        const std::int64_t end = std::min(x.in_tensor + x.count, y.in_tensor + y.count);
        if (first < end) {
            RM_RETURN_IF_ERROR(overlap(x.in_slice + first - x.in_tensor,
                                       y.in_slice + first - y.in_tensor, end - first));
        }
        if (x.in_tensor + x.count <= y.in_tensor + y.count) {
            run_a.advance();
        } else {
            run_b.advance();
        }
    }
    return {};
}

void Coverage::add(std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    if (!ranges_.empty() && ranges_.back().end == first) {
        ranges_.back().end += count;
    } else {
        ranges_.push_back({first, first + count});
    }
}

void Coverage::sort() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
}

std::int64_t Coverage::first_missing(std::int64_t total) {
    sort();
    std::int64_t covered = 0;
    for (const Range& range : ranges_) {
        if (range.first > covered) break;
        covered = std::max(covered, range.end);
    }
    return std::min(covered, total);
}

std::int64_t Coverage::first_repeated() {
    sort();
    std::int64_t end = 0;
    for (const Range& range : ranges_) {
        if (range.first < end) return range.first;
        end = range.end;
    }
    return -1;
}

}  // namespace rm
