#pragma once

#include <memory>
#include <string>

#include "controller/store/control_store.h"
#include "controller/store/sqlite.h"
#include "tests/controller/world.h"
#include "tests/support/temp_dir.h"

namespace rm::test {

// A world that commits every outcome.
struct Kept : World {
    TempDir directory;
    std::string path = directory.file("control.db");
    std::unique_ptr<Store> store = open_control_store(path).value();

    Kept() { commit(rm::apply(fresh(), {now, 0, FoundCluster{{"cluster-1"}}})); }

    State& fresh() {
        state = State{};
        return state;
    }
    void commit(const Outcome& outcome) {
        const Status status = store->commit(state, outcome.changes, outcome.events);
        ASSERT_TRUE(status) << status.error().message;
    }
    void feed(InputBody body) { commit(apply(std::move(body))); }
    State reopened() {
        store.reset();
        store = open_control_store(path).value();
        return store->load().value();
    }
};

inline JobSpec rich_spec() {
    JobSpec spec = small_spec(Mesh::make(1, 4, 1, 1, 2).value());
    spec.zero = 3;
    spec.data.documents = Documents::separate;
    spec.data.positions = Positions::running;
    spec.optimizer.moments = "bf16";
    spec.optimizer.gradients = "bf16";
    spec.optimizer.max_skipped = 4;
    spec.memory = {.tile = 64,
                   .chunk = 128,
                   .keep = Keep::input,
                   .alpha = 1.0 / 3,
                   .offload = Switch::on,
                   .windows = Switch::off,
                   .keep_every = 2,
                   .keep_precision = KeptPrecision::fp8,
                   .prefetch = 3,
                   .arena = ArenaReuse::off,
                   .device = Bytes{std::int64_t{40} << 30},
                   .host = Bytes{1000}};
    spec.stages[0].batch = 16384;
    spec.stages.push_back({.context = 16384,
                           .batch = 32768,
                           .tokens = 1 << 20,
                           .rope_theta = 15.3e6,
                           .learning_rate = 0.1,
                           .warmup_steps = 3,
                           .schedule = Schedule::cosine,
                           .final_learning_rate = 1e-5});
    spec.stages[1].rope = StageRope::yarn;
    spec.stages[1].rope_factor = 16;
    spec.stages[1].optimizer = StageOptimizer::anew;
    spec.evaluation.suites = {{.name = "near", .every_steps = 5, .lengths = {4096, 65536}},
                              {.suite = SuiteKind::ruler, .tasks = {"vt", "cwe"}, .seed = 9}};
    spec.evaluation.prompts = {{.prompt = "Once\nupon", .tokens = 7, .top_p = 0.5}};
    spec.tags = {"a", "b"};
    spec.note = "why\nand how";
    spec.seed = ~std::uint64_t{0};
    spec.model = {.preset = "", .from = "/models/llama"};
    spec.data.sources = {{"/data/books", 1.0 / 3}, {"/data/c@de", 2.0 / 3}};
    spec.exports.huggingface = "/shared/out";
    spec.checkpoint = {.dir = "/shared/ckpt", .every_steps = 10, .keep = 3, .every = {90}};
    spec.resources = {
        .devices = 4, .kind = "cpu", .placement = {{{"a"}, 0}, {{"a"}, 1}, {{"a"}, 2}, {{"b"}, 0}}};
    return spec;
}

// Takes a job from its submission to a failure, through all tables.
inline void live_a_life(Kept& world) {
    world.feed(NodeHello{hello_of("a", 3)});
    world.feed(NodeHello{hello_of("b", 1)});
    world.feed(SubmitJob{{"r1"}, rich_spec(), "name: 'a \"b\"\\n'\n# ümlaut\n", 1});
    const JobId id = world.state.requests.at({"r1"});
    world.feed(PlanReady{id, 1, Reasons{{"one; of two", "do it", ReasonKind::files}, {"two"}}});
    Plan plan{.mesh = *rich_spec().parallel,
              .zero = 3,
              .placement = {{{"a"}, 0}, {{"a"}, 1}, {{"a"}, 2}, {{"b"}, 0}},
              .memory = resolve_memory(rich_spec().memory)};
    world.feed(PlanReady{id, world.state.planning_version, plan});
    const Epoch epoch = world.epoch_of(id);
    world.feed(
        NodeStatus{{"b"}, status_of(epoch, id, {ended(3, 1, "words\nof rank 3")}, Left::no)});
    world.feed(NodeHello{hello_of("a", 2)});
    world.feed(SubmitJob{{"r2"}, small_spec(), "", 2});
    Hello measured = hello_of("a", 2);
    measured.profiles = {{"L40S", "570.86.10", "b1", 1.8e14, "{\n\"name\": \"L40S\"}\n"}};
    world.feed(NodeHello{measured});
}

// Changes the tables as a program that knows one member less, or one more, leaves them.
inline void change_tables(const std::string& path, const char* sql) {
    Database database = Database::open(path, Access::write).value();
    ASSERT_TRUE(database.execute(format("{}; PRAGMA journal_mode = DELETE", sql)));
}

}  // namespace rm::test
