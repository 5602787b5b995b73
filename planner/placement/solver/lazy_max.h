#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rm {

// The largest of values that keep changing. Every new value is pushed; entries that no longer hold
// are dropped when they come to the top, or when they have become too many. Ties go to the smaller
// key.
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
    // `current(key)` is the value that a key has now. {0, -1} where there is none above 0.
    template <typename Current>
    Entry top(Current current) {
        if (heap_.size() > most_) tidy(current);
        while (!heap_.empty() && current(heap_.front().key) != heap_.front().value) {
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
        return heap_.empty() ? Entry{} : heap_.front();
    }
    void clear() { heap_.clear(); }

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
