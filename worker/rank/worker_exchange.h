#pragma once

#include <atomic>
#include <string>

#include "engine/comm/exchange.h"
#include "worker/dir/exchange_lines.h"
#include "worker/dir/unix_socket.h"

namespace rm {

// Finds the other ranks through the worker: publishes over exchange.sock of the attempt's directory
// and waits for the table. The daemon may be away or restart meanwhile; publishes the blob again
// until the timeout. CANCELLED once `stop` is set.
class WorkerExchange final : public Exchange {
public:
    WorkerExchange(std::string dir, int rank, const std::atomic<bool>& stop)
        : dir_(std::move(dir)), rank_(rank), stop_(stop) {}

    Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                              Seconds timeout) override;

private:
    Result<std::vector<std::string>> ask(const std::string& question, Seconds timeout);

    const std::string dir_;
    const int rank_;
    const std::atomic<bool>& stop_;
};

}  // namespace rm
