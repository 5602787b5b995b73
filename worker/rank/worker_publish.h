#pragma once

#include <atomic>
#include <string>

#include "engine/run/run_rank.h"

namespace rm {

// Asks the controller, through the worker's exchange.sock, whether this attempt may still publish.
// UNAVAILABLE while daemon or controller are away, at once when `stop` is set.
class WorkerPublishGuard final : public PublishGuard {
public:
    WorkerPublishGuard(std::string dir, int rank, const std::atomic<bool>& stop)
        : dir_(std::move(dir)), rank_(rank), stop_(stop) {}

    Status may_publish(Seconds limit) override;

private:
    const std::string dir_;
    const int rank_;
    const std::atomic<bool>& stop_;
};

}  // namespace rm
