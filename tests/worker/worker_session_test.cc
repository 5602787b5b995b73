#include "worker/session/worker_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>

namespace rm {
namespace {

using namespace std::chrono_literals;

// A queue that one side fills and the other drains; bounded, so that a peer that does not read
// blocks.
template <typename T>
class Pipe {
public:
    explicit Pipe(std::size_t capacity) : capacity_(capacity) {}
    bool put(const T& value) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || values_.size() < capacity_; });
        if (ended_) return false;
        values_.push_back(value);
        changed_.notify_all();
        return true;
    }
    bool take(T& value) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || !values_.empty(); });
        if (ended_) return false;
        value = std::move(values_.front());
        values_.pop_front();
        changed_.notify_all();
        return true;
    }
    void end() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

private:
    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> values_;
    bool ended_ = false;
};

struct Wire {
    Pipe<WorkerMessage> up{2};
    Pipe<ControllerMessage> down{64};
    void end() {
        up.end();
        down.end();
    }
};

class WorkerEnd : public WorkerStream {
public:
    // Two owners: the session's stream and the test's controller.
    explicit WorkerEnd(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}
    bool read(ControllerMessage& message) override { return wire_->down.take(message); }
    bool write(const WorkerMessage& message) override { return wire_->up.put(message); }
    void cancel() override { wire_->end(); }

private:
    std::shared_ptr<Wire> wire_;
};

class RecordedActions : public WorkerActions {
public:
    Status persist(const PersistIdentity& identity) override {
        record(format("persist {} {}", identity.cluster, identity.highest_epoch));
        if (disk_full) return make_error(ErrorCode::resource_exhausted, "disk full");
        return {};
    }
    Status carry_out(const WorkerCommand& command) override {
        record(std::visit([](const auto& asked) { return words_of(asked); }, command));
        if (no_shims && std::holds_alternative<LaunchAttempt>(command))
            return make_error(ErrorCode::internal, "cannot spawn");
        return {};
    }
    void session_accepted(const ClusterId& cluster) override { record("up " + cluster.value); }
    void session_refused(const std::string&) override { record("refused"); }

    std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(done_, {});
    }
    std::atomic<bool> disk_full = false;
    std::atomic<bool> no_shims = false;

private:
    static std::string words_of(const LaunchAttempt& launch) {
        return format("start {}", launch.epoch);
    }
    static std::string words_of(const StopAttempt& stop) { return format("stop {}", stop.epoch); }
    static std::string words_of(const ForgetAttempt& forget) {
        return format("remove {}", forget.epoch);
    }
    static std::string words_of(const CheckFiles& check) { return "check " + check.key; }
    static std::string words_of(const ProbeRoot& probe) { return "probe " + probe.root; }
    static std::string words_of(const ExpectProbe& probe) { return "expect " + probe.nonce; }
    static std::string words_of(const RunProbe& probe) { return format("probe {}", probe.id); }

    void record(std::string what) {
        const std::lock_guard lock(mutex_);
        done_.push_back(std::move(what));
    }
    std::mutex mutex_;
    std::vector<std::string> done_;
};

class SessionOverMemory : public ::testing::Test {
protected:
    SessionOverMemory() {
        WorkerFacts facts{.node = {"n1"}, .inventory = {.devices = {{.index = 0}}}};
        session_.emplace(
            WorkerCore(facts), actions_, [this] { return dial(); },
            WorkerSessionOptions{.backoff = {Seconds{0.001}, Seconds{0.01}}});
        session_->start();
    }
    ~SessionOverMemory() override {
        accepted_.end();
        session_->stop();
    }

    std::unique_ptr<WorkerStream> dial() {
        auto wire = std::make_shared<Wire>();
        if (!accepted_.put(wire)) wire->end();
        return std::make_unique<WorkerEnd>(wire);
    }
    std::shared_ptr<Wire> accept() {
        std::shared_ptr<Wire> wire;
        EXPECT_TRUE(accepted_.take(wire));
        return wire;
    }
    template <typename T>
    static T expect(Wire& wire) {
        WorkerMessage message;
        EXPECT_TRUE(wire.up.take(message));
        EXPECT_TRUE(std::holds_alternative<T>(message)) << message.index();
        return std::get<T>(message);
    }
    // Greets, and waits until the worker has handled it.
    static void greet(Wire& wire) {
        expect<Hello>(wire);
        wire.down.put(HelloReply{.cluster = {"c1"}});
        wire.down.put(Ping{5});
        EXPECT_EQ(expect<Pong>(wire).nonce, 5u);
    }
    // When the answer arrives, everything commanded before it has been done. Statuses may arrive
    // first.
    static void ping(Wire& wire, std::uint64_t nonce) {
        wire.down.put(Ping{nonce});
        WorkerMessage message = AttemptStatus{};
        while (std::holds_alternative<AttemptStatus>(message))
            ASSERT_TRUE(wire.up.take(message));
        ASSERT_TRUE(std::holds_alternative<Pong>(message)) << message.index();
        EXPECT_EQ(std::get<Pong>(message).nonce, nonce);
    }

    Pipe<std::shared_ptr<Wire>> accepted_{1};
    RecordedActions actions_;
    std::optional<WorkerSession> session_;
};

LaunchAttempt launch_of(std::int64_t epoch) {
    return {.epoch = {epoch}, .job = {"abc123"}, .ranks = {{.rank = 0, .device = 0}}};
}

