#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/usize.h"

// How ranks end and why attempts fail, each in one table: an exit code is a row of kRankExits, a
// failure class is a row of kFailures. Retries, the database and `explain` read these rows.
namespace rm {

// Keep `lost` last.
enum class FailureClass {
    none,
    bad_input,
    out_of_memory,
    device_fault,
    rank,    // any other exit or signal
    launch,  // a node could not or would not run its ranks
    stall,   // no progress anywhere in the attempt
    lost     // no worker reported on it for lost_after
};

// device: excluded from further attempts of the job. node: the job moves to other nodes if it can,
// and a node that fails several jobs is taken out of service.
enum class Culprit { unknown, job, device, node, cluster };
// no: the same plan would fail again. elsewhere: it would fail again here but may work on other
// nodes.
enum class Retried { no, elsewhere, yes };

// Advice that `explain` gives. Words in braces are filled in; a sentence with an unknown one is
// left out.
struct Remedies {
    std::string_view attempt;  // after a failed attempt
    std::string_view job;      // after a failed job; empty: continue the job
};

struct FailureRow {
    FailureClass kind;
    std::string_view name;  // in the database, on the wire and on the screen
    Retried retried;
    Culprit culprit;
    Remedies remedies;
};

inline constexpr Remedies kCorrectIt{
    "the same input fails again: correct the job file, model or data first",
    "correct what it names, then submit the job file again{from}"};
inline constexpr Remedies kGiveMemory{
    "give it {memory}",
    "unchanged it runs out of memory again: give it {memory}, then submit the job file{from}"};
inline constexpr Remedies kDrainIt{"take the node out of service: `ringmaster drain {node}`", ""};
inline constexpr Remedies kReadLog{
    "Last log lines: `ringmaster logs {job} --attempt {attempt} --rank {rank}`", ""};

inline constexpr std::array kFailures{
    FailureRow{FailureClass::none, "none", Retried::no, Culprit::unknown, {}},
    FailureRow{FailureClass::bad_input, "bad_input", Retried::no, Culprit::job, kCorrectIt},
    FailureRow{FailureClass::out_of_memory, "out_of_memory", Retried::no, Culprit::job,
               kGiveMemory},
    FailureRow{FailureClass::device_fault, "device_fault", Retried::yes, Culprit::device, kDrainIt},
    FailureRow{FailureClass::rank, "rank", Retried::yes, Culprit::unknown, kReadLog},
    FailureRow{FailureClass::launch, "launch", Retried::yes, Culprit::node, kReadLog},
    FailureRow{FailureClass::stall, "stall", Retried::yes, Culprit::unknown, kReadLog},
    FailureRow{FailureClass::lost, "lost", Retried::yes, Culprit::cluster, kReadLog}};

constexpr const FailureRow& row_of(FailureClass failure) {
    return kFailures.at(usize(failure));
}
constexpr std::string_view to_string(FailureClass failure) {
    return row_of(failure).name;
}
static_assert(row_of(FailureClass::lost).kind == kFailures.back().kind);
static_assert(std::all_of(kFailures.begin(), kFailures.end(),
                          [](const FailureRow& row) { return &row_of(row.kind) == &row; }));

constexpr int kRankFinished = 0;
constexpr int kRankFailed = 1;
constexpr int kRankStopped = 3;      // asked to stop, checkpoint written
constexpr int kRankLostPeer = 4;     // a transport or rendezvous error: some other rank died first
constexpr int kRankOutOfMemory = 5;  // of device or host: the same plan would fail again
constexpr int kRankDeviceFault = 6;  // its device does not answer as it should
constexpr int kRankBadInput = 7;     // job, model or data are wrong, whichever node reads them
constexpr int kRankBadFiles = 8;     // their files are missing, unreadable or damaged here
constexpr int kRankNodeFault = 9;    // its node lacks room for its files, threads, or a driver
constexpr int kRankNoCheckpoint = 10;  // no checkpoint of the job's own directory is whole here
constexpr int kRankNoBeginning = 11;   // nor is any in the directory checkpoint.from
constexpr int kRankNotStarted = 127;   // its program did not start; also the dynamic loader's code

struct RankExit {
    int code;
    FailureClass kind;
    Retried retried = row_of(kind).retried;
    Remedies remedies = row_of(kind).remedies;
};

inline constexpr Remedies kNoneIsWhole{
    "`ring-checkpoint verify` says what each of them lacks",
    "submit the job file with --from another checkpoint, which `ring-checkpoint verify` finds "
    "whole, or without --from, to begin anew"};
inline constexpr Remedies kNoBeginningIsWhole{
    kNoneIsWhole.attempt,
    "submit the job file with --from another checkpoint, which `ring-checkpoint verify` finds "
    "whole, or without checkpoint.from, to begin anew"};

// Any other code has class `rank`.
inline constexpr std::array kRankExits{
    RankExit{kRankFinished, FailureClass::none},
    RankExit{kRankStopped, FailureClass::none},
    RankExit{kRankOutOfMemory, FailureClass::out_of_memory},
    RankExit{kRankDeviceFault, FailureClass::device_fault},
    RankExit{kRankBadInput, FailureClass::bad_input},
    RankExit{kRankBadFiles, FailureClass::bad_input, Retried::elsewhere},
    RankExit{kRankNoCheckpoint, FailureClass::bad_input, Retried::elsewhere, kNoneIsWhole},
    RankExit{kRankNoBeginning, FailureClass::bad_input, Retried::elsewhere, kNoBeginningIsWhole},
    RankExit{kRankNodeFault, FailureClass::launch},
    RankExit{kRankNotStarted, FailureClass::launch}};

constexpr RankExit row_of_exit(int code) {
    const auto* row = std::find_if(kRankExits.begin(), kRankExits.end(),
                                   [=](const RankExit& exit) { return exit.code == code; });
    return row == kRankExits.end() ? RankExit{code, FailureClass::rank} : *row;
}

}  // namespace rm
