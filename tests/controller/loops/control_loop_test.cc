#include "controller/loops/control_loop.h"

#include <atomic>
#include <future>

#include "controller/loops/clock_loop.h"
#include "controller/loops/scheduler_loop.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

// Counts commits; tests can make them wait or fail.
class FakeStore final : public Store {
public:
    std::atomic<int> commits{0};
    std::atomic<bool> fails{false};
    std::mutex gate;  // held by a test: commits wait

    Result<State> load() override { return State{}; }
    Status commit(const State&, const Changes&, const std::vector<AuditEvent>&) override {
        const std::lock_guard lock(gate);
        if (fails) return make_error(ErrorCode::data_loss, "disk gone");
        ++commits;
        return {};
    }
};

class FakeListener final : public ControlListener {
public:
    std::atomic<int> sent{0};
    std::atomic<int> plans{0};
    SchedulerLoop* scheduler = nullptr;
    void send(const NodeId&, NodeCommand) override { ++sent; }
    void request_plan() override {
        ++plans;
        if (scheduler != nullptr) scheduler->request();
    }
    void committed(const std::vector<Outcome>&) override {}
};

struct Loop {
    FakeStore store;
    SystemClock clock;
    FakeListener listener;
    std::promise<std::string> fatal;
    ControlLoop control{State{}, {store, clock, listener, [this](const std::string& message) {
                                      fatal.set_value(message);
                                  }}};
};

