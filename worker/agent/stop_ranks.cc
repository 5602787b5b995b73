#include "worker/agent/stop_ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/os/unique_fd.h"
#include "base/text.h"
#include "base/words.h"
#include "worker/agent/attempt_view.h"
#include "worker/agent/shim_client.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kLook{0.1};
constexpr Seconds kKillMargin{10};  // beyond the grace: for a kill and its exit files

// One attempt with processes on this node.
class Stopping {
public:
    Stopping(const AttemptDir& dir, const AttemptFile& file)
        : file_(file), view_(dir, file), shim_(dir.path()) {}

    void tell(Seconds grace) {
        shim_.stop({.epoch = file_.epoch, .mode = StopMode::graceful, .grace = grace});
    }
    bool is_left() {
        shim_.tend();
        status_ = view_.look(clock_.mono()).status;
        return status_.processes_left;
    }
    std::string name() const { return format("attempt {} of job {}", file_.epoch, file_.job); }
    std::string ranks() const { return counted(file_.ranks.size(), "rank"); }
    bool ended_by_itself() const {
        return !status_.processes_left &&
               std::all_of(status_.ranks.begin(), status_.ranks.end(), is_orderly);
    }
    // "stopped; its newest checkpoint is of step 41".
    std::string end() const {
        if (status_.processes_left) {
            return shim_.fd() >= 0 ? "processes are left, although its shim was told"
                                   : "processes are left, and no shim takes commands for them";
        }
        for (const RankStatus& rank : status_.ranks) {
            if (!is_orderly(rank)) return format("rank {}: {}", rank.rank, rank.error);
        }
        const std::string step =
            status_.checkpoint_step > 0
                ? format("; its newest checkpoint is of step {}", status_.checkpoint_step)
                : "";
        return "stopped" + step;
    }

private:
    static bool is_orderly(const RankStatus& rank) {
        return rank.exit_signal == 0 &&
               (rank.exit_code == kRankStopped || rank.exit_code == kRankFinished);
    }

    const SystemClock clock_;
    const AttemptFile file_;
    AttemptView view_;
    ShimClient shim_;
    AttemptStatus status_;
};

struct Found {
    std::vector<std::unique_ptr<Stopping>> attempts;
    std::vector<std::string> unreadable;
};

void add(const AttemptDir& dir, Found& found) {
    if (!is_live(dir.live_lock())) return;
    const Result<std::string> text = read_text_file(dir.attempt());
    const Result<AttemptFile> file = text ? parse_attempt_file(*text) : text.error();
    if (file) {
        found.attempts.push_back(std::make_unique<Stopping>(dir, *file));
    } else {
        found.unreadable.push_back(format("processes run in {}, but it cannot be read: {}",
                                          dir.path(), file.error().message));
    }
}

Result<Found> find_live(const std::string& attempts_dir) {
    Found found;
    std::error_code failed;
    fs::directory_iterator entry(attempts_dir, failed);
    if (failed == std::errc::no_such_file_or_directory) return found;  // it never had one
    while (!failed && entry != fs::directory_iterator()) {
        add(AttemptDir(entry->path().string()), found);
        entry.increment(failed);
    }
    if (failed) return system_error("cannot list", attempts_dir, failed.value());
    return found;
}

// An exit that a power cut loses would make the stop a failure of the job.
Status sync_files(const std::string& dir) {
    const UniqueFd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::syncfs(fd.get()) != 0) return system_error("cannot sync", dir, errno);
    return {};
}

}  // namespace

Status stop_ranks(const std::string& state_dir, Seconds grace,
                  const std::function<void(const std::string&)>& say) {
    const std::string attempts_dir = state_dir + "/attempts";
    RM_TRY(Found found, find_live(attempts_dir));
    auto& left = found.attempts;
    for (const std::string& words : found.unreadable)
        say(words);
    if (left.empty() && found.unreadable.empty()) {
        say(format("no rank runs below {}", state_dir));
        return {};
    }
    for (const auto& attempt : left) {
        say(format("{}: {} must stop within {}", attempt->name(), attempt->ranks(), grace));
        attempt->tell(grace);
    }
    auto disorderly = found.unreadable.size();
    const auto take_end = [&](const std::unique_ptr<Stopping>& attempt) {
        say(format("{}: {}", attempt->name(), attempt->end()));
        if (!attempt->ended_by_itself()) ++disorderly;
    };
    const SystemClock clock;
    const MonoTime start = clock.mono();
    while (!left.empty() && clock.mono() - start < grace + kKillMargin) {
        std::this_thread::sleep_for(std::chrono::duration<double>(kLook.value));
        std::erase_if(left, [&](const std::unique_ptr<Stopping>& attempt) {
            if (attempt->is_left()) return false;
            take_end(attempt);
            return true;
        });
    }
    for (const auto& attempt : left)
        take_end(attempt);
    RM_RETURN_IF_ERROR(sync_files(attempts_dir));
    if (disorderly == 0) return {};
    return make_error(ErrorCode::unavailable,
                      "{} did not end with a checkpoint and continue from an older one",
                      counted(disorderly, "attempt"));
}

}  // namespace rm
