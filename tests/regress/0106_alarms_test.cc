#include <gmock/gmock.h>

#include "tests/controller/running.h"

// Only one rank's log mentioned a damaged checkpoint that the rank had skipped. Now it raises an
// alarm, and `show` and `explain` report it.
namespace rm::test {
namespace {

using testing::HasSubstr;

constexpr const char* kWords = "no checkpoint of step 3: No space left on device";

struct Regress0106 : Running, testing::Test {
    JoinedWorker a{address, hello_of("a", 1)};
    std::string id = submit(small_spec(ring(1)));
    Epoch epoch = a.take<LaunchAttempt>().epoch;

    void sound_alarm() {
        pb::TelemetryMessage message;
        message.set_epoch(epoch.value);
        message.set_end_offset(100);
        message.set_note(kWords);
        message.set_alarm(true);
        TelemetrySender(*this).send(message);
    }
    // Its findings about alarms.
    std::vector<pb::Finding> explained() {
        grpc::ClientContext context;
        pb::ExplainJobRequest request;
        request.set_job_id(id);
        pb::ExplainJobReply reply;
        EXPECT_TRUE(jobs->Explain(&context, request, &reply).ok());
        std::vector<pb::Finding> found(reply.findings().begin(), reply.findings().end());
        std::erase_if(found, [](const pb::Finding& finding) {
            return finding.subject().find("alarm") == std::string::npos;
        });
        return found;
    }
};

TEST_F(Regress0106, ShowAndExplainHaveTheAlarmsOfAJob) {
    EXPECT_EQ(job(id).alarms_size(), 0);
    EXPECT_TRUE(explained().empty());
    sound_alarm();
    const pb::Job shown = job(id);
    ASSERT_EQ(shown.alarms_size(), 1);
    EXPECT_EQ(shown.alarms(0).epoch(), epoch.value);
    EXPECT_EQ(shown.alarms(0).text(), kWords);
    const std::vector<pb::Finding> findings = explained();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind(), pb::Finding::PROBLEM);
    EXPECT_EQ(findings[0].subject(), format("alarm of attempt {}", epoch));
    EXPECT_THAT(findings[0].text(), HasSubstr(kWords));
    EXPECT_THAT(findings[0].remedy(), HasSubstr("look at the disk of the checkpoints"));
}

}  // namespace
}  // namespace rm::test
