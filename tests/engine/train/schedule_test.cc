// The engine's schedules, recorded on the meta device, have no races with every buffer at its
// planned place, and no unnecessary waits.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "engine/memory/arena_planner.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/engine/schedule/waits.h"
#include "tests/engine/train/other_plans.h"
#include "tests/support/rank_rig.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

struct ScheduleCase {
    std::string name;
    Mesh mesh;
    int zero = 0;
    MemoryPolicy policy;
    bool host_state = false;
    std::int64_t micro_batches = 2;
    std::int64_t kv_heads = 2;
    bool tied = false;
    std::int64_t block = 0;  // elements of embedding and head that travel together
    bool rounded = false;    // gradients in bf16
    MessageSpec messages = {};
};
void PrintTo(const ScheduleCase& c, std::ostream* out) {
    *out << c.name;
}

StepSchedule record(const ScheduleCase& c, int rank) {
    const auto like = make_cpu_kernels({.num_threads = 1});
    RankSpec spec;
    spec.model = small_model();
    const bool large = c.policy.working == WorkingSet::windows && c.mesh.num_ranks() > 1;
    spec.model.num_layers = large ? 2 : 4;
    spec.mesh = c.mesh;
    spec.rank = rank;
    spec.zero = c.zero;
    spec.model.num_kv_heads = c.kv_heads;
    spec.model.tied_head = c.tied;
    spec.vocabulary_block = c.block;
    spec.messages = c.messages;
    if (c.rounded) spec.types.gradients = DType::bf16;
    if (c.host_state) spec.host = like.get();
    DryRank dry(spec, MetaOptions{.types = like->types(), .like = like.get()});
    const Status entered =
        dry.enter({c.mesh.size(Axis::ring) % 3 == 0 ? 1152 : 1024, c.policy, spec.model.rope});
    RM_CHECK(entered.ok(), "{}", entered.error().message);
    dry.step(c.micro_batches);
    dry.step(c.micro_batches);
    return dry.schedule();
}

StepSchedule placed(const StepSchedule& schedule) {
    const SystemClock clock;
    std::vector<ArenaPlan> plans;
    for (const int arena : {kDeviceArena, kHostArena}) {
        ArenaTrace trace = arena_trace(schedule, arena).value();
        for (ArenaBlock& block : trace.blocks)
            block.size.value = std::max<std::int64_t>(1, block.size.value);
        plans.push_back(plan_arena(trace, {.timeout = Seconds{1}}, clock).value().plan);
    }
    return place_buffers(schedule, plans);
}

std::uint32_t second_step(const StepSchedule& schedule) {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < schedule.items.size(); ++i) {
        const ScheduleItem& item = schedule.items[i];
        if (item.kind == ScheduleItem::Kind::mark && schedule.names[item.index] == "step") last = i;
    }
    return last;
}

// A pass's planned places have no races; a schedule alone cannot promise that for all places.
TEST(PlannedPlaces, ThatWorkIsNotOrderedForAreRefused) {
    const auto like = make_cpu_kernels({.num_threads = 1});
    RankSpec spec;
    spec.model = small_model();
    MemoryPolicy policy;
    policy.tile_tokens = 64;
    policy.chunk_tokens = 128;
    policy.kept = KeptPlace::host;
    const StageShape shape{1024, policy, spec.model.rope};
    StageArenas arenas = plan_arenas(spec, shape, *like).value();
    DryRank rank(spec, MetaOptions{.types = like->types(), .like = like.get()});
    ASSERT_TRUE(rank.enter(shape).ok());
    rank.record_passes();
    EXPECT_NO_THROW(check_races(rank.schedule(), arenas));
    for (ArenaRequest& request : arenas.host.of(PassKind::train).requests)
        request.offset = {};  // all on top of each other
    EXPECT_THROW(check_races(rank.schedule(), arenas), CheckError);
}

class EngineSchedule : public testing::TestWithParam<ScheduleCase> {};

TEST_P(EngineSchedule, HasNoRaces) {
    for (const int rank : {0, GetParam().mesh.num_ranks() - 1}) {
        const StepSchedule schedule = record(GetParam(), rank);
        const Status lives = check_lifetimes(schedule);
        EXPECT_TRUE(lives.ok()) << lives.error().message;
        const StepSchedule at_places = placed(schedule);
        for (const Race& race : find_races(at_places))
            ADD_FAILURE() << describe(at_places, race);
    }
}

// Holds for every place that a plan may give a buffer.
TEST_P(EngineSchedule, HasNoRacesAtAnyPlaces) {
    for (const int rank : {0, GetParam().mesh.num_ranks() - 1}) {
        const StepSchedule schedule = record(GetParam(), rank);
        for (const Race& race : find_races(schedule))
            ADD_FAILURE() << describe(schedule, race);
        for (const ReuseRace& race : find_reuse_races(schedule))
            ADD_FAILURE() << describe(schedule, race);
    }
}

