#include "controller/exchange.h"

#include <chrono>

namespace rm {
namespace {

// How soon a waiting call notices a cancelled caller or an ended attempt.
constexpr std::chrono::milliseconds kLook{200};

Status check_rank(const ExchangeTable::Request& request, const std::vector<NodeId>& placement,
                  int rank) {
    if (rank < 0 || rank >= static_cast<int>(placement.size())) {
        return invalid_argument("attempt {} has ranks 0 to {}, not {}", request.epoch,
                                placement.size() - 1, rank);
    }
    const NodeId& home = placement[usize(rank)];
    if (home != request.node) {
        return invalid_argument("rank {} of attempt {} is on node {}, not {}", rank, request.epoch,
                                home, request.node);
    }
    return {};
}

Error too_many(int waiting) {
    return make_error(ErrorCode::unavailable,
                      "{} nodes wait for the addresses of others already; ask again", waiting);
}

}  // namespace

Status ExchangeTable::publish(const Request& request, const std::vector<NodeId>& placement) {
    Blobs& published = groups_[request.epoch][request.group];
    for (const auto& [rank, blob] : request.blobs) {
        RM_RETURN_IF_ERROR(check_rank(request, placement, rank));
        const auto [it, fresh] = published.emplace(rank, blob);
        if (!fresh && it->second != blob) {
            return make_error(ErrorCode::already_exists,
                              "rank {} of attempt {} has published another address in group '{}'",
                              rank, request.epoch, request.group);
        }
    }
    changed_.notify_all();
    return {};
}

void ExchangeTable::free_ended() {
    std::erase_if(groups_, [&](const auto& entry) { return !placement_of_(entry.first).ok(); });
}

Result<std::vector<std::string>> ExchangeTable::exchange(const Request& request,
                                                         const std::function<bool()>& cancelled) {
    RM_TRY(const std::vector<NodeId> placement, placement_of_(request.epoch));
    std::unique_lock lock(mutex_);
    free_ended();
    RM_RETURN_IF_ERROR(publish(request, placement));
    while (true) {
        const Blobs& published = groups_[request.epoch][request.group];
        if (published.size() == placement.size()) {
            std::vector<std::string> table;
            for (const auto& [rank, blob] : published)
                table.push_back(blob);
            return table;
        }
        if (waiting_ >= max_waiting_) return too_many(waiting_);
        ++waiting_;
        changed_.wait_for(lock, kLook);
        --waiting_;
        if (cancelled()) return make_error(ErrorCode::cancelled, "the caller has gone");
        RM_RETURN_IF_ERROR(placement_of_(request.epoch));
    }
}

}  // namespace rm
