#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/tensor.h"

namespace rm {

// A piece of a tensor. The tensor (row-major, `shape`) is cut along `split_dim` into `split_count`
// parts as equal as possible (the first `dim mod count` are one longer); the slice is elements
// [first, first + count) of part `split_index`, flattened row-major. Any set of slices composes
// into any other: a tensor axis is a split, a ZeRO shard a range.
struct Slice {
    std::string tensor;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;  // of the whole tensor; {} is one element
    std::int64_t split_dim = 0;
    std::int64_t split_index = 0;
    std::int64_t split_count = 1;
    std::int64_t first = 0;  // elements
    std::int64_t count = 0;
    bool operator==(const Slice&) const = default;
};

Slice whole_tensor(std::string name, DType dtype, std::vector<std::int64_t> shape);
Slice element_range(Slice whole, std::int64_t first, std::int64_t count);

// The error names the slice and its fault: sizes, a split outside the tensor, a range outside the
// part, a name that safetensors reserves. Everything below expects a slice that passes.
Status check_slice(const Slice& slice);

std::int64_t tensor_elements(const Slice& slice);
std::vector<std::int64_t> part_shape(const Slice& slice);
std::int64_t part_elements(const Slice& slice);
std::int64_t num_bytes(const Slice& slice);
std::string to_string(const Slice& slice);  // wq (64, 64) f32, part 1 of 4 along 0, elements 0+1024

// Elements that are consecutive both in the flattened tensor and in the slice.
struct ElementRun {
    std::int64_t in_tensor = 0;
    std::int64_t in_slice = 0;
    std::int64_t count = 0;
};

// A slice as runs, ascending in both.
class RunCursor {
public:
    explicit RunCursor(const Slice& slice);
    bool done() const { return next_ >= end_; }
    ElementRun current() const;
    void advance() { next_ += current().count; }

private:
    std::int64_t row_ = 1;     // elements of the part per index of the dims before split_dim
    std::int64_t stride_ = 1;  // elements of the tensor per such index
    std::int64_t offset_ = 0;  // of the part within each of these
    std::int64_t first_ = 0;
    std::int64_t next_ = 0;  // in the part
    std::int64_t end_ = 0;
};

// Calls `overlap(in_a, in_b, count)` for each run of elements in both slices of one tensor.
using OverlapVisitor = std::function<Status(std::int64_t, std::int64_t, std::int64_t)>;
Status for_each_overlap(const Slice& a, const Slice& b, const OverlapVisitor& overlap);

// A set of element ranges that finds missing and repeated elements.
class Coverage {
public:
    void add(std::int64_t first, std::int64_t count);
    // The first element of [0, total) in no range, or `total`.
    std::int64_t first_missing(std::int64_t total);
    // The first element in two ranges, or -1.
    std::int64_t first_repeated();

private:
    struct Range {
        std::int64_t first;
        std::int64_t end;
    };
    void sort();
    std::vector<Range> ranges_;
};

}  // namespace rm
