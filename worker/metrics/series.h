#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "service/http/metrics.h"

namespace rm {

using Gauges = prometheus::Family<prometheus::Gauge>;
using Counters = prometheus::Family<prometheus::Counter>;
using Histograms = prometheus::Family<prometheus::Histogram>;

// The children of one run: created through this object at their first use and removed with it.
class Series {
public:
    Series() = default;
    ~Series() {
        for (const auto& remove : removals_)
            remove();
    }
    Series(const Series&) = delete;
    Series& operator=(const Series&) = delete;

    template <typename Metric, typename... Args>
    Metric& add(prometheus::Family<Metric>& family, const prometheus::Labels& labels,
                Args&&... args) {
        Metric& child = family.Add(labels, std::forward<Args>(args)...);
        const bool is_new = known_.insert(&child).second;
        if (is_new) removals_.push_back([&family, &child] { family.Remove(&child); });
        return child;
    }

private:
    std::set<const void*> known_;
    std::vector<std::function<void()>> removals_;
};

}  // namespace rm