TEST_F(SessionOverMemory, SaysHelloFirstAndAnswersPings) {
    const auto wire = accept();
    greet(*wire);
    ping(*wire, 6);
    EXPECT_EQ(actions_.take(), (std::vector<std::string>{"persist c1 0", "up c1"}));
}

TEST_F(SessionOverMemory, ProbesAsToldAndReportsWhatWasFound) {
    const auto wire = accept();
    greet(*wire);
    actions_.take();
    wire->down.put(ExpectProbe{.nonce = "n"});
    wire->down.put(RunProbe{.id = 3});
    ping(*wire, 6);
    EXPECT_EQ(actions_.take(), (std::vector<std::string>{"expect n", "probe 3"}));
    session_->handle(ProbeDone{{.id = 3}});
    EXPECT_EQ(expect<ProbeReport>(*wire).id, 3u);
}

TEST_F(SessionOverMemory, LaunchesAfterPersistingTheEpoch) {
    const auto wire = accept();
    greet(*wire);
    actions_.take();
    wire->down.put(launch_of(3));
    EXPECT_TRUE(expect<AttemptStatus>(*wire).processes_left);
    ping(*wire, 6);
    EXPECT_EQ(actions_.take(), (std::vector<std::string>{"persist c1 3", "start 3"}));
}

TEST_F(SessionOverMemory, StartsNothingThatItCouldNotRemember) {
    const auto wire = accept();
    greet(*wire);
    actions_.take();
    actions_.disk_full = true;
    wire->down.put(launch_of(3));
    ping(*wire, 6);
    EXPECT_EQ(actions_.take(), (std::vector<std::string>{"persist c1 3", "persist c1 3"}));
}

TEST_F(SessionOverMemory, ReportsAShimThatCannotBeStarted) {
    const auto wire = accept();
    greet(*wire);
    actions_.no_shims = true;
    wire->down.put(launch_of(3));
    AttemptStatus status = expect<AttemptStatus>(*wire);
    if (status.launch_error.empty()) status = expect<AttemptStatus>(*wire);
    EXPECT_EQ(status.launch_error, "cannot spawn");
}

TEST_F(SessionOverMemory, DialsAgainAndSaysHelloWithWhatHappened) {
    auto wire = accept();
    greet(*wire);
    wire->down.put(launch_of(3));
    expect<AttemptStatus>(*wire);
    ping(*wire, 6);
    wire->end();
    wire = accept();
    const Hello hello = expect<Hello>(*wire);
    EXPECT_EQ(hello.cluster, ClusterId{"c1"});
    EXPECT_EQ(hello.highest_epoch, Epoch{3});
    ASSERT_EQ(hello.attempts.size(), 1u);
}

TEST_F(SessionOverMemory, SendsStatusWhenTheDirectoryChanges) {
    const auto wire = accept();
    greet(*wire);
    wire->down.put(launch_of(3));
    expect<AttemptStatus>(*wire);
    ping(*wire, 6);
    const AttemptStatus running{.epoch = {3},
                                .job = {"abc123"},
                                .ranks = {{.rank = 0, .device = 0, .running = true}},
                                .processes_left = true};
    session_->handle(ShimObserved{running, {}});
    EXPECT_EQ(expect<AttemptStatus>(*wire), running);
}

TEST_F(SessionOverMemory, LeavesAForeignControllerAndTriesAgain) {
    auto wire = accept();
    greet(*wire);
    wire->end();
    wire = accept();
    expect<Hello>(*wire);
    wire->down.put(HelloReply{.cluster = {"other"}});
    wire = accept();
    EXPECT_EQ(expect<Hello>(*wire).cluster, ClusterId{"c1"});
}

TEST_F(SessionOverMemory, AControllerThatDoesNotReadBlocksNeitherCommandsNorObservers) {
    const auto wire = accept();
    greet(*wire);
    actions_.take();
    for (std::int64_t epoch = 1; epoch <= 50; ++epoch)
        wire->down.put(StopAttempt{.epoch = {epoch}});
    wire->down.put(launch_of(51));
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    std::vector<std::string> done;
    while (done.empty() && std::chrono::steady_clock::now() < deadline) {
        session_->handle(ShimObserved{{.epoch = {99}}, {}});
        std::this_thread::sleep_for(1ms);
        done = actions_.take();
    }
    EXPECT_FALSE(done.empty());
    session_->stop();
}

TEST(WorkerSession, StopsWhileTheControllerIsAway) {
    RecordedActions actions;
    WorkerSession session(WorkerCore(WorkerFacts{}), actions,
                          [] {
                              auto wire = std::make_shared<Wire>();
                              wire->end();
                              return std::make_unique<WorkerEnd>(wire);
                          },
                          {.backoff = {Seconds{30}, Seconds{60}}});
    session.start();
    std::this_thread::sleep_for(20ms);
    const auto begin = std::chrono::steady_clock::now();
    session.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(Backoff, GrowsToItsLimitWithJitter) {
    Backoff backoff({Seconds{1}, Seconds{8}}, 42);
    for (const double whole : {1.0, 2.0, 4.0, 8.0, 8.0, 8.0}) {
        const double wait = backoff.next().value;
        EXPECT_GE(wait, whole / 2);
        EXPECT_LE(wait, whole);
    }
    backoff.reset();
    EXPECT_LE(backoff.next().value, 1.0);
}

}  // namespace
}  // namespace rm
