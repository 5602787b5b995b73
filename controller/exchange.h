#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace rm {

// Lets the ranks of an attempt find each other: each publishes one blob per group, and all get the
// table once the last rank has published. Kept in memory only: workers repeat the call after a
// restart of the controller.
class ExchangeTable {
public:
    // Returns the node of each rank of a live attempt that is the newest of its job;
    // FAILED_PRECONDITION for any other epoch.
    using PlacementOf = std::function<Result<std::vector<NodeId>>(Epoch)>;
    // Each waiting call holds a thread. The default for `max_waiting` suffices for 512 nodes.
    explicit ExchangeTable(PlacementOf placement_of, int max_waiting = 1000)
        : placement_of_(std::move(placement_of)), max_waiting_(max_waiting) {}

    struct Request {
        Epoch epoch;
        std::string group;
        NodeId node;
        std::map<int, std::string> blobs;  // of ranks on `node`
    };
    // Waits until every rank of the attempt has published in the group, the attempt has ended
    // (FAILED_PRECONDITION) or `cancelled` returns true (CANCELLED). Repeated blobs get the same
    // table; a different blob of the same rank is ALREADY_EXISTS. UNAVAILABLE: the blobs are kept,
    // but too many callers wait already; call again.
    Result<std::vector<std::string>> exchange(const Request& request,
                                              const std::function<bool()>& cancelled);

private:
    using Blobs = std::map<int, std::string>;

    Status publish(const Request& request, const std::vector<NodeId>& placement);
    void free_ended();

    const PlacementOf placement_of_;
    const int max_waiting_;
    int waiting_ = 0;  // under the mutex
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Epoch, std::map<std::string, Blobs>> groups_;
};

}  // namespace rm
