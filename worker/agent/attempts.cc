#include "worker/agent/attempts.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/train/rank_config.h"
#include "worker/agent/launch_files.h"
#include "worker/dir/files.h"
#include "worker/dir/live_lock.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

Status make_directory(const std::string& path) {
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed) return system_error("cannot make", path, failed.value());
    return {};
}

// On a read-only or failing disk the directory stays, and a later look tries again.
Status remove_directory(const std::string& path) {
    std::error_code failed;
    fs::remove_all(path, failed);
    if (failed) return system_error("cannot remove", path, failed.value());
    return {};
}

}  // namespace

std::string live_attempt_in(const std::string& state_dir) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(state_dir + "/attempts", failed)) {
        const AttemptDir dir(entry.path().string());
        if (is_live(dir.live_lock())) return dir.path();
    }
    return "";
}

Result<std::unique_ptr<Attempts>> Attempts::open(AttemptsOptions options, Rendezvous& rendezvous) {
    std::unique_ptr<Attempts> attempts(new Attempts(std::move(options), rendezvous));
    RM_RETURN_IF_ERROR(attempts->take_up_existing());
    return attempts;
}

Attempts::Attempts(AttemptsOptions options, Rendezvous& rendezvous)
    : options_(std::move(options)),
      attempts_dir_(options_.state_dir + "/attempts"),
      rendezvous_(rendezvous) {}

Status Attempts::take_up_existing() {
    RM_RETURN_IF_ERROR(make_directory(attempts_dir_));
    std::error_code failed;
    fs::directory_iterator entry(attempts_dir_, failed);
    while (!failed && entry != fs::directory_iterator()) {
        RM_RETURN_IF_ERROR(take_up(entry->path().string()));
        entry.increment(failed);
    }
    if (failed) return system_error("cannot list", attempts_dir_, failed.value());
    return {};
}

Status Attempts::take_up(const std::string& path) {
    const AttemptDir dir(path);
    const Result<std::string> text = read_text_file(dir.attempt());
    const Result<AttemptFile> file = text ? parse_attempt_file(*text) : text.error();
    const bool live = is_live(dir.live_lock());
    if (!file && live) {
        return make_error(ErrorCode::data_loss,
                          "processes run in {} but it cannot be read: {}; end them first", path,
                          file.error().message);
    }
    if (!file) {  // an incomplete start
        [[maybe_unused]] const Status removed = remove_directory(path);
        return {};
    }
    auto attempt = std::make_unique<Attempt>(dir, *file);
    attempt->live = live;
    if (live) {
        std::vector<int> ranks;
        for (const RankLaunch& rank : file->ranks)
            ranks.push_back(rank.rank);
        RM_TRY(attempt->exchange, ExchangeServer::start(path, file->epoch, ranks, rendezvous_));
        attempt->shim.tend();
    }
    attempts_[file->epoch] = std::move(attempt);
    return {};
}

Status Attempts::start(const LaunchAttempt& launch) {
    const std::lock_guard lock(mutex_);
    const AttemptDir dir = AttemptDir::of_epoch(attempts_dir_, launch.epoch);
    if (is_live(dir.live_lock())) {
        return make_error(ErrorCode::failed_precondition, "processes of epoch {} are left in {}",
                          launch.epoch, dir.path());
    }
    attempts_.erase(launch.epoch);
    RM_RETURN_IF_ERROR(remove_directory(dir.path()));
    Status started = start_in(dir, launch);
    if (started) return started;
    attempts_.erase(launch.epoch);
    // The next start of this worker removes what is left.
    [[maybe_unused]] const Status removed = remove_directory(dir.path());
    return started;
}

Status Attempts::start_in(const AttemptDir& dir, const LaunchAttempt& launch) {
    RM_TRY(const LaunchAttempt here, find_paths(options_.roots, launch));
    const std::string run_dir = format("{}/runs/{}", options_.state_dir, launch.job);
    RM_RETURN_IF_ERROR(make_directory(dir.path()));
    RM_RETURN_IF_ERROR(make_directory(run_dir));
    const AttemptFile file = attempt_file_of(launch, options_.inventory, options_.terms);
    std::vector<int> ranks;
    for (const RankLaunch& rank : launch.ranks) {
        const RankConfig config =
            rank_config_of(here, rank, options_.inventory, options_.terms, run_dir);
        RM_RETURN_IF_ERROR(replace_text_file(dir.config(rank.rank), to_json(config)));
        ranks.push_back(rank.rank);
    }
    RM_RETURN_IF_ERROR(replace_text_file(dir.launch(), to_json(launch)));
    RM_RETURN_IF_ERROR(replace_text_file(dir.attempt(), to_json(file)));
    auto attempt = std::make_unique<Attempt>(dir, file);
    RM_TRY(attempt->exchange, ExchangeServer::start(dir.path(), launch.epoch, ranks, rendezvous_));
    RM_TRY(const LiveLock live_lock, LiveLock::take(dir.live_lock()));
    SpawnRequest request{.argv = options_.shim_command,
                         .output = dir.shim_log(),
                         .leads = Leads::session,
                         .live_lock = live_lock.fd()};
    request.argv.push_back(dir.path());
    RM_TRY(attempt->shim_pid, spawn(request));
    attempts_[launch.epoch] = std::move(attempt);
    return {};
}

