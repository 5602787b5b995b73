#include "engine/comm/exchange.h"

#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "engine/comm/message.h"

namespace rm {
namespace {

namespace fs = std::filesystem;
using Blobs = std::vector<std::optional<std::string>>;  // indexed by rank

class Board {
public:
    explicit Board(int num_ranks) : num_ranks_(usize(num_ranks)) {}

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

class DirectoryExchange final : public Exchange {
public:
    DirectoryExchange(std::string directory, int rank, int num_ranks)
        : directory_(std::move(directory)), rank_(rank), num_ranks_(num_ranks) {}

    Result<std::vector<std::string>> exchange(std::string_view group, std::string blob,
                                              Seconds timeout) override {
        const auto deadline = deadline_after(timeout);
        RM_RETURN_IF_ERROR(check_group_name(group));
        RM_RETURN_IF_ERROR(publish(group, blob));
        for (;;) {
            const std::vector<int> late = missing(group);
            if (late.empty()) return read_all(group);
            if (std::chrono::steady_clock::now() >= deadline) {
                return missing_ranks_error(group, late, num_ranks_, timeout);
            }
            std::this_thread::sleep_for(kPollInterval);
        }
    }

private:
    static constexpr std::chrono::milliseconds kPollInterval{5};

    fs::path file(std::string_view group, int rank) const {
        return fs::path(directory_) / format("{}.{}", group, rank);
    }

    // Written aside and renamed: a file that can be seen is complete.
    Status publish(std::string_view group, const std::string& blob) const {
        const fs::path final_path = file(group, rank_);
        fs::path aside = final_path;
        aside += format(".tmp{}", getpid());
        std::ofstream out(aside, std::ios::binary | std::ios::trunc);
        out << blob;
        out.close();
        std::error_code failure;
        if (out) fs::rename(aside, final_path, failure);
        if (out && !failure) return {};
        return make_error(ErrorCode::unavailable,
                          "exchange '{}': rank {} cannot write {}; the directory must exist and be "
                          "writable by every rank",
                          group, rank_, final_path.string());
    }

    std::vector<int> missing(std::string_view group) const {
        std::vector<int> ranks;
        for (int rank = 0; rank < num_ranks_; ++rank) {
            std::error_code ignored;
            if (!fs::exists(file(group, rank), ignored)) ranks.push_back(rank);
        }
        return ranks;
    }

    Result<std::vector<std::string>> read_all(std::string_view group) const {
        std::vector<std::string> table;
        for (int rank = 0; rank < num_ranks_; ++rank) {
            const fs::path path = file(group, rank);
            std::ifstream in(path, std::ios::binary);
            std::ostringstream text;
            if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
            if (in.bad() || !in.is_open()) {
                return make_error(ErrorCode::unavailable, "exchange '{}': cannot read {}", group,
                                  path.string());
            }
            table.push_back(text.str());
        }
        return table;
    }

    std::string directory_;
    int rank_;
    int num_ranks_;
};

}  // namespace

std::vector<std::unique_ptr<Exchange>> make_local_exchanges(int num_ranks) {
    auto board = std::make_shared<Board>(num_ranks);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (int rank = 0; rank < num_ranks; ++rank) {
        exchanges.push_back(std::make_unique<LocalExchange>(board, usize(rank)));
    }
    return exchanges;
}

std::unique_ptr<Exchange> make_directory_exchange(std::string directory, int rank, int num_ranks) {
    return std::make_unique<DirectoryExchange>(std::move(directory), rank, num_ranks);
}

}  // namespace rm
