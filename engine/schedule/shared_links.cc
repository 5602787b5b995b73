#include "engine/schedule/shared_links.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace rm {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

bool SharedLinks::is_shared(int group) const {
    const auto link = links_.find(group);
    return link != links_.end() && !link->second.slowed_by.empty();
}

void SharedLinks::begin(std::size_t stream, int group, double time, double seconds) {
    RM_CHECK(!is_busy(stream), "stream {} transfers already", stream);
    transfers_[stream] = Transfer{group, time, std::max(time, last_end_), seconds};
}

double SharedLinks::first_since() const {
    double first = kNever;
    for (const auto& transfer : transfers_)
        if (transfer) first = std::min(first, transfer->since);
    return first;
}

double SharedLinks::next_begin(double now) const {
    double next = kNever;
    for (const auto& transfer : transfers_)
        if (transfer && transfer->since > now) next = std::min(next, transfer->since);
    return next;
}

// Among the transfers under way.
void SharedLinks::share(double now) {
    for (auto& transfer : transfers_) {
        if (!transfer || transfer->since > now) continue;
        transfer->slowness = 1;
        const auto& slowed_by = links_.at(transfer->group).slowed_by;
        for (const auto& other : transfers_) {
            if (&other == &transfer || !other || other->since > now) continue;
            const auto slows = slowed_by.find(other->group);
            if (slows != slowed_by.end()) transfer->slowness += slows->second;
        }
    }
}

void SharedLinks::advance(double now, double until) {
    for (auto& transfer : transfers_) {
        if (!transfer || transfer->since > now) continue;
        transfer->left = std::max(0.0, transfer->left - (until - now) / transfer->slowness);
        transfer->since = until;
    }
}

std::optional<SharedLinks::Ended> SharedLinks::end_first() {
    for (double now = first_since(); now != kNever; now = first_since()) {
        share(now);
        std::size_t first = 0;
        double end = kNever;
        for (std::size_t stream = 0; stream < transfers_.size(); ++stream) {
            const auto& transfer = transfers_[stream];
            if (!transfer || transfer->since > now) continue;
            const double over = now + transfer->left * transfer->slowness;
            if (over >= end) continue;
            first = stream;
            end = over;
        }
        const double next = next_begin(now);
        advance(now, std::min(next, end));
        if (next < end) continue;
        last_end_ = end;
        const double begin = transfers_[first]->begin;
        transfers_[first].reset();
        return Ended{first, begin, end};
    }
    return std::nullopt;
}

}  // namespace rm
