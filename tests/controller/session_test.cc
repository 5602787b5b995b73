#include "controller/session.h"

#include <future>
#include <thread>

#include "tests/controller/memory_stream.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

// Takes inputs; answers them at once or on request.
class FakeSink final : public InputSink {
public:
    using InputSink::post;
    bool holds_answers = false;

    void post(InputBody body, OnAnswer on_answer) override {
        {
            const std::lock_guard lock(mutex_);
            if (on_answer && holds_answers) held_.push_back(std::exchange(on_answer, nullptr));
            inputs_.push_back(std::move(body));
            changed_.notify_all();
        }
        if (on_answer) on_answer(JobId{});
    }
    void answer_all() {
        std::vector<OnAnswer> held;
        {
            const std::lock_guard lock(mutex_);
            held.swap(held_);
        }
        for (OnAnswer& on_answer : held)
            on_answer(JobId{});
    }
    // Waits for the n-th input.
    InputBody at(std::size_t n) {
        std::unique_lock lock(mutex_);
        const bool came =
            changed_.wait_for(lock, std::chrono::seconds(20), [&] { return inputs_.size() > n; });
        RM_CHECK(came, "input {} never came", n);
        return inputs_[n];
    }
    std::size_t count() {
        const std::lock_guard lock(mutex_);
        return inputs_.size();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<InputBody> inputs_;
    std::vector<OnAnswer> held_;
};

// The controller's end of a pipe as a session's link.
class MemoryLink final : public SessionLink {
public:
    explicit MemoryLink(MemoryPipe& pipe) : end_(pipe, pipe.up, pipe.down) {}
    bool read(WorkerMessage& message) { return end_.read(message); }
    Status result() { return result_.get_future().get(); }

    void write(const ControllerMessage& message) override { end_.write(message); }
    void finish(const Status& status) override {
        result_.set_value(status);
        end_.cancel();
    }
    void cancel() override { end_.cancel(); }

private:
    ControllerEnd end_;
    std::promise<Status> result_;
};

// One session, with a thread that feeds it.
class Served {
public:
    Served(FakeSink& sink, SessionRegistry& registry, SessionOptions options,
           const std::string& peer = "p")
        : context_{sink, registry, {"cluster-1"}, options},
          link_(pipe_),
          worker_(pipe_, pipe_.down, pipe_.up),
          session_(
              std::make_shared<Session>(link_, peer, context_, std::chrono::steady_clock::now())),
          feeder_([this] { feed(); }) {
        registry.watch(session_);
    }
    ~Served() {
        worker_.cancel();
        feeder_.join();
        session_->detach();
    }

    WorkerEnd& worker() { return worker_; }
    Status result() { return link_.result(); }
    template <typename T>
    T read() {
        ControllerMessage message;
        RM_CHECK(worker_.read(message), "the session ended");
        return std::get<T>(message);
    }

private:
    void feed() {
        WorkerMessage message;
        while (link_.read(message) && session_->take(message)) {
        }
        session_->closed();
    }

