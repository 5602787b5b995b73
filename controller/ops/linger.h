#pragma once

#include <chrono>
#include <optional>

namespace rm {

// Decides when a stream that follows a job is over: once the job has ended and no data has arrived
// for a moment, since the last reports and log lines travel apart from the last status. If the job
// had ended before the stream began, the stream is over at once.
class Linger {
public:
    void saw_data() { last_ = Clock::now(); }
    bool is_over(bool ended) {
        const bool first_look = !last_.has_value();
        if (first_look) last_ = Clock::now();
        if (!ended) return false;
        if (first_look) return true;
        if (!ended_) saw_data();
        ended_ = true;
        return Clock::now() - *last_ > kQuiet;
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kQuiet{400};

    std::optional<Clock::time_point> last_;  // time of the last data, the end, or the first look
    bool ended_ = false;
};

}  // namespace rm
