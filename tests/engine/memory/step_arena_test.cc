// A pass must make the planned requests; any other request ends the job by name.
#include "engine/memory/step_arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "tests/support/refusals.h"

namespace rm {
namespace {

using test::check_error_of;
using ::testing::HasSubstr;

// Hands out addresses that the test never touches.
class Addresses final : public RequestRecorder::Listener {
public:
    void* requested(const BufferName& /*name*/, Bytes /*size*/) override { return next_ += 4096; }
    void released(void* /*address*/) override {}

private:
    std::byte* next_ = nullptr;
};

constexpr std::int64_t kElements = 100;

// Requests "q of layer 3" and, within its life, "h".
void two_buffers(StepArena& arena) {
    const ArenaTensor q(arena, {"q", 3}, DType::f32, {kElements});
    const ArenaTensor h(arena, {"h"}, DType::f32, {2, kElements});
}

class PlannedArenaTest : public testing::Test {
protected:
    PlannedArenaTest() {
        Addresses addresses;
        RequestRecorder recorder(addresses);
        two_buffers(recorder);
        planned_ = recorder.take();
        planned_.requests[1].offset = {512};
    }
    // Returns the error of a pass with these requests.
    std::string failure_of_pass(const std::function<void(StepArena&)>& requests) {
        return check_error_of([&] {
            arena_.begin(planned_);
            requests(arena_);
            arena_.end();
        });
    }

    PassRequests planned_;
    std::array<std::byte, 2048> memory_{};
    PlannedArena arena_{"the arena", memory_.data(), Bytes{2048}};
};

TEST_F(PlannedArenaTest, GivesThePlannedPlacesPassAfterPass) {
    for (int pass = 0; pass < 2; ++pass) {
        arena_.begin(planned_);
        {
            const ArenaTensor q(arena_, {"q", 3}, DType::f32, {kElements});
            const ArenaTensor h(arena_, {"h"}, DType::f32, {2, kElements});
            EXPECT_EQ(q->data(), memory_.data());
            EXPECT_EQ(h->data(), memory_.data() + 512);
        }
        arena_.end();
    }
}

TEST_F(PlannedArenaTest, EndsAPassThatAsksForSomethingElse) {
    const std::string plan = "; the plan has q of layer 3 with 400 B";
    EXPECT_THAT(failure_of_pass([](StepArena& arena) {
                    const ArenaTensor k(arena, {"k", 3}, DType::f32, {kElements});
                }),
                HasSubstr("the arena: request 0 is k of layer 3 with 400 B" + plan));
    EXPECT_THAT(failure_of_pass([](StepArena& arena) {
                    const ArenaTensor q(arena, {"q", 2}, DType::f32, {kElements});
                }),
                HasSubstr("the arena: request 0 is q of layer 2 with 400 B" + plan));
    EXPECT_THAT(failure_of_pass([](StepArena& arena) {
                    const ArenaTensor q(arena, {"q", 3}, DType::bf16, {kElements});
                }),
                HasSubstr("the arena: request 0 is q of layer 3 with 200 B" + plan));
    EXPECT_THAT(failure_of_pass([](StepArena& arena) {
                    const ArenaTensor h(arena, {"h"}, DType::f32, {2, kElements});
                }),
                HasSubstr("the arena: request 0 is h with 800 B" + plan));
}

TEST_F(PlannedArenaTest, EndsAPassThatAsksForMoreOrLess) {
    EXPECT_THAT(failure_of_pass([](StepArena& arena) {
                    two_buffers(arena);
                    const ArenaTensor more(arena, {"more"}, DType::f32, {kElements});
                }),
                HasSubstr("the arena: more with 400 B is requested where the plan has no request"));
    EXPECT_THAT(failure_of_pass([](StepArena& arena) {
                    const ArenaTensor q(arena, {"q", 3}, DType::f32, {kElements});
                }),
                HasSubstr("1 of the 2 planned requests of the arena were made"));
    PlannedArena idle("the arena", memory_.data(), Bytes{2048});
    EXPECT_THAT(check_error_of([&] { two_buffers(idle); }),
                HasSubstr("q of layer 3 with 400 B is requested where the plan has no request"));
}

TEST_F(PlannedArenaTest, EndsAPassThatKeepsABuffer) {
    ArenaTensor kept;
    EXPECT_THAT(failure_of_pass([&](StepArena& arena) {
                    kept = ArenaTensor(arena, {"q", 3}, DType::f32, {kElements});
                    const ArenaTensor h(arena, {"h"}, DType::f32, {2, kElements});
                }),
                HasSubstr("1 buffers of the arena are live after a pass"));
    EXPECT_THAT(check_error_of([&] { arena_.begin(planned_); }),
                HasSubstr("1 buffers of the arena are live before a pass"));
}

TEST_F(PlannedArenaTest, RefusesAPlanThatEndsBeyondIt) {
    planned_.requests[1].offset = {2048 - 799};
    EXPECT_THAT(failure_of_pass(two_buffers), HasSubstr("h ends at "));
}

TEST(RequestRecorder, RefusesAPassThatDoesNotReleaseItsBuffers) {
    Addresses addresses;
    RequestRecorder recorder(addresses);
    const ArenaTensor q(recorder, {"q", 3}, DType::f32, {kElements});
    EXPECT_THAT(check_error_of([&] { recorder.take(); }),
                HasSubstr("q of layer 3 is not released at the end of its pass"));
}

}  // namespace
}  // namespace rm
