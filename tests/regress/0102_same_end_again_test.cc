#include <gmock/gmock.h>

#include "controller/ops/explain/explain.h"
#include "tests/controller/pair.h"

// `explain` gave advice that fails the same way again: after too little memory `continue` or
// the same job file, and where no checkpoint is whole `--from` the same directory.
namespace rm::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A job that had written a checkpoint below /ckpt and then failed.
struct Regress0102 : Pair {
    Regress0102(const JobSpec& spec, int code, const std::string& words) : Pair(spec) {
        run();
        AttemptStatus written = status_of(epoch, id, {training(0)}, Left::yes);
        written.checkpoint_step = 5;
        written.checkpoint_path = "/ckpt/e1-s5";
        status("a", written);
        fail(code, words);
        RM_CHECK(job(id).state == JobState::failed, "the job is {}", to_string(job(id).state));
    }
    std::string remedy() const {
        for (const pb::Finding& finding : explain(state, job(id), {now, now})) {
            if (finding.subject() == "job") return finding.remedy();
        }
        return "";
    }
};

TEST(Regress0102, AfterTooLittleMemoryItSaysWhatNeedsLess) {
    JobSpec spec = small_spec();
    spec.memory.device = Bytes{1 << 30};
    EXPECT_EQ(Regress0102(spec, kRankOutOfMemory, "a rank takes 3.0 GiB of the device").remedy(),
              "unchanged it runs out of memory again: give it a `memory.device` larger than 1GiB, "
              "more devices, a shorter context, `memory: {offload: on}`, `memory: {keep: input}` "
              "or a smaller `memory.chunk`, then submit the job file with --from /ckpt");
}

TEST(Regress0102, WhatTheJobHasDoneAlreadyIsNotAdvised) {
    JobSpec spec = small_spec();
    spec.memory = {.keep = Keep::input, .offload = Switch::on, .host = Bytes{1LL << 30}};
    EXPECT_THAT(Regress0102(spec, kRankOutOfMemory, "a rank takes 3.0 GiB of the host").remedy(),
                AllOf(HasSubstr("a `memory.host` larger than 1GiB, more devices"),
                      Not(HasSubstr("offload")), Not(HasSubstr("keep"))));
    EXPECT_THAT(Regress0102(small_spec(), kRankOutOfMemory, "killed by the kernel").remedy(),
                AllOf(HasSubstr("more devices"), Not(HasSubstr("offload"))))
        << "the host's memory is the device's";
}

TEST(Regress0102, WhereNoCheckpointIsWholeTheirDirectoryIsNotAdvised) {
    EXPECT_EQ(Regress0102(small_spec(), kRankNoCheckpoint, "any words").remedy(),
              "submit the job file with --from another checkpoint, which `ring-checkpoint verify` "
              "finds whole, or without --from, to begin anew");
    JobSpec spec = small_spec();
    spec.checkpoint.from = "/old";
    EXPECT_THAT(Regress0102(spec, kRankNoBeginning, "any words").remedy(),
                AllOf(HasSubstr("or without checkpoint.from"), Not(HasSubstr("/ckpt"))));
}

}  // namespace
}  // namespace rm::test
