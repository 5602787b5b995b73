#include "tests/engine/schedule/waits.h"

#include <map>
#include <tuple>

#include "base/check.h"

namespace rm::test {
namespace {

using Kind = ScheduleItem::Kind;

// For each item, the work before and after it on the same stream; empty if there is none.
struct Neighbours {
    explicit Neighbours(const StepSchedule& schedule)
        : before(schedule.items.size()), after(schedule.items.size()) {
        const std::size_t size = schedule.items.size();
        std::vector<std::string> last(schedule.streams.size()), next(schedule.streams.size());
        for (std::size_t i = 0; i < size; ++i)
            visit(schedule, i, last, before);
        for (std::size_t i = size; i-- > 0;)
            visit(schedule, i, next, after);
    }

    std::vector<std::string> before;
    std::vector<std::string> after;

private:
    static void visit(const StepSchedule& schedule, std::size_t i,
                      std::vector<std::string>& nearest, std::vector<std::string>& found) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind == Kind::work) nearest[item.stream] = schedule.names[item.index];
        if (item.kind == Kind::wait || item.kind == Kind::record) found[i] = nearest[item.stream];
    }
};

WaitSite site_of(const StepSchedule& schedule, const Neighbours& neighbours, std::uint32_t wait) {
    const std::uint32_t record = schedule.items[wait].index;
    WaitSite site;
    site.stream = schedule.streams[schedule.items[wait].stream];
    site.next = neighbours.after[wait];
    site.awaited = schedule.streams[schedule.items[record].stream];
    site.last = neighbours.before[record];
    return site;
}

}  // namespace

std::vector<WaitFinding> examine_waits(const StepSchedule& schedule) {
    const Conflicts conflicts(schedule);
    StreamClocks clocks(schedule);
    const std::vector<std::uint32_t> start = clocks.position();
    const auto races = search_races(schedule, conflicts, clocks, 0, 1);
    RM_CHECK(races.empty(), "waits are examined in a schedule without races; {}",
             describe(schedule, races[0]));
    clocks.put_back(start);
    std::vector<WaitFinding> findings;
    for (std::uint32_t i = 0; i < schedule.items.size(); ++i) {
        if (schedule.items[i].kind == Kind::wait) {
            findings.push_back({.wait = i});
            if (clocks.adds_order(schedule.items[i])) {
                const std::vector<std::uint32_t> here = clocks.position();
                findings.back().races = search_races(schedule, conflicts, clocks, i + 1, 1);
                clocks.put_back(here);
            }
        }
        clocks.pass(i);
    }
    return findings;
}

std::vector<WaitSite> wait_sites(const StepSchedule& schedule,
                                 std::span<const WaitFinding> findings) {
    const Neighbours neighbours(schedule);
    std::vector<WaitSite> sites;
    std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known;
    for (const WaitFinding& finding : findings) {
        WaitSite site = site_of(schedule, neighbours, finding.wait);
        const auto key = std::tuple(site.stream, site.next, site.awaited, site.last);
        const auto [at, is_new] = known.try_emplace(key, sites.size());
        if (is_new) sites.push_back(std::move(site));
        WaitSite& found = sites[at->second];
        ++found.count;
        if (finding.races.empty()) ++found.redundant;
        if (found.races.empty()) found.races = finding.races;
    }
    return sites;
}

}  // namespace rm::test
