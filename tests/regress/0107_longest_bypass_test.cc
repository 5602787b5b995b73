#include "tests/controller/running.h"

// How long later jobs may pass one that does not fit was a constant of an hour.
namespace rm::test {
namespace {

TEST(Regress0107, TheControllersOptionSaysHowLongAJobMayBePassed) {
    Running running;
    running.daemon.reset();
    DaemonOptions options = running.options();
    options.max_bypass = Seconds{0};
    running.start(std::move(options));
    JoinedWorker a(running.address, hello_of("a", 1));
    JoinedWorker b(running.address, hello_of("b", 1));
    running.wait_for(running.submit(small_spec(ring(1)), "first"), pb::JOB_STATE_STARTING);
    const std::string wide = running.submit(small_spec(ring(2)), "wide");
    const std::string narrow = running.submit(small_spec(ring(1)), "narrow");
    const std::string kept = "cpu devices are kept for job " + wide;
    for (int i = 0; i < 2000; ++i) {
        const pb::Job job = running.job(narrow);
        ASSERT_EQ(job.blocking_reasons_size(), 1) << "it has passed";
        if (job.blocking_reasons(0).starts_with(kept)) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    FAIL() << running.job(narrow).blocking_reasons(0);
}

}  // namespace
}  // namespace rm::test
