#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>

#include "base/fault.h"
#include "base/result.h"
#include "base/units.h"

namespace rm {

// Work that begins long before its result is needed. Given up when it is destroyed.
template <typename T>
class Background {
public:
    using Work = std::function<Result<T>(Activity&)>;

    explicit Background(Work work)
        : result_(std::async(std::launch::async,
                             [this, work = std::move(work)] { return work(activity_); })) {}
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    ~Background() { activity_.cancelled = true; }

    // Nothing: it is not over within `limit`.
    std::optional<Result<T>> wait_for(Seconds limit) const {
        const std::chrono::duration<double> seconds(limit.value);
        if (result_.wait_for(seconds) != std::future_status::ready) return std::nullopt;
        return result_.get();
    }

    // Until it is over; `waiting` moves with it and ends the wait.
    Result<T> wait(Activity& waiting) const {
        constexpr Seconds kLook{0.05};
        const std::int64_t before = waiting.done;
        while (true) {
            if (auto result = wait_for(kLook)) return *std::move(result);
            RM_RETURN_IF_ERROR(waiting.check());
            waiting.done = before + activity_.done;
        }
    }

private:
    Activity activity_;  // before what uses it
    std::shared_future<Result<T>> result_;
};

}  // namespace rm