// Removing any single wait shows a race: at the planned places, or at those of another plan.
TEST_P(EngineSchedule, NeedsEveryWait) {
    const StepSchedule schedule = record(GetParam(), 0);
    std::vector<WaitFinding> findings = examine_waits(placed(schedule));
    // No earlier step makes the first step's weights, so its waits do not count.
    std::erase_if(findings, [first = second_step(schedule)](const WaitFinding& finding) {
        return finding.wait < first;
    });
    const OtherPlans others(schedule);
    for (WaitFinding& finding : findings) {
        if (finding.races.empty()) finding.races = others.races_without(finding.wait);
    }
    // Where windows travel, more streams wait for each other, and whether a later wait covers an
    // earlier one depends on the chunk. So it does where two tiles are under way: the next chunk is
    // opened before the last tile of this one is kept. There one wait in six may be redundant.
    const Mesh& mesh = GetParam().mesh;
    const bool has_lanes = mesh.size(Axis::tensor) * mesh.size(Axis::ulysses) > 1;
    const bool depends_on_chunk =
        (GetParam().policy.working == WorkingSet::windows && mesh.num_ranks() > 1) ||
        (GetParam().policy.kept == KeptPlace::host && has_lanes);
    const std::vector<WaitSite> sites = wait_sites(schedule, findings);
    std::int64_t count = 0, redundant = 0;
    for (const WaitSite& site : sites) {
        count += site.count;
        redundant += site.redundant;
    }
    if (depends_on_chunk && 6 * redundant <= count) return;
    for (const WaitSite& site : sites) {
        if (site.redundant == 0) continue;
        ADD_FAILURE() << site.stream << " before " << site.next << " waits for " << site.awaited
                      << " after " << site.last << ": " << site.redundant << " of " << site.count
                      << " are redundant";
    }
}

MemoryPolicy policy(KeptPlace kept, WorkingSet working, Keep keep, double alpha, int prefetch = 1) {
    MemoryPolicy p = policy_of(kept, working, keep, alpha);
    p.tile_tokens = 64;
    p.chunk_tokens = 128;
    p.prefetch = prefetch;
    return p;
}

// Cases of these names again, changed.
void add_again(std::vector<ScheduleCase>& list, std::initializer_list<const char*> names,
               const std::string& suffix, const std::function<void(ScheduleCase&)>& change) {
    for (const std::string name : names) {
        const auto found = std::ranges::find(list, name, &ScheduleCase::name);
        RM_CHECK(found != list.end(), "no case {}", name);
        ScheduleCase again = *found;
        again.name += suffix;
        change(again);
        list.push_back(again);
    }
}

void add_rounded_gradients(std::vector<ScheduleCase>& list) {
    add_again(list,
              {"one_device", "data_zero2", "data_zero3", "tensor_ring_host", "host_state_zero3",
               "host_state_replicated_heads", "ring_zero3_tied_blocks", "all_windows"},
              "_gradients_bf16", [](ScheduleCase& c) { c.rounded = true; });
}

void add_messages_in_fp8(std::vector<ScheduleCase>& list) {
    add_again(list,
              {"ulysses", "ring_ulysses_host", "tensor", "tensor_ring_host", "ulysses_windows",
               "ulysses_windows_again", "tensor_windows", "all_windows", "all_host",
               "host_state_replicated_heads"},
              "_messages_fp8", [](ScheduleCase& c) {
                  c.messages = {MessageNumbers::fp8, MessageNumbers::fp8};
              });
}

