#pragma once

#include <optional>
#include <vector>

#include "engine/schedule/clock.h"

namespace rm {

// The transfers of one rank's streams, one of a stream at a time, which slow each other where
// their groups share links: each goes on at its share of the speed from one begin or end to the
// next. Borrows the links.
class SharedLinks {
public:
    SharedLinks(const LinkSpeeds& links, std::size_t num_streams)
        : links_(links), transfers_(num_streams) {}

    bool is_shared(int group) const;
    // `seconds`: that it takes alone. None may begin before the last that ended.
    void begin(std::size_t stream, int group, double time, double seconds);
    bool is_busy(std::size_t stream) const { return transfers_[stream].has_value(); }

    struct Ended {
        std::size_t stream = 0;
        double begin = 0, end = 0;
    };
    // Ends the transfer that ends first if no other begins before; nothing: there is none.
    std::optional<Ended> end_first();

private:
    struct Transfer {
        int group = 0;
        double begin = 0;
        double since = 0;     // the time from which on `left` counts
        double left = 0;      // seconds that the rest of it takes alone
        double slowness = 1;  // how many times as long as alone it takes at this moment
    };

    double first_since() const;
    double next_begin(double now) const;
    void share(double now);
    void advance(double now, double until);

    const LinkSpeeds& links_;
    std::vector<std::optional<Transfer>> transfers_;  // by stream
    double last_end_ = 0;
};

}  // namespace rm
