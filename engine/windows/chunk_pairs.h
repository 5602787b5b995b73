#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rm {

// The inner chunks that each chunk of an outer loop meets, in order. A long context has millions of
// pairs; consecutive inner chunks take one entry.
class ChunkPairs {
public:
    struct Pair {
        std::size_t outer = 0;
        std::size_t inner = 0;
    };

    // The pairs added from now on are of the next outer chunk.
    void begin_outer() { first_of_.push_back(size_); }
    void add(std::size_t inner) {
        const std::size_t outer = first_of_.size() - 1;
        const bool goes_on = !spans_.empty() && spans_.back().outer == outer &&
                             spans_.back().inner + (size_ - spans_.back().first) == inner;
        if (!goes_on) spans_.push_back({size_, outer, inner});
        ++size_;
    }

    std::size_t size() const { return size_; }
    std::size_t num_outer() const { return first_of_.size(); }
    // The pairs of an outer chunk: [first(outer), first(outer) + count(outer)).
    std::size_t first(std::size_t outer) const { return first_of_[outer]; }
    std::size_t count(std::size_t outer) const {
        return (outer + 1 < first_of_.size() ? first_of_[outer + 1] : size_) - first_of_[outer];
    }
    Pair operator[](std::size_t index) const {
        const auto after = std::ranges::upper_bound(spans_, index, {}, &Span::first);
        const Span& span = *(after - 1);
        return {span.outer, span.inner + (index - span.first)};
    }

private:
    struct Span {
        std::size_t first = 0;  // pair
        std::size_t outer = 0;
        std::size_t inner = 0;  // of the first pair
    };
    std::vector<Span> spans_;
    std::vector<std::size_t> first_of_;  // by outer chunk
    std::size_t size_ = 0;
};

}  // namespace rm
