// A stream waits only where no earlier wait implies the order.
#include "engine/streams/stream_order.h"

#include <gtest/gtest.h>

#include <memory>

namespace rm {
namespace {

class StreamOrders : public testing::Test {
protected:
    static void work(Stream& stream) {
        stream.enqueue("op", [] {});
    }
    std::unique_ptr<Event> event() { return device_->make_event(); }

    std::unique_ptr<Device> device_ = make_host_device();
    std::unique_ptr<Stream> a_ = device_->make_stream("a");
    std::unique_ptr<Stream> b_ = device_->make_stream("b");
    std::unique_ptr<Stream> c_ = device_->make_stream("c");
    StreamOrder order_;
};

TEST_F(StreamOrders, WaitForWhatAnotherStreamWasGiven) {
    const auto done = event();
    work(*a_);
    const auto mark = order_.record(*a_, *done);
    EXPECT_TRUE(order_.needs_wait(*b_, mark));
    EXPECT_TRUE(order_.wait(*b_, *done));
}

TEST_F(StreamOrders, NeverWaitForTheirOwn) {
    const auto done = event();
    work(*a_);
    EXPECT_FALSE(order_.wait(*a_, order_.record(*a_, *done)));
}

// Stages make streams and destroy them: a new one is not taken for one that is gone.
TEST_F(StreamOrders, GiveTheirPlacesToOthersWhenTheyAreForgotten) {
    const auto done = event(), later = event();
    for (std::size_t i = 0; i < 3 * StreamOrder::kMaxStreams; ++i) {
        const std::unique_ptr<Stream> stream = device_->make_stream("stage");
        work(*stream);
        const auto mark = order_.record(*stream, *done);
        EXPECT_TRUE(order_.wait(*a_, mark));
        work(*a_);
        EXPECT_TRUE(order_.wait(*stream, order_.record(*a_, *later)));
        a_->synchronize();
        stream->synchronize();
        order_.forget(*stream);
        EXPECT_FALSE(order_.needs_wait(*b_, mark)) << "it is over";
    }
}

TEST_F(StreamOrders, LeaveOutWhatFollowsThroughAThirdStream) {
    const auto first = event(), second = event();
    work(*a_);
    order_.record(*a_, *first);
    EXPECT_TRUE(order_.wait(*b_, *first));
    work(*b_);
    order_.record(*b_, *second);
    EXPECT_TRUE(order_.wait(*c_, *second));
    EXPECT_FALSE(order_.wait(*c_, *first));
}

TEST_F(StreamOrders, KnowThatAnEarlierMarkFollowsFromALaterOne) {
    const auto early = event(), late = event();
    work(*a_);
    order_.record(*a_, *early);
    work(*a_);
    order_.record(*a_, *late);
    EXPECT_TRUE(order_.wait(*b_, *late));
    EXPECT_FALSE(order_.wait(*b_, *early));
}

TEST_F(StreamOrders, TakeMarksWithoutWorkBetweenForOnePoint) {
    const auto first = event(), again = event();
    work(*a_);
    order_.record(*a_, *first);
    EXPECT_TRUE(order_.wait(*b_, *first));
    EXPECT_FALSE(order_.wait(*b_, order_.record(*a_, *again)));
}

TEST_F(StreamOrders, SeeThatAMarkWithoutWorkMayStandForAWait) {
    const auto of_c = event(), first = event(), again = event();
    work(*a_);
    order_.record(*a_, *first);
    EXPECT_TRUE(order_.wait(*b_, *first));
    work(*c_);
    order_.record(*c_, *of_c);
    EXPECT_TRUE(order_.wait(*a_, *of_c));
    EXPECT_TRUE(order_.wait(*b_, order_.record(*a_, *again))) << "a has waited for c since";
}

TEST_F(StreamOrders, NeedNoWaitForWhatTheHostHasWaitedFor) {
    const auto done = event();
    work(*a_);
    const auto mark = order_.record(*a_, *done);
    a_->synchronize();
    order_.joined(*a_);
    EXPECT_FALSE(order_.wait(*b_, mark));
}

TEST_F(StreamOrders, WaitOnceWhereTheRestFollows) {
    const auto first = event(), second = event();
    work(*a_);
    const auto of_a = order_.record(*a_, *first);
    order_.wait(*b_, of_a);
    work(*b_);
    const auto of_b = order_.record(*b_, *second);
    const StreamOrder::Mark marks[] = {of_a, of_b};
    order_.wait_all(*c_, marks);
    EXPECT_FALSE(order_.needs_wait(*c_, of_a));
    EXPECT_FALSE(order_.needs_wait(*c_, of_b));
}

TEST_F(StreamOrders, PassOnEventsThatWereRecordedElsewhere) {
    const auto done = event();
    work(*a_);
    a_->record(*done);
    EXPECT_TRUE(order_.wait(*b_, *done));
    EXPECT_TRUE(order_.wait(*b_, *done)) << "nothing is known of it";
}

}  // namespace
}  // namespace rm
