#include "service/http/event_feed.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

std::string joined(const std::vector<EventFeed::Text>& texts) {
    std::string all;
    for (const EventFeed::Text& text : texts)
        all += *text;
    return all;
}

TEST(EventFeed, GivesEachReaderTheMessagesAfterItsPlace) {
    EventFeed feed("f");
    feed.publish("job", "{}");
    EventFeed::Place place = feed.begin("").place;
    EXPECT_TRUE(feed.take(place).empty()) << "a first visit begins now";
    feed.publish("step", "1");
    feed.publish("step", "2");
    EXPECT_EQ(joined(feed.take(place)),
              "id: f.2\nevent: step\ndata: 1\n\nid: f.3\nevent: step\ndata: 2\n\n");
    EXPECT_TRUE(feed.take(place).empty());
}

TEST(EventFeed, ContinuesAfterTheLastEventOfAReaderThatComesBack) {
    EventFeed feed("f");
    for (int i = 1; i <= 3; ++i)
        feed.publish("step", std::to_string(i));
    EventFeed::Place place = feed.begin("f.2").place;
    EXPECT_EQ(joined(feed.take(place)), "id: f.3\nevent: step\ndata: 3\n\n");
}

TEST(EventFeed, TellsAReaderThatMissedSomethingToReadAgain) {
    EventFeed feed("f", 2);
    EventFeed::Place slow = feed.begin("").place;
    for (int i = 1; i <= 5; ++i)
        feed.publish("step", std::to_string(i));
    EXPECT_EQ(joined(feed.take(slow)), "id: f.5\nevent: reset\ndata: {}\n\n");
    EXPECT_TRUE(feed.take(slow).empty());
    for (const char* id : {"", "f.2", "other.4", "f.6", "f.", "5", "f.-1"}) {
        const auto [place, first] = feed.begin(id);
        EXPECT_EQ(place, 5u) << id;
        EXPECT_NE(first->find("event: reset"), std::string::npos) << id;
    }
    EXPECT_EQ(feed.begin("f.3").place, 3u) << "the last two are there";
}

TEST(EventFeed, KeepsOneTextForAllReaders) {
    EventFeed feed("f");
    EventFeed::Place one = feed.begin("").place, other = one;
    feed.publish("step", "{}");
    EXPECT_EQ(feed.take(one).front(), feed.take(other).front()) << "the same bytes in memory";
}

TEST(EventFeed, WakesEveryReaderUntilItIsForgotten) {
    EventFeed feed("f");
    int woken = 0;
    const auto first = feed.attend([&] { ++woken; });
    feed.attend([&] { ++woken; });
    feed.publish("step", "{}");
    EXPECT_EQ(woken, 2);
    feed.forget(first);
    EXPECT_EQ(feed.num_readers(), 1u);
    feed.publish("step", "{}");
    EXPECT_EQ(woken, 3);
}

}  // namespace
}  // namespace rm
