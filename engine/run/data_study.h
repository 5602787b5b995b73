#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "base/fault.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/data/text/text_source.h"

namespace rm {

struct RankParts;

// Work on a thread of its own whose result is needed much later. Destruction cancels it.
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

    // Nothing: the work has not ended within `limit`.
    std::optional<Result<T>> wait_for(Seconds limit) const {
        const std::chrono::duration<double> seconds(limit.value);
        if (result_.wait_for(seconds) != std::future_status::ready) return std::nullopt;
        return result_.get();
    }

    // Waits until it has ended; `waiting` counts its progress and can cancel the wait.
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
    Activity activity_;  // outlives its users below
    std::shared_future<Result<T>> result_;
};

// Facts about the data that rank 0 needs and that take long to read. Rank 0 reads while the ranks
// load and train; other ranks have no facts.
class DataStudy {
public:
    DataStudy() = default;
    DataStudy(const DataStudy&) = delete;
    DataStudy& operator=(const DataStudy&) = delete;

    // Starts the reads that the job needs. Borrows the data and the faults, which outlive this.
    void begin(RankParts& parts);

    // The data's hash, for rank 0 of a job that saves or resumes; waits until it is known.
    Result<std::string> content_hash(Activity& waiting) const;
    // The text's entropies, for rank 0 of a job that evaluates. Outer: nothing while the text is
    // still being read. Inner: nothing if its tokens are not bytes.
    std::optional<Result<std::optional<TextEntropies>>> entropies() const;

private:
    std::optional<Background<std::string>> hash_;
    std::optional<Background<std::optional<TextEntropies>>> entropies_;
};

}  // namespace rm
