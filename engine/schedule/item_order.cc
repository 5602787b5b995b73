#include "engine/schedule/item_order.h"

#include <algorithm>
#include <unordered_map>

#include "base/random.h"
#include "engine/schedule/buffers.h"

namespace rm {
namespace {

using Kind = ScheduleItem::Kind;

struct RangeHash {
    std::size_t operator()(const AddressRange& range) const {
        return mix64(range.address ^ mix64(static_cast<std::uint64_t>(range.size)));
    }
};
struct RangeEqual {
    bool operator()(const AddressRange& a, const AddressRange& b) const {
        return a.address == b.address && a.size == b.size;
    }
};

// The address space cut at every end of a range, so that a range is a run of whole cells.
class Cells {
public:
    struct Run {
        std::uint32_t first = 0;
        std::uint32_t end = 0;
    };

    explicit Cells(std::span<const AddressRange> ranges) {
        // A schedule names few ranges, each often.
        std::unordered_map<AddressRange, std::uint32_t, RangeHash, RangeEqual> numbers;
        std::vector<AddressRange> distinct;
        number_.reserve(ranges.size());
        for (const AddressRange& range : ranges) {
            const auto next = static_cast<std::uint32_t>(distinct.size());
            const auto [at, is_new] = numbers.try_emplace(range, next);
            if (is_new) distinct.push_back(range);
            number_.push_back(at->second);
        }
        cut(distinct);
    }

    std::size_t size() const { return cuts_.size(); }
    Run of(std::size_t range) const { return runs_[number_[range]]; }

private:
    void cut(std::span<const AddressRange> distinct) {
        for (const AddressRange& range : distinct) {
            cuts_.push_back(range.address);
            cuts_.push_back(end_of(range));
        }
        std::sort(cuts_.begin(), cuts_.end());
        cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
        for (const AddressRange& range : distinct)
            runs_.push_back({place(range.address), place(end_of(range))});
    }
    std::uint32_t place(std::uint64_t address) const {
        const auto at = std::lower_bound(cuts_.begin(), cuts_.end(), address);
        return static_cast<std::uint32_t>(at - cuts_.begin());
    }

    std::vector<std::uint64_t> cuts_;
    std::vector<Run> runs_;              // of distinct ranges
    std::vector<std::uint32_t> number_;  // of a range's distinct one
};

void raise(std::span<std::uint32_t> to, std::span<const std::uint32_t> from) {
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = std::max(to[i], from[i]);
}

// Remembers the last access to each cell, by stream.
class LastTouch {
public:
    LastTouch(std::size_t num_cells, std::size_t num_streams)
        : num_streams_(num_streams), last_(num_cells * num_streams) {}

    void raise_to(Cells::Run run, std::span<std::uint32_t> most) const {
        for (std::size_t cell = run.first; cell < run.end; ++cell)
            raise(most, std::span(last_).subspan(cell * num_streams_, num_streams_));
    }
    void set(Cells::Run run, std::size_t stream, std::uint32_t number) {
        for (std::size_t cell = run.first; cell < run.end; ++cell)
            last_[cell * num_streams_ + stream] = number;
    }

private:
    std::size_t num_streams_;
    std::vector<std::uint32_t> last_;  // (cells, streams)
};

}  // namespace

Conflicts::Conflicts(const StepSchedule& schedule)
    : num_streams_(schedule.streams.size()),
      last_(schedule.items.size() * num_streams_),
      work_(num_streams_) {
    const Cells cells(schedule.ranges);
    LastTouch reads(cells.size(), num_streams_);
    LastTouch writes(cells.size(), num_streams_);
    for (std::uint32_t i = 0; i < schedule.items.size(); ++i) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind != Kind::work) continue;
        const std::size_t first_write = item.first_range + item.num_reads;
        const std::size_t end = first_write + item.num_writes;
        const auto most = std::span(last_).subspan(i * num_streams_, num_streams_);
        for (std::size_t range = item.first_range; range < end; ++range) {
            writes.raise_to(cells.of(range), most);
            if (range >= first_write) reads.raise_to(cells.of(range), most);
        }
        work_[item.stream].push_back(i);
        const auto number = static_cast<std::uint32_t>(work_[item.stream].size());
        for (std::size_t range = item.first_range; range < end; ++range)
            (range < first_write ? reads : writes).set(cells.of(range), item.stream, number);
    }
}

StreamClocks::StreamClocks(const StepSchedule& schedule)
    : schedule_(schedule),
      num_streams_(schedule.streams.size()),
      now_(num_streams_ * num_streams_),
      noted_(schedule.items.size() * num_streams_) {}

void StreamClocks::advance(std::size_t stream, std::span<const std::uint32_t> past) {
    raise(std::span(now_).subspan(stream * num_streams_, num_streams_), past);
}

void StreamClocks::pass(std::uint32_t item) {
    const ScheduleItem& passed = schedule_.items[item];
    const auto own = of(passed.stream);
    switch (passed.kind) {
        case Kind::work:
            ++now_[passed.stream * num_streams_ + passed.stream];
            return;
        case Kind::record:
            std::copy(own.begin(), own.end(),
                      noted_.begin() + static_cast<std::ptrdiff_t>(item * num_streams_));
            return;
        case Kind::wait:
            return advance(passed.stream, noted(passed.index));
        case Kind::join:
            for (std::size_t stream = 0; stream < num_streams_; ++stream)
                advance(stream, own);
            return;
        case Kind::request:
        case Kind::release:
        case Kind::mark:
            return;
    }
}

bool StreamClocks::adds_order(const ScheduleItem& wait) const {
    const auto own = of(wait.stream);
    const auto awaited = noted(wait.index);
    for (std::size_t stream = 0; stream < num_streams_; ++stream) {
        if (awaited[stream] > own[stream]) return true;
    }
    return false;
}

}  // namespace rm
