#include <gmock/gmock.h>

#include "controller/ops/explain/explain.h"
#include "controller/ops/views.h"
#include "service/convert/convert.h"
#include "tests/controller/pair.h"

// The steady time of a retry was shown as wall time: with a clock set forward by two hours the job
// did not seem to wait, and with one set back, one second was shown as two hours.
namespace rm::test {
namespace {

TEST(Regress0104, ARetryIsShownInTheTimeOfTheClock) {
    for (const double error : {7200.0, -7200.0}) {
        Pair world(retried_spec());
        world.run();
        world.fail(1, "words");
        const Now now{world.now + Seconds{error}, world.now};
        const Job& job = world.job(world.id);
        EXPECT_EQ(from_proto(to_message(world.state, job, now).retry_at()) - now.wall, Seconds{1});
        const Findings findings = explain(world.state, job, now);
        ASSERT_FALSE(findings.empty());
        EXPECT_EQ(findings.front().text(), "further attempt 1 of 3 begins in 1.0 s");
    }
}

}  // namespace
}  // namespace rm::test
