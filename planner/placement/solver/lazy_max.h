#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rm {

// The maximum of changing values. Callers push every new value; stale entries are dropped when they
// reach the top or when there are too many of them. Ties go to the smaller key.
class LazyMax {
public:
    struct Entry {
        double value = 0;
        int key = -1;
        bool operator<(const Entry& other) const {
            return value < other.value || (value == other.value && key > other.key);
        }
        bool operator==(const Entry&) const = default;
    };

    void push(double value, int key) {
        heap_.push_back({value, key});
        std::push_heap(heap_.begin(), heap_.end());
    }
    // `current(key)` is the present value of a key. {0, -1} if no value is above 0.
    template <typename Current>
    Entry top(Current current) {
        if (heap_.size() > most_) tidy(current);
        while (!heap_.empty() && current(heap_.front().key) != heap_.front().value) {
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
        return heap_.empty() ? Entry{} : heap_.front();
    }

private:
    template <typename Current>
    void tidy(Current current) {
        std::erase_if(heap_, [&](const Entry& e) { return current(e.key) != e.value; });
        std::sort(heap_.begin(), heap_.end());
        heap_.erase(std::unique(heap_.begin(), heap_.end()), heap_.end());
        std::make_heap(heap_.begin(), heap_.end());
        most_ = 4 * heap_.size() + 4096;
    }

    std::vector<Entry> heap_;
    std::size_t most_ = 4096;
};

}  // namespace rm