    MemoryPipe pipe_;
    const SessionContext context_;
    MemoryLink link_;
    WorkerEnd worker_;
    std::shared_ptr<Session> session_;
    std::thread feeder_;
};

const SessionOptions kPatient{
    .hello_timeout = Seconds{20}, .ping_interval = Seconds{20}, .life_timeout = Seconds{60}};

TEST(Session, AnswersTheHelloAndPassesCommandsInOrder) {
    FakeSink sink;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    session.worker().write(hello_of("n1", 1));
    const auto reply = session.read<HelloReply>();
    EXPECT_EQ(reply.cluster, ClusterId{"cluster-1"});
    EXPECT_EQ(std::get<NodeHello>(sink.at(0)).hello.node, NodeId{"n1"});
    registry.send({"n1"}, ForgetAttempt{{1}});
    registry.send({"n1"}, ForgetAttempt{{2}});
    EXPECT_EQ(session.read<ForgetAttempt>().epoch, Epoch{1});
    EXPECT_EQ(session.read<ForgetAttempt>().epoch, Epoch{2});
}

TEST(Session, EndsAtAStatusWhoseJobsIdIsNone) {
    for (const char* id : {"../../../x", "abc12", "Abc123", "abc/12", ""}) {
        FakeSink sink;
        SessionRegistry registry;
        Served session(sink, registry, kPatient);
        session.worker().write(hello_of("n1", 1));
        session.read<HelloReply>();
        session.worker().write(status_of({1}, {"abc123"}, {}, Left::no));
        EXPECT_EQ(std::get<NodeStatus>(sink.at(1)).status.job, JobId{"abc123"});
        session.worker().write(status_of({1}, {id}, {}, Left::no));
        ASSERT_TRUE(std::holds_alternative<NodeSessionDown>(sink.at(2))) << id;
        const Status ended = session.result();
        ASSERT_FALSE(ended) << id;
        EXPECT_EQ(ended.error().code, ErrorCode::invalid_argument) << ended.error().message;
    }
}

TEST(Session, SaysNothingBeforeTheHelloIsDurable) {
    FakeSink sink;
    sink.holds_answers = true;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    session.worker().write(hello_of("n1", 1));
    sink.at(0);
    registry.send({"n1"}, ForgetAttempt{{1}});  // of an earlier session: dropped
    sink.answer_all();
    registry.send({"n1"}, ForgetAttempt{{2}});
    session.read<HelloReply>();
    EXPECT_EQ(session.read<ForgetAttempt>().epoch, Epoch{2});
}

TEST(Session, PassesStatusesOnAndReportsItsEnd) {
    FakeSink sink;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    session.worker().write(hello_of("n1", 1));
    session.read<HelloReply>();
    session.worker().write(status_of({1}, {"abc123"}, {}, Left::yes));
    session.worker().write(CommandRefused{{1}, "no"});
    EXPECT_EQ(std::get<NodeStatus>(sink.at(1)).status.epoch, Epoch{1});
    EXPECT_EQ(std::get<NodeRefused>(sink.at(2)).refused.reason, "no");
    session.worker().cancel();
    EXPECT_EQ(std::get<NodeSessionDown>(sink.at(3)).node, NodeId{"n1"});
    EXPECT_TRUE(session.result());
}

TEST(Session, AnotherProtocolIsRefusedByNumber) {
    FakeSink sink;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    Hello hello = hello_of("n1", 1);
    hello.protocol = kProtocol + 1;
    session.worker().write(hello);
    const Status result = session.result();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::failed_precondition);
    EXPECT_NE(result.error().message.find(format("speaks protocol {}", kProtocol + 1)),
              std::string::npos);
    EXPECT_EQ(sink.count(), 0u);
}

TEST(Session, AWorkerOfAnotherClusterIsRefused) {
    FakeSink sink;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    Hello hello = hello_of("n1", 1);
    hello.cluster = {"elsewhere"};
    session.worker().write(hello);
    EXPECT_EQ(session.result().error().code, ErrorCode::failed_precondition);
}

TEST(Session, ASecondOneOfTheSameNodeIsRefusedNamingBoth) {
    FakeSink sink;
    SessionRegistry registry;
    Served first(sink, registry, kPatient, "peer-one");
    first.worker().write(hello_of("n1", 1));
    first.read<HelloReply>();
    Served second(sink, registry, kPatient, "peer-two");
    second.worker().write(hello_of("n1", 1));
    const Status result = second.result();
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("peer-one"), std::string::npos);
    EXPECT_NE(result.error().message.find("peer-two"), std::string::npos);
    first.worker().cancel();
    EXPECT_TRUE(first.result());
    Served third(sink, registry, kPatient, "peer-three");
    third.worker().write(hello_of("n1", 1));
    third.read<HelloReply>();
}

TEST(Session, WithoutAHelloEnds) {
    FakeSink sink;
    SessionRegistry registry;
    SessionOptions options = kPatient;
    options.hello_timeout = Seconds{0.05};
    Served session(sink, registry, options);
    EXPECT_EQ(session.result().error().code, ErrorCode::deadline_exceeded);
    EXPECT_EQ(sink.count(), 0u);
}

TEST(Session, MustBeginWithAHello) {
    FakeSink sink;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    session.worker().write(Pong{1});
    EXPECT_EQ(session.result().error().code, ErrorCode::invalid_argument);
}

