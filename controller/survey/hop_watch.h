#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/units.h"
#include "controller/survey/link_book.h"

namespace rm {

// The best rate of a rank's messages from the previous rank on its ring, in one step. The two ranks
// are on different nodes.
struct HopSample {
    Epoch epoch;
    LinkEnds ends;
    int from_rank = 0;
    int to_rank = 0;
    int stage = 0;  // message sizes differ between stages
    std::int64_t step = 0;
    GbitPerSec rate;
};

// Notices that the ring hops of an attempt have become slow, compared with its own first steps: a
// rate beside a step's other traffic is not the rate of the link. Pure.
class HopWatch {
public:
    // Returns why links should be measured, if this sample gives a reason. Repeated steps count
    // once.
    std::optional<std::string> take(const HopSample& sample, MonoTime now);
    // Forgets all attempts but these.
    void keep_only(const std::set<Epoch>& live);

    static constexpr std::size_t kSteps = 20;  // of the baseline; as many are compared with it
    static constexpr double kSlow = 0.7;       // of the baseline
    // Time between two reports about an attempt. One slow link slows the hops of a whole ring, and
    // a survey measures all links.
    static constexpr Seconds kPause{600};

private:
    struct Series {
        int stage = 0;
        std::int64_t last_step = 0;
        std::vector<double> first;  // Gbit/s, of kSteps steps at most
        std::deque<double> last;    // of kSteps steps after them at most
    };
    std::map<std::pair<Epoch, std::pair<int, int>>, Series> series_;  // by attempt and ranks
    std::map<Epoch, MonoTime> said_;
};

}  // namespace rm
