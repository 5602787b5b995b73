#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/os/port_range.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "spec/session.h"
#include "worker/dir/process.h"

// The directory of one attempt on one node, through which daemon, shim and ranks share state. The
// format is documented in docs/formats/shim_directory.md.
namespace rm {

class AttemptDir {
public:
    explicit AttemptDir(std::string path) : path_(std::move(path)) {}
    static AttemptDir of_epoch(const std::string& attempts_dir, Epoch epoch);

    const std::string& path() const { return path_; }
    std::string file(std::string_view name) const { return format("{}/{}", path_, name); }
    std::string rank_file(int rank, std::string_view kind) const {
        return format("{}/rank-{}.{}", path_, rank, kind);
    }

    std::string attempt() const { return file("attempt.json"); }
    std::string launch() const { return file("launch.json"); }
    std::string shim() const { return file("shim.json"); }
    std::string shim_log() const { return file("shim.log"); }
    std::string live_lock() const { return file("live.lock"); }
    std::string telemetry() const { return file("telemetry.json"); }
    std::string config(int rank) const { return rank_file(rank, "json"); }
    std::string progress(int rank) const { return rank_file(rank, "progress"); }
    std::string log(int rank) const { return rank_file(rank, "log"); }
    std::string reports(int rank) const { return rank_file(rank, "reports.jsonl"); }
    std::string last_words(int rank) const { return rank_file(rank, "error"); }
    std::string exit(int rank) const { return rank_file(rank, "exit"); }
    std::string exit_room(int rank) const { return rank_file(rank, "exit-room"); }

private:
    std::string path_;
};

// Names of the sockets in the directory.
constexpr const char* kShimSocket = "shim.sock";
constexpr const char* kExchangeSocket = "exchange.sock";

// How a shim reacts when no daemon has been connected to it for a while.
enum class OrphanMode { keep, stop };
constexpr auto vocabulary_of(OrphanMode) {
    return vocabulary<OrphanMode>("orphan mode",
                                  {{OrphanMode::keep, "keep"}, {OrphanMode::stop, "stop"}});
}
struct OrphanPolicy {
    OrphanMode mode = OrphanMode::keep;
    Seconds timeout{20};
    Seconds grace{60};  // of the graceful stop that follows; also of a SIGTERM to the shim
    bool operator==(const OrphanPolicy&) const = default;
};

// attempt.json: written by the daemon before it starts the shim.
struct AttemptFile {
    Epoch epoch;
    JobId job;
    std::vector<RankLaunch> ranks;          // of this node
    int num_ranks = 0;                      // of the whole mesh
    std::string data_address;               // a local address that ranks listen on
    std::vector<std::string> rank_command;  // + directory and rank number: how a rank is started
    OrphanPolicy orphan;
    PortRange ports;  // where its ranks listen for ranks of other nodes
    bool operator==(const AttemptFile&) const = default;
};
std::string to_json(const AttemptFile& file);
Result<AttemptFile> parse_attempt_file(std::string_view text);

// shim.json: written by the shim before it starts the first rank, and again after the last.
struct ShimFile {
    struct Rank {
        int rank = 0;
        ProcessId process;
        bool operator==(const Rank&) const = default;
    };
    Epoch epoch;
    JobId job;
    ProcessId shim;
    std::string boot_id;
    std::vector<Rank> ranks;  // the ranks that have started
    bool operator==(const ShimFile&) const = default;
};
std::string to_json(const ShimFile& file);
Result<ShimFile> parse_shim_file(std::string_view text);

// rank-N.exit: written by the shim when the rank has ended.
struct ExitFile {
    // The rank's exit code. After a signal: 0 if the shim sent it, kRankOutOfMemory if the kernel
    // killed the rank for lack of memory, otherwise kRankFailed.
    int code = 0;
    int signal = 0;               // 0: it exited
    std::string words;            // its last words or the end of its log; empty: it ended as asked
    std::int64_t mono_nanos = 0;  // CLOCK_MONOTONIC: orders the exits of one node
    bool operator==(const ExitFile&) const = default;
};
std::string to_json(const ExitFile& file);
Result<ExitFile> parse_exit_file(std::string_view text);

// A rank process calls this first: from then on the kernel kills it when its shim ends for any
// reason. FAILED_PRECONDITION when the shim has ended already.
Status tie_to_shim(const AttemptDir& dir);

}  // namespace rm
