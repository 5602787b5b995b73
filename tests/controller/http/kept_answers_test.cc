#include "controller/http/kept_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace rm {
namespace {

using testing::HasSubstr;

struct Asked : testing::Test {
    ManualClock clock;
    KeptAnswers answers{clock};
    std::atomic<int> made = 0;

    // The answer to `question`, which takes so long to make.
    HttpResponse ask(const std::string& question, Seconds takes, Seconds longest = Seconds{100},
                     HttpResponse response = {.body = "made"}) {
        return answers.get(question, longest, [&] {
            ++made;
            clock.advance(takes);
            response.body += format(" {}", made.load());
            return response;
        });
    }
};

TEST_F(Asked, AnAnswerStaysForSoManyTimesItsMaking) {
    EXPECT_EQ(ask("a", Seconds{0.05}).body, "made 1");
    clock.advance(Seconds{9.9});
    EXPECT_EQ(ask("a", Seconds{0.05}).body, "made 1");
    EXPECT_EQ(ask("b", Seconds{0}).body, "made 2") << "another question has an answer of its own";
    clock.advance(Seconds{0.2});
    EXPECT_EQ(ask("a", Seconds{0.05}).body, "made 3");
}

TEST_F(Asked, NotLongerThanTheQuestionAccepts) {
    ask("a", Seconds{0.05}, Seconds{3});
    clock.advance(Seconds{3.1});
    EXPECT_EQ(ask("a", Seconds{0.05}, Seconds{3}).body, "made 2");
}

TEST_F(Asked, BrowsersLearnHowLongItStays) {
    EXPECT_EQ(ask("a", Seconds{0.05}).cache_control, "private, max-age=10");
    clock.advance(Seconds{3.5});
    EXPECT_EQ(ask("a", Seconds{0.05}).cache_control, "private, max-age=6");
    EXPECT_EQ(ask("b", Seconds{0.0025}).cache_control, "no-store") << "it stays for half a second";
}

TEST_F(Asked, AnErrorIsMadeAnew) {
    EXPECT_EQ(ask("a", Seconds{1}, Seconds{9}, {.status = 404, .body = "no"}).body, "no 1");
    EXPECT_EQ(ask("a", Seconds{1}).body, "made 2");
}

TEST_F(Asked, AnExceptionReachesItsCallerAndTheNextOneMakesIt) {
    const auto fails = []() -> HttpResponse { throw std::runtime_error("out of luck"); };
    EXPECT_THROW(answers.get("a", Seconds{9}, fails), std::runtime_error);
    EXPECT_EQ(ask("a", Seconds{1}).body, "made 1");
}

TEST_F(Asked, ThoseThatAskMeanwhileWaitForTheSameAnswer) {
    std::atomic<int> asking = 0;
    const auto slow = [&] {
        ++made;
        while (asking < 20)
            std::this_thread::yield();
        clock.advance(Seconds{1});
        return HttpResponse{.body = "slow"};
    };
    std::vector<std::string> bodies(20);
    {
        std::vector<std::jthread> pages;
        for (std::string& body : bodies) {
            pages.emplace_back([&] {
                ++asking;
                body = answers.get("a", Seconds{9}, slow).body;
            });
        }
    }
    EXPECT_THAT(bodies, testing::Each("slow"));
    EXPECT_EQ(made, 1);
}

TEST_F(Asked, TheFirstToEndMakeRoom) {
    const HttpResponse third{.body = std::string(usize(KeptAnswers::kMost.value / 3), 'x')};
    ask("a", Seconds{2}, Seconds{100}, third);
    ask("b", Seconds{1}, Seconds{50}, third);
    ask("c", Seconds{2}, Seconds{100}, third);  // beyond the room, with the numbers at their ends
    EXPECT_EQ(made, 3);
    ask("a", Seconds{2}, Seconds{100}, third);
    EXPECT_EQ(made, 3);
    ask("b", Seconds{1}, Seconds{50}, third);
    EXPECT_EQ(made, 4);
}

}  // namespace
}  // namespace rm
