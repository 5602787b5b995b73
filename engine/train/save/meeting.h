#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/streams/rank_streams.h"

namespace rm {

// The status of a result whose value only one rank needs.
template <typename T>
Status status_of(const Result<T>& result) {
    return result ? Status() : Status(result.error());
}

// Lets the ranks of an attempt agree outside of its steps. Collective: every rank makes the same
// calls in the same order, with nothing queued.
class Meeting {
public:
    struct Options {
        int rank = 0;
        int num_ranks = 1;
        Seconds timeout{60};    // of one collective, as the plan has it
        Seconds patience{600};  // while nothing moves on any rank
    };
    // `streams`: borrowed.
    Meeting(Options options, const RankStreams& streams);
    // The memory that it takes of each rank's device.
    static Bytes memory(int num_ranks);

    // Ok when every rank's status is. A rank that failed gets its own error back, the others
    // ABORTED with the words of one that did.
    Status everyone(const Status& mine, std::string_view what);

    // The same, and for every rank alike whether all that failed found data that is damaged, and
    // what the first of them said.
    struct Verdict {
        Status status;
        bool damaged = false;
        std::string words;
    };
    Verdict agree(const Status& mine, std::string_view what);

    // Does `work` on a thread of its own, while the ranks exchange their progress at intervals: no
    // collective lasts as long as one rank reads a file, and a rank that dies ends the others at
    // once. When no rank's work progresses for the patience, ends it on all ranks with
    // DEADLINE_EXCEEDED. Then calls everyone().
    using Work = std::function<Status(Activity&)>;
    Status together(std::string_view what, const Work& work);
    // With an activity that others move, too.
    Status together(std::string_view what, Activity& activity, const Work& work);
    Verdict work_and_agree(std::string_view what, const Work& work);
    // together(), where rank 0 alone has work.
    Status rank_0_does(std::string_view what, const Work& work);

    bool as_rank_0_says(bool mine);
    std::array<double, 2> as_rank_0_says(std::array<double, 2> mine);
    // By rank, what each gives.
    std::vector<std::int64_t> gather(std::int64_t mine);
    // The sums over all ranks of as many numbers from each.
    std::vector<double> sums(std::vector<double> mine);

private:
    static constexpr std::size_t kMostWords = 1024;  // bytes

    std::vector<std::array<double, 2>> gather(std::array<double, 2> mine);
    void broadcast(const TensorView& values, void* host, int root);
    std::string words_of(int rank, const std::string& mine);
    Status run(std::string_view what, Activity& activity, const Work& work);
    Status wait_for_all(std::string_view what, const std::function<bool(Seconds)>& over,
                        const Activity& activity);

    const Options options_;
    const RankStreams& streams_;
    Tensor gathered_;  // (2 num_ranks) f64
    Tensor words_;     // (kMostWords / 8) f64, which travel as bytes
};

}  // namespace rm