void Attempts::stop(const StopAttempt& stop) {
    const std::lock_guard lock(mutex_);
    const auto known = attempts_.find(stop.epoch);
    if (known != attempts_.end()) known->second->shim.stop(stop);
}

void Attempts::stop_all(StopMode mode, Seconds grace) {
    const std::lock_guard lock(mutex_);
    for (auto& [epoch, attempt] : attempts_) {
        if (attempt->live) attempt->shim.stop({.epoch = epoch, .mode = mode, .grace = grace});
    }
}

bool Attempts::any_left() const {
    const std::lock_guard lock(mutex_);
    return std::any_of(attempts_.begin(), attempts_.end(),
                       [](const auto& entry) { return entry.second->live; });
}

bool Attempts::drained() const {
    const std::lock_guard lock(mutex_);
    return std::all_of(attempts_.begin(), attempts_.end(),
                       [](const auto& entry) { return entry.second->spool.drained(); });
}

std::vector<LaunchAttempt> Attempts::launches() const {
    const std::lock_guard lock(mutex_);
    std::vector<LaunchAttempt> launches;
    for (const auto& [epoch, attempt] : attempts_) {
        const Result<std::string> text = read_text_file(attempt->dir.launch());
        Result<LaunchAttempt> launch = text ? parse_launch(*text) : text.error();
        if (launch) launches.push_back(std::move(*launch));
    }
    return launches;
}

void Attempts::forget(Epoch epoch, MonoTime now) {
    const std::lock_guard lock(mutex_);
    const auto known = attempts_.find(epoch);
    if (known != attempts_.end()) known->second->forgotten = now;
}

std::vector<Observation> Attempts::look(MonoTime now) {
    const std::lock_guard lock(mutex_);
    std::vector<Observation> seen;
    for (auto next = attempts_.begin(); next != attempts_.end();) {
        Attempt& attempt = *next->second;
        if (may_go(attempt, now) && remove_directory(attempt.dir.path())) {
            next = attempts_.erase(next);
            continue;
        }
        seen.push_back(look_at(attempt, now));
        ++next;
    }
    return seen;
}

Observation Attempts::look_at(Attempt& attempt, MonoTime now) {
    if (attempt.live) attempt.shim.tend();
    if (attempt.shim_pid != 0 && ::waitpid(attempt.shim_pid, nullptr, WNOHANG) != 0) {
        attempt.shim_pid = 0;
    }
    Observation seen = attempt.view.look(now);
    attempt.live = seen.status.processes_left;
    if (!attempt.live) attempt.exchange.reset();
    attempt.spool.trim(clock_.wall());
    // A full disk costs repetition only, and shows where it matters.
    [[maybe_unused]] const Status saved = attempt.spool.save();
    return seen;
}

bool Attempts::may_go(const Attempt& attempt, MonoTime now) const {
    if (!attempt.forgotten || attempt.live || attempt.shim_pid != 0) return false;
    return attempt.spool.drained() || now - *attempt.forgotten > kKeepForgotten;
}

void Attempts::wait(Seconds timeout) const {
    std::vector<pollfd> entries;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [epoch, attempt] : attempts_) {
            if (attempt->shim.fd() >= 0) entries.push_back({attempt->shim.fd(), POLLIN, 0});
        }
    }
    ::poll(entries.data(), entries.size(), static_cast<int>(timeout.value * 1e3));
}

std::optional<SpooledPiece> Attempts::next_piece() {
    const std::lock_guard lock(mutex_);
    for (auto& [epoch, attempt] : attempts_) {
        if (auto piece = attempt->spool.next()) return piece;
    }
    return std::nullopt;
}

void Attempts::rewind() {
    const std::lock_guard lock(mutex_);
    for (auto& [epoch, attempt] : attempts_)
        attempt->spool.rewind();
}

void Attempts::acknowledge(Epoch epoch, int rank, std::int64_t reports_offset,
                           std::int64_t log_offset) {
    const std::lock_guard lock(mutex_);
    const auto known = attempts_.find(epoch);
    if (known != attempts_.end()) {
        known->second->spool.acknowledge(rank, reports_offset, log_offset);
    }
}

}  // namespace rm
