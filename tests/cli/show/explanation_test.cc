#include <gtest/gtest.h>

#include <sstream>

#include "cli/show/describe_job.h"
#include "tests/cli/show/sample_job.h"

namespace rm {
namespace {

pb::ExplainJobReply reply_of(const std::string& subject) {
    pb::ExplainJobReply reply;
    *reply.mutable_job() = pending_job();
    pb::Finding& queue = *reply.add_findings();
    queue.set_kind(pb::Finding::INFO);
    queue.set_subject("queue");
    queue.set_text("1 of 2 is before it");
    pb::Finding& blocking = *reply.add_findings();
    blocking.set_kind(pb::Finding::BLOCKING);
    blocking.set_subject(subject);
    blocking.set_text("needs four devices of one kind and only two of them are free now");
    blocking.set_remedy("add two");
    return reply;
}

TEST(Explanation, PutsTheRemedyUnderTheFinding) {
    std::ostringstream out;
    print_explanation({out}, reply_of("devices"));
    EXPECT_EQ(out.str(),
              "job a1b2c3 (demo) is pending\n"
              "             queue    1 of 2 is before it\n"
              "  pending    devices  needs four devices of one kind and only two of them are free "
              "now\n"
              "                      -> add two\n");
}

TEST(Explanation, BreaksLinesAtTheEdgeOfATerminal) {
    std::ostringstream out;
    print_explanation({out, true, false, 60}, reply_of("devices"));
    EXPECT_NE(out.str().find("  pending    devices  needs four devices of one kind and\n"
                             "                      only two of them are free now\n"),
              std::string::npos)
        << out.str();
}

TEST(Explanation, GivesALongSubjectItsOwnLine) {
    std::ostringstream out;
    print_explanation({out}, reply_of("node 99ff89da-85db-48ad-a6e8-bc48a111c30d"));
    EXPECT_NE(out.str().find("  pending    node 99ff89da-85db-48ad-a6e8-bc48a111c30d\n"
                             "                    needs four"),
              std::string::npos)
        << out.str();
}

}  // namespace
}  // namespace rm