std::vector<ScheduleCase> cases() {
    const auto whole = WorkingSet::whole;
    const auto device = policy(KeptPlace::device, whole, Keep::input_and_attention, 1);
    const auto host = policy(KeptPlace::host, whole, Keep::input, 0.5);
    const auto windows =
        policy(KeptPlace::host, WorkingSet::windows, Keep::input_and_attention, 0.5);
    const auto mesh = [](int data, int ring, int ulysses, int tensor, int inner = 1) {
        return Mesh::make(data, ring, ulysses, tensor, inner).value();
    };
    std::vector<ScheduleCase> list;
    const auto add = [&](const std::string& name, const Mesh& m, int zero, const MemoryPolicy& p,
                         bool host_state = false) {
        list.push_back({name, m, zero, p, host_state});
    };
    add("one_device", mesh(1, 1, 1, 1), 0, device);
    add("one_host", mesh(1, 1, 1, 1), 0, host);
    add("one_windows", mesh(1, 1, 1, 1), 0, windows);
    for (const int prefetch : {0, 2}) {
        MemoryPolicy p = windows;
        p.prefetch = prefetch;
        add(format("one_windows_prefetch{}", prefetch), mesh(1, 1, 1, 1), 0, p);
    }
    MemoryPolicy again = windows;
    again.keep = Keep::input;
    again.alpha = 0;
    add("one_windows_again", mesh(1, 1, 1, 1), 0, again);
    MemoryPolicy kept_all = windows;
    kept_all.alpha = 1;
    add("one_windows_all", mesh(1, 1, 1, 1), 0, kept_all);
    add("ring", mesh(1, 4, 1, 1), 0, device);
    add("ring_host", mesh(1, 4, 1, 1), 1, host);
    add("double_ring", mesh(1, 6, 1, 1, 2), 0, device);
    add("ulysses", mesh(1, 1, 2, 1), 0, device);
    add("ring_ulysses_host", mesh(1, 2, 2, 1), 2, host);
    add("tensor", mesh(1, 1, 1, 2), 0, device);
    add("tensor_ring_host", mesh(1, 2, 1, 2), 3, host);
    add("data_zero1", mesh(2, 1, 1, 1), 1, device);
    add("data_zero2", mesh(2, 1, 1, 1), 2, device);
    add("data_zero3", mesh(2, 1, 1, 1), 3, device);
    add("data_zero3_windows", mesh(2, 1, 1, 1), 3, windows);
    add("ring_windows", mesh(1, 4, 1, 1), 0, windows);
    add("ring_windows_again", mesh(1, 3, 1, 1), 2, again);
    add("double_ring_windows", mesh(1, 6, 1, 1, 2), 0, windows);
    add("ulysses_windows", mesh(1, 1, 2, 1), 0, windows);
    add("ulysses_windows_again", mesh(1, 1, 2, 1), 1, again);
    add("tensor_windows", mesh(1, 1, 1, 2), 0, windows);
    add("all_windows", mesh(1, 2, 2, 2), 3, windows);
    add("all_windows_prefetch2", mesh(1, 2, 2, 2), 3,
        policy(KeptPlace::host, WorkingSet::windows, Keep::input, 0.5, 2));
    add("all_host", mesh(1, 2, 2, 2), 3, host);
    add("host_state_windows", mesh(1, 2, 2, 1), 3, windows, true);
    add("host_state", mesh(1, 1, 1, 1), 2, device, true);
    add("host_state_zero3", mesh(2, 2, 1, 1), 3, host, true);
    add("host_state_replicated_heads", mesh(1, 1, 1, 4), 0, device, true);
    list.back().kv_heads = 1;
    add("data_replicated_heads", mesh(2, 1, 1, 4), 2, device);
    list.back().kv_heads = 1;
    // The inputs of every second or third layer only.
    const auto every = [](MemoryPolicy p, int layers) {
        p.keep_every = layers;
        return p;
    };
    add("one_device_every2", mesh(1, 1, 1, 1), 0, every(device, 2));
    add("one_windows_every3", mesh(1, 1, 1, 1), 0, every(windows, 3));
    add("data_zero3_every2", mesh(2, 1, 1, 1), 3, every(device, 2));
    add("tensor_ring_host_every2", mesh(1, 2, 1, 2), 3, every(host, 2));
    add("host_state_zero3_every3", mesh(2, 2, 1, 1), 3, every(host, 3), true);
    // Inputs in FP8 on the host.
    const auto rounded = [](MemoryPolicy p) {
        p.keep_precision = KeptPrecision::fp8;
        return p;
    };
    add("one_host_fp8", mesh(1, 1, 1, 1), 0, rounded(host));
    add("one_windows_fp8", mesh(1, 1, 1, 1), 0, rounded(windows));
    add("one_windows_fp8_every2", mesh(1, 1, 1, 1), 0, rounded(every(windows, 2)));
    add("tensor_ring_host_fp8", mesh(1, 2, 1, 2), 3, rounded(host));
    add("all_windows_fp8", mesh(1, 2, 2, 2), 3, rounded(windows));
    // Several blocks of embedding and head.
    const std::size_t whole_vocabulary = list.size();
    add("data_zero2_blocks", mesh(2, 1, 1, 1), 2, device);
    add("data_zero3_blocks", mesh(2, 1, 1, 1), 3, device);
    add("ring_zero3_tied_blocks", mesh(1, 2, 1, 1), 3, host);
    list.back().tied = true;
    add("windows_zero3_blocks", mesh(2, 1, 1, 1), 3, windows);
    add("ring_windows_blocks", mesh(1, 3, 1, 1), 2,
        policy(KeptPlace::host, WorkingSet::windows, Keep::input_and_attention, 1, 2));
    add("tensor_zero3_blocks", mesh(2, 1, 1, 2), 3, host);
    add("tensor_zero2_tied_blocks", mesh(2, 1, 1, 2), 2, device);
    list.back().tied = true;
    add("host_state_blocks", mesh(1, 1, 1, 1), 2, windows, true);
    add("host_state_zero3_blocks", mesh(2, 1, 1, 1), 3, host, true);
    add("host_state_zero2_tied_blocks", mesh(2, 1, 1, 1), 2, device, true);
    list.back().tied = true;
    for (std::size_t i = whole_vocabulary; i < list.size(); ++i)
        list[i].block = 512;
    add_rounded_gradients(list);
    add_messages_in_fp8(list);
    return list;
}

INSTANTIATE_TEST_SUITE_P(Layouts, EngineSchedule, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
