#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "engine/comm/exchange.h"
#include "engine/comm/message.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

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

std::unique_ptr<Exchange> make_directory_exchange(std::string directory, int rank, int num_ranks) {
    return std::make_unique<DirectoryExchange>(std::move(directory), rank, num_ranks);
}

}  // namespace rm