TEST(Session, LivesWhilePingsAreEchoed) {
    FakeSink sink;
    SessionRegistry registry;
    const SessionOptions options{
        .hello_timeout = Seconds{20}, .ping_interval = Seconds{0.05}, .life_timeout = Seconds{5}};
    Served session(sink, registry, options);
    session.worker().write(hello_of("n1", 1));
    session.read<HelloReply>();
    for (std::uint64_t i = 1; i <= 5; ++i) {
        const auto ping = session.read<Ping>();
        EXPECT_EQ(ping.nonce, i);
        session.worker().write(Pong{ping.nonce});
    }
    EXPECT_EQ(sink.count(), 1u) << "pings are not inputs";
}

TEST(Session, WithoutEchoesEnds) {
    FakeSink sink;
    SessionRegistry registry;
    const SessionOptions options{
        .hello_timeout = Seconds{20}, .ping_interval = Seconds{0.02}, .life_timeout = Seconds{0.2}};
    Served session(sink, registry, options);
    session.worker().write(hello_of("n1", 1));
    session.read<HelloReply>();
    session.worker().write(status_of({1}, {"abc123"}, {}, Left::yes));  // talking is not an echo
    const Status result = session.result();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::deadline_exceeded);
    EXPECT_EQ(std::get<NodeSessionDown>(sink.at(2)).node, NodeId{"n1"});
}

// Lets a test call the session itself: no thread feeds it and no clock ticks.
class QuietLink final : public SessionLink {
public:
    void write(const ControllerMessage& message) override {
        if (const auto* ping = std::get_if<Ping>(&message)) nonce = ping->nonce;
    }
    void finish(const Status& status) override { ended = status; }
    void cancel() override {}
    std::uint64_t nonce = 0;
    std::optional<Status> ended;
};

TEST(Session, AnEchoProvesLifeWhenItsPingWasSentNotWhenItComes) {
    FakeSink sink;
    SessionRegistry registry;
    const SessionContext context{
        sink,
        registry,
        {"cluster-1"},
        {.hello_timeout = Seconds{60}, .ping_interval = Seconds{60}, .life_timeout = Seconds{10}}};
    QuietLink link;
    const auto began = std::chrono::steady_clock::now();
    const auto session = std::make_shared<Session>(link, "p", context, began);
    ASSERT_TRUE(session->take(hello_of("n1", 1)));
    // The ping is old by the time its echo arrives.
    const auto sent = began - std::chrono::seconds(9);
    session->beat(sent);
    ASSERT_EQ(link.nonce, 1u);
    ASSERT_TRUE(session->take(Pong{1}));
    session->beat(began + std::chrono::seconds(2));
    ASSERT_TRUE(link.ended.has_value()) << "11 s after the ping";
    EXPECT_EQ(link.ended->error().code, ErrorCode::deadline_exceeded);
    session->detach();
}

// Checks whether the node is still taken at the moment when its end is posted.
class EndSink final : public InputSink {
public:
    explicit EndSink(SessionRegistry& registry) : registry_(registry) {}
    using InputSink::post;
    void post(InputBody body, OnAnswer on_answer) override {
        if (std::holds_alternative<NodeSessionDown>(body)) {
            taken_at_end = !registry_.claim({"n1"}, "the next", nullptr);
        }
        if (on_answer) on_answer(JobId{});
    }
    std::optional<bool> taken_at_end;

private:
    SessionRegistry& registry_;
};

TEST(Session, TheNextOfANodeBeginsAfterTheEndOfThisOneIsPosted) {
    SessionRegistry registry;
    EndSink sink(registry);
    const SessionContext context{sink, registry, {"cluster-1"}, kPatient};
    QuietLink link;
    const auto session =
        std::make_shared<Session>(link, "p", context, std::chrono::steady_clock::now());
    ASSERT_TRUE(session->take(hello_of("n1", 1)));
    session->closed();
    EXPECT_EQ(sink.taken_at_end, true);
    EXPECT_TRUE(registry.claim({"n1"}, "the next", nullptr)) << "and then it may";
    registry.release({"n1"});
    session->detach();
}

TEST(Session, EndsWhenTheRegistryCloses) {
    FakeSink sink;
    SessionRegistry registry;
    Served session(sink, registry, kPatient);
    session.worker().write(hello_of("n1", 1));
    session.read<HelloReply>();
    registry.close();
    EXPECT_EQ(session.result().error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace rm::test
