#include "engine/train/save/meeting.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <numeric>

namespace rm {
namespace {

using FewSeconds = std::chrono::duration<double>;

// How often ranks exchange their progress: well within a collective's timeout.
Seconds interval_of(Seconds timeout) {
    return {std::min(1.0, timeout.value / 4)};
}

// Cancels a rank's work on exit from the scope, as when its peers are lost.
class CancelAtExit {
public:
    explicit CancelAtExit(Activity& activity) : activity_(activity) {}
    CancelAtExit(const CancelAtExit&) = delete;
    CancelAtExit& operator=(const CancelAtExit&) = delete;
    ~CancelAtExit() { activity_.cancelled = true; }

private:
    Activity& activity_;
};

enum class Said { fine = 0, damaged = 1, failed = 2 };

Said said(const Status& status) {
    if (status) return Said::fine;
    return status.error().code == ErrorCode::data_loss ? Said::damaged : Said::failed;
}

constexpr std::int64_t kWord = sizeof(double);

std::int64_t elements(std::size_t bytes) {
    return static_cast<std::int64_t>(bytes) / kWord;
}

}  // namespace

Meeting::Meeting(Options options, const RankStreams& streams)
    : options_(options),
      streams_(streams),
      gathered_(streams.kernels.device(), MemoryKind::communication, DType::f64,
                {2 * std::int64_t{options.num_ranks}}),
      words_(streams.kernels.device(), MemoryKind::communication, DType::f64,
             {elements(kMostWords)}) {}

Bytes Meeting::memory(int num_ranks) {
    const std::int64_t gathered = 2 * std::int64_t{num_ranks} * kWord;
    return {gathered + static_cast<std::int64_t>(kMostWords)};
}

// Each rank's values in its own place and zeros elsewhere: their sum is exact.
std::vector<std::array<double, 2>> Meeting::gather(std::array<double, 2> mine) {
    std::vector<std::array<double, 2>> values(usize(options_.num_ranks));
    values[usize(options_.rank)] = mine;
    Device& device = streams_.kernels.device();
    device.write(values.data(), gathered_);
    streams_.communicator.all_reduce_sum(GroupKey::world, gathered_);
    streams_.communication.synchronize();
    device.read(gathered_, values.data());
    return values;
}

std::vector<std::int64_t> Meeting::gather(std::int64_t mine) {
    std::vector<std::int64_t> all;
    for (const auto& [value, unused] : gather({static_cast<double>(mine), 0}))
        all.push_back(static_cast<std::int64_t>(value));
    return all;
}

std::vector<double> Meeting::sums(std::vector<double> mine) {
    Device& device = streams_.kernels.device();
    const std::int64_t count = std::ssize(mine);
    for (std::int64_t first = 0; first < count; first += gathered_->dim(0)) {
        const TensorView part = gathered_->rows(0, std::min(gathered_->dim(0), count - first));
        device.write(mine.data() + first, part);
        streams_.communicator.all_reduce_sum(GroupKey::world, part);
        streams_.communication.synchronize();
        device.read(part, mine.data() + first);
    }
    return mine;
}

void Meeting::broadcast(const TensorView& values, void* host, int root) {
    Device& device = streams_.kernels.device();
    device.write(host, values);
    streams_.communicator.broadcast(GroupKey::world, values, root);
    streams_.communication.synchronize();
    device.read(values, host);
}

std::string Meeting::words_of(int rank, const std::string& mine) {
    std::array<char, kMostWords> text{};
    mine.copy(text.data(), text.size() - 1);
    broadcast(words_, text.data(), rank);
    return text.data();
}

Meeting::Verdict Meeting::agree(const Status& mine, std::string_view what) {
    const auto all = gather({static_cast<double>(said(mine)), 0});
    const auto count = [&](Said one) {
        return std::count_if(all.begin(), all.end(), [one](const auto& values) {
            return values[0] == static_cast<double>(one);
        });
    };
    const auto failed = count(Said::failed);
    const auto damaged = count(Said::damaged);
    if (failed + damaged == 0) return {};
    const Said worst = failed > 0 ? Said::failed : Said::damaged;
    const auto first = std::find_if(all.begin(), all.end(), [worst](const auto& values) {
        return values[0] == static_cast<double>(worst);
    });
    const auto rank = static_cast<int>(first - all.begin());
    Verdict verdict{.status = mine,
                    .damaged = worst == Said::damaged,
                    .words = words_of(rank, mine ? "" : mine.error().message)};
    if (mine) {
        verdict.status =
            make_error(ErrorCode::aborted, "{}: {} of {} ranks failed; rank {}: {}", what,
                       failed + damaged, options_.num_ranks, rank, verdict.words);
    }
    return verdict;
}

Status Meeting::everyone(const Status& mine, std::string_view what) {
    return agree(mine, what).status;
}

// Every rank sees the same numbers in the same rounds, so all leave in the same one.
Status Meeting::wait_for_all(std::string_view what, const std::function<bool(Seconds)>& over,
                             const Activity& activity) {
    const Seconds interval = interval_of(options_.timeout);
    const auto most_rounds = static_cast<std::int64_t>(options_.patience.value / interval.value);
    double moved = -1;
    for (std::int64_t quiet_rounds = 0; quiet_rounds <= most_rounds; ++quiet_rounds) {
        const double mine = over(interval) ? 1 : 0;
        const auto all = gather({mine, static_cast<double>(activity.done.load())});
        double sum = 0;
        bool all_over = true;
        for (const auto& [rank_over, done] : all) {
            sum += done + rank_over;
            all_over = all_over && rank_over > 0;
        }
        if (all_over) return {};
        if (sum > moved) quiet_rounds = 0;
        moved = sum;
    }
    return make_error(ErrorCode::deadline_exceeded, "{}: nothing has moved for {}", what,
                      options_.patience);
}

Status Meeting::run(std::string_view what, Activity& activity, const Work& work) {
    std::future<Status> result = std::async(std::launch::async, [&] { return work(activity); });
    const CancelAtExit cancel(activity);
    RM_RETURN_IF_ERROR(wait_for_all(
        what,
        [&](Seconds limit) {
            return result.wait_for(FewSeconds(limit.value)) == std::future_status::ready;
        },
        activity));
    return result.get();
}

Status Meeting::together(std::string_view what, const Work& work) {
    Activity activity;
    return together(what, activity, work);
}

Status Meeting::together(std::string_view what, Activity& activity, const Work& work) {
    return everyone(run(what, activity, work), what);
}

Meeting::Verdict Meeting::work_and_agree(std::string_view what, const Work& work) {
    Activity activity;
    return agree(run(what, activity, work), what);
}

Status Meeting::rank_0_does(std::string_view what, const Work& work) {
    return together(
        what, [&](Activity& activity) { return options_.rank == 0 ? work(activity) : Status(); });
}

bool Meeting::as_rank_0_says(bool mine) {
    return as_rank_0_says(std::array<double, 2>{mine ? 1.0 : 0.0, 0})[0] != 0;
}

std::array<double, 2> Meeting::as_rank_0_says(std::array<double, 2> mine) {
    broadcast(gathered_->rows(0, 2), mine.data(), 0);
    return mine;
}

}  // namespace rm
