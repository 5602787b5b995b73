#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "engine/comm/exchange.h"
#include "engine/comm/message.h"

namespace rm {
namespace {

using Blobs = std::vector<std::optional<std::string>>;  // indexed by rank

class Board {
public:
    explicit Board(int num_ranks) : num_ranks_(static_cast<std::size_t>(num_ranks)) {}

    Result<std::vector<std::string>> exchange(std::string_view group, std::size_t rank,
                                              std::string blob, Seconds timeout) {
        std::unique_lock lock(mutex_);
        Blobs& blobs = groups_.try_emplace(std::string(group), num_ranks_).first->second;
        if (blobs[rank] && *blobs[rank] != blob) {
            return make_error(ErrorCode::already_exists,
                              "exchange '{}': rank {} has already published another blob", group,
                              rank);
        }
        blobs[rank] = std::move(blob);
        published_.notify_all();
        published_.wait_until(lock, deadline_after(timeout),
                              [&] { return missing(blobs).empty(); });
        if (const auto late = missing(blobs); !late.empty()) {
            return missing_ranks_error(group, late, static_cast<int>(num_ranks_), timeout);
        }
        std::vector<std::string> table;
        for (const auto& each : blobs)
            table.push_back(*each);
        return table;
    }

private:
    static std::vector<int> missing(const Blobs& blobs) {
        std::vector<int> ranks;
        for (std::size_t rank = 0; rank < blobs.size(); ++rank) {
            if (!blobs[rank]) ranks.push_back(static_cast<int>(rank));
        }
        return ranks;
    }

    std::size_t num_ranks_;
    std::mutex mutex_;
    std::condition_variable published_;
    std::map<std::string, Blobs> groups_;
};

class LocalExchange final : public Exchange {
public:
    LocalExchange(std::shared_ptr<Board> board, std::size_t rank)
        : board_(std::move(board)), rank_(rank) {}

    Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                              Seconds timeout) override {
        RM_RETURN_IF_ERROR(check_group_name(group));
        return board_->exchange(group, rank_, std::move(blob), timeout);
    }

private:
    std::shared_ptr<Board> board_;  // owned by the exchanges of all ranks together
    std::size_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Exchange>> make_local_exchanges(int num_ranks) {
    auto board = std::make_shared<Board>(num_ranks);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (int rank = 0; rank < num_ranks; ++rank) {
        exchanges.push_back(std::make_unique<LocalExchange>(board, static_cast<std::size_t>(rank)));
    }
    return exchanges;
}

}  // namespace rm