TEST(ControlLoop, AnswersAfterTheCommitAndNotBefore) {
    Loop loop;
    std::promise<void> answered;
    auto future = answered.get_future();
    {
        const std::lock_guard gate(loop.store.gate);
        loop.control.post(SubmitJob{{"r"}, small_spec(), "", 1}, [&](const Result<JobId>& id) {
            EXPECT_TRUE(id);
            EXPECT_EQ(loop.store.commits, 1);
            answered.set_value();
        });
        EXPECT_EQ(future.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
        EXPECT_EQ(loop.listener.plans, 0);
    }
    EXPECT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(ControlLoop, CommitsWhatQueuedDuringACommitAsOneBatch) {
    Loop loop;
    std::atomic<int> answers{0};
    {
        const std::lock_guard gate(loop.store.gate);
        for (int i = 0; i < 50; ++i) {
            loop.control.post(SubmitJob{{format("r{}", i)}, small_spec(), "", 1},
                              [&](const Result<JobId>&) { ++answers; });
        }
    }
    EXPECT_TRUE(loop.control.call(SubmitJob{{"last"}, small_spec(), "", 1}));
    EXPECT_EQ(answers, 50);
    EXPECT_LE(loop.store.commits, 3);
}

TEST(ControlLoop, AFailedCommitIsFatalAndNothingIsReleased) {
    Loop loop;
    loop.store.fails = true;
    auto fatal = loop.fatal.get_future();
    std::atomic<bool> answered{false};
    loop.control.post(SubmitJob{{"r"}, small_spec(), "", 1},
                      [&](const Result<JobId>&) { answered = true; });
    EXPECT_EQ(fatal.get(), "disk gone");
    EXPECT_FALSE(answered);
    EXPECT_EQ(loop.listener.plans, 0);
}

TEST(ControlLoop, ABrokenInvariantIsFatal) {
    Loop loop;
    auto fatal = loop.fatal.get_future();
    loop.control.post(FoundCluster{{"one"}});
    loop.control.post(FoundCluster{{"two"}});
    EXPECT_NE(fatal.get().find("the cluster is one already"), std::string::npos);
}

TEST(ControlLoop, InputsWithoutAnEventAreNotCommitted) {
    Loop loop;
    EXPECT_FALSE(loop.control.call(CancelJob{{"nope"}}));
    EXPECT_EQ(loop.store.commits, 0);
}

TEST(ControlLoop, AnswersWhatIsQueuedWhenItEnds) {
    auto loop = std::make_unique<Loop>();
    std::atomic<int> answers{0};
    for (int i = 0; i < 20; ++i) {
        loop->control.post(SubmitJob{{format("r{}", i)}, small_spec(), "", 1},
                           [&](const Result<JobId>&) { ++answers; });
    }
    loop.reset();
    EXPECT_EQ(answers, 20);
}

LinkGraph no_links(const std::vector<NodeId>&) {
    return {};
}

TEST(Scheduler, PlansPendingJobsAndStartsThem) {
    Loop loop;
    SchedulerLoop scheduler(loop.control, loop.clock, no_links, plan_jobs);
    loop.listener.scheduler = &scheduler;
    ASSERT_TRUE(loop.control.call(NodeHello{hello_of("a", 1)}));
    const JobId id = loop.control.call(SubmitJob{{"r"}, small_spec(), "", 1}).value();
    for (int i = 0; i < 2000 && loop.listener.sent == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(loop.listener.sent, 1) << "the launch";
    EXPECT_EQ(loop.control.read([&](const State& s) { return find_job(s, id)->state; }),
              JobState::starting);
}

TEST(Scheduler, ThePlannerSeesTheMeasuredLinks) {
    Loop loop;
    std::atomic<int> linked{0};
    SchedulerLoop scheduler(
        loop.control, loop.clock,
        [](const std::vector<NodeId>& nodes) {
            return uniform_graph(nodes, 1, {{10}, {}, {}}, {{80}, {}, {}});
        },
        [&](const PlanningSnapshot& snapshot) {
            linked = snapshot.links.num_nodes();
            return plan_jobs(snapshot);
        });
    loop.listener.scheduler = &scheduler;
    ASSERT_TRUE(loop.control.call(NodeHello{hello_of("a", 1)}));
    ASSERT_TRUE(loop.control.call(SubmitJob{{"r"}, small_spec(), "", 1}));
    for (int i = 0; i < 2000 && linked == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(linked, 1);
}

TEST(Scheduler, APlannerThatThrowsIsABlockingReason) {
    Loop loop;
    SchedulerLoop scheduler(loop.control, loop.clock, no_links,
                            [](const PlanningSnapshot&) -> std::vector<PlanDecision> {
                                throw std::runtime_error("out of ideas");
                            });
    loop.listener.scheduler = &scheduler;
    const JobId id = loop.control.call(SubmitJob{{"r"}, small_spec(), "", 1}).value();
    std::string reason;
    for (int i = 0; i < 2000 && reason.find("ideas") == std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        reason = loop.control.read(
            [&](const State& s) { return to_string(find_job(s, id)->blocking_reasons.front()); });
    }
    EXPECT_EQ(reason, "the planner failed: out of ideas");
}

// Wall time that a test moves while loops read it.
class TestClock final : public Clock {
public:
    std::atomic<std::int64_t> micros{1'000'000'000};
    WallTime wall() const override { return {micros}; }
    MonoTime mono() const override { return {micros * 1000}; }
};

// Someone sets the wall clock, forward or back; no time has passed.
TEST(ClockLoop, ASetWallClockIsNoTime) {
    FakeStore store;
    FakeListener listener;
    struct : Clock {
        std::atomic<std::int64_t> set{0};
        WallTime wall() const override { return {1'000'000'000 + set}; }
        MonoTime mono() const override { return {7}; }
    } clock;
    ControlLoop control(State{}, {store, clock, listener, [](const std::string&) {}});
    const WallTime before = control.steady_now();
    ASSERT_TRUE(control.call(NodeHello{hello_of("a", 1)}));
    control.post(NodeSessionDown{{"a"}});
    for (const std::int64_t hours : {2, -2}) {
        clock.set = hours * 3'600'000'000;
        EXPECT_FALSE(control.call(CancelJob{{"nope"}})) << "what was posted before is applied";
        EXPECT_EQ(control.steady_now(), before);
        ClockLoop ticking(control, Seconds{0.001});
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const auto state = control.read([](const State& s) { return s.nodes.at({"a"}).state; });
        EXPECT_EQ(state, NodeState::ready);
    }
}

TEST(ClockLoop, MakesRetriesComeDue) {
    FakeStore store;
    FakeListener listener;
    TestClock clock;
    ControlLoop control(State{}, {store, clock, listener, [](const std::string&) {}});
    ASSERT_TRUE(control.call(NodeHello{hello_of("a", 1)}));
    const JobId id = control.call(SubmitJob{{"r"}, retried_spec(), "", 1}).value();
    const Plan plan{.mesh = ring(1), .placement = {{{"a"}, 0}}};
    control.post(PlanReady{id, 99, plan});
    control.post(NodeStatus{{"a"}, status_of({1}, id, {ended(0, 1, "words")}, Left::no)});
    EXPECT_FALSE(control.call(CancelJob{{"nope"}})) << "what was posted before is applied";
    const auto retry_at = [&] {
        return control.read([&](const State& s) { return s.jobs.at(id).retry_at.micros; });
    };
    EXPECT_NE(retry_at(), 0);
    clock.micros += 2'000'000;
    ClockLoop ticking(control, Seconds{0.01});
    for (int i = 0; i < 2000 && retry_at() != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(retry_at(), 0);
}

TEST(ClockLoop, MakesSilentNodesUnreachable) {
    FakeStore store;
    FakeListener listener;
    TestClock clock;
    ControlLoop control(State{}, {store, clock, listener, [](const std::string&) {}});
    ASSERT_TRUE(control.call(NodeHello{hello_of("a", 1)}));
    control.post(NodeSessionDown{{"a"}});
    EXPECT_FALSE(control.call(CancelJob{{"nope"}})) << "what was posted before is applied";
    clock.micros += 61'000'000;
    ClockLoop ticking(control, Seconds{0.01});
    NodeState state = NodeState::ready;
    for (int i = 0; i < 2000 && state == NodeState::ready; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        state = control.read([](const State& s) { return s.nodes.at({"a"}).state; });
    }
    EXPECT_EQ(state, NodeState::unreachable);
}

}  // namespace
}  // namespace rm::test
