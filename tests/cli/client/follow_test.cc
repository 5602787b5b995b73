#include "cli/client/follow.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/show/sample_job.h"

namespace rm {
namespace {

constexpr FollowLimits kQuick{Seconds{0.001}, Seconds{0.002}, 3};

pb::JobUpdate job_update(const pb::Job& job) {
    pb::JobUpdate update;
    *update.mutable_job() = job;
    return update;
}

pb::JobUpdate step_update(std::int64_t step) {
    pb::JobUpdate update;
    *update.mutable_step() = sample_step(step);
    return update;
}

struct Stream {
    std::vector<pb::JobUpdate> updates;
    Status end;
};

// Plays one stream per call of watch, and repeats the last one.
struct Script {
    std::vector<Stream> streams;
    std::size_t calls = 0;

    Watch watch() {
        return [this](std::stop_token, const auto& on_update) {
            const Stream& stream = streams[std::min(calls++, streams.size() - 1)];
            for (const pb::JobUpdate& update : stream.updates)
                on_update(update);
            return stream.end;
        };
    }
};

struct Follow : testing::Test {
    std::ostringstream out;
    ProgressDisplay display{Output{out}};
    JobFollower follower{display};

    Status run(Script& script, std::stop_token stop = {}) {
        return follow(script.watch(), follower, display, std::move(stop), kQuick);
    }
    std::size_t times(const std::string& text) const {
        std::size_t count = 0;
        for (std::size_t at = out.str().find(text); at != std::string::npos;
             at = out.str().find(text, at + 1)) {
            ++count;
        }
        return count;
    }
};

TEST_F(Follow, ShowsStatesAndStepsToTheEnd) {
    Script script{{{{job_update(pending_job()), job_update(running_job(0)), step_update(1),
                     step_update(2), job_update(ended_job(pb::JOB_STATE_SUCCEEDED))},
                    {}}}};
    ASSERT_TRUE(run(script));
    EXPECT_TRUE(follower.ended());
    EXPECT_EQ(exit_code_of(follower.job()), ExitCode::ok);
    EXPECT_EQ(times("is pending"), 1u);
    EXPECT_EQ(times("is running"), 1u);
    EXPECT_EQ(times("step 1/8"), 1u);
    EXPECT_EQ(times("validation at step 8"), 1u);
    EXPECT_EQ(times("(demo) succeeded"), 1u);
    EXPECT_EQ(script.calls, 1u);
}

TEST_F(Follow, SurvivesARestartOfTheControllerAndRepeatsNothing) {
    const Error away{ErrorCode::unavailable, "the controller at x does not answer"};
    Script script{{{{job_update(running_job(1)), step_update(2)}, away},
                   {{}, away},
                   {{}, away},
                   {{job_update(running_job(3)), step_update(3), step_update(4)}, {}},
                   {{job_update(ended_job(pb::JOB_STATE_FAILED, "boom"))}, {}}}};
    ASSERT_TRUE(run(script));
    EXPECT_EQ(times("does not answer; the job keeps running. Retrying..."), 1u);
    EXPECT_EQ(times("the controller is back"), 1u);
    for (const char* step : {"step 1/8", "step 2/8", "step 3/8", "step 4/8"}) {
        EXPECT_EQ(times(step), 1u) << step;
    }
    EXPECT_EQ(times("is running"), 1u);
    EXPECT_EQ(exit_code_of(follower.job()), ExitCode::job_failed);
}

TEST_F(Follow, EndsAtOnceForAJobThatDoesNotExist) {
    Script script{{{{}, Error{ErrorCode::not_found, "no job zz"}}}};
    const Status status = run(script);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::not_found);
    EXPECT_EQ(script.calls, 1u);
}

TEST_F(Follow, GivesUpOnAControllerThatKeepsFailing) {
    Script script{{{{}, Error{ErrorCode::internal, "broken"}}}};
    const Status status = run(script);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "broken");
    EXPECT_EQ(script.calls, 3u);
}

TEST_F(Follow, ReturnsWhenAskedToStop) {
    std::stop_source source;
    Script script{{{{job_update(running_job(1))}, Error{ErrorCode::unavailable, "away"}}}};
    const Watch inner = script.watch();
    const Watch watch = [&](std::stop_token stop, const auto& on_update) {
        if (script.calls == 5) source.request_stop();
        return inner(std::move(stop), on_update);
    };
    ASSERT_TRUE(follow(watch, follower, display, source.get_token(), kQuick));
    EXPECT_FALSE(follower.ended());
    EXPECT_EQ(script.calls, 6u);
}

TEST_F(Follow, SaysOnceThatTheRunHasDiverged) {
    for (std::int64_t step = 1; step <= 8; ++step) {
        pb::JobUpdate update = step_update(step);
        update.mutable_step()->set_diverged_above(step < 4 ? 100 : 2.5);
        follower.update(update);
        EXPECT_EQ(times("the run has diverged: the loss of step 4 is 2.8113"), step < 4 ? 0u : 1u);
    }
    EXPECT_EQ(times("lower the learning rate"), 1u) << out.str();
}

TEST_F(Follow, SaysWhatStaysTheSameOnceInLinesOfEightyColumns) {
    for (std::int64_t step = 1; step <= 8; ++step)
        follower.update(step_update(step));
    EXPECT_EQ(times("its peak is fp32 112 GFLOP/s measured"), 2u) << "once in each stage";
    EXPECT_EQ(times("each rank uses 1.5 GiB; each step sends ring 1.0 MiB"), 2u) << out.str();
    EXPECT_EQ(times("step 8/8  loss 2.8113  grad 0.94  2.0 s  8.2k tok/s  MFU 46.1%  waiting 3.0%"),
              1u)
        << out.str();
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(Follow, PrintsAboutTwentyStepsOfALongJobWhereThereIsNoTerminal) {
    for (std::int64_t step = 1; step <= 707; ++step) {
        pb::JobUpdate update = step_update(step);
        update.mutable_step()->set_stage(0);
        update.mutable_step()->set_num_steps(707);
        update.mutable_step()->set_seconds(0.5);
        follower.update(update);
    }
    EXPECT_EQ(times("showing one step in 35, and one a minute\n"), 1u);
    EXPECT_EQ(times("  loss "), 24u) << "three, one for each part, the last";
    for (const char* step : {"step 1/", "step 2/", "step 3/", "step 36/", "step 701/", "step 707/"})
        EXPECT_EQ(times(step), 1u) << step;
}

TEST_F(Follow, PrintsAStepAMinuteOfAVeryLongJob) {
    for (std::int64_t step = 1; step <= 70; ++step) {
        pb::JobUpdate update = step_update(step);
        update.mutable_step()->set_num_steps(1'000'000);
        follower.update(update);
    }
    EXPECT_EQ(times("  loss "), 5u);
    for (const char* step : {"step 3/", "step 33/", "step 63/"})
        EXPECT_EQ(times(step), 1u) << step;
}

TEST_F(Follow, KeepsTheNewestStepWhenAStateComesLate) {
    follower.update(step_update(5));
    follower.update(job_update(running_job(3)));
    EXPECT_EQ(follower.job().last_step().step(), 5);
    EXPECT_EQ(times("step 3/8"), 0u);
}

TEST_F(Follow, ShowsNotesAsTheyAre) {
    pb::JobUpdate note;
    note.set_note("checkpoint e1-s20 skipped: torn");
    follower.update(note);
    EXPECT_EQ(out.str(), "checkpoint e1-s20 skipped: torn\n");
}

}  // namespace
}  // namespace rm
