#include <gtest/gtest.h>

#include <sstream>

#include "cli/screen/log_printer.h"
#include "cli/show/describe_job.h"
#include "cli/show/job_tables.h"
#include "cli/show/link_tables.h"
#include "cli/show/placement_text.h"
#include "cli/show/table.h"
#include "cli/up/cluster.h"
#include "planner/placement/explain.h"

// `show` printed data.path raw, `explain` and `drain` the reason, `logs` the rank's bytes: a
// submitter could set the title of an admin's terminal or clear it. Tables let C1 pass. Later
// alarms, the model of a placement, the failure in `top` and names of nodes were found raw, too.
namespace rm {
namespace {

constexpr const char* kEscapes =
    "/data/\x1b]0;title\a\x1b[2J\xc2\x9b"
    "2J/x";

bool is_quiet(const std::string& text) {
    return text.find('\x1b') == std::string::npos && text.find('\a') == std::string::npos &&
           text.find("\xc2\x9b") == std::string::npos;
}

pb::Job hostile_job() {
    pb::Job job;
    job.set_id("abc123");
    job.set_state(pb::JOB_STATE_FAILED);
    job.mutable_spec()->set_name("demo");
    job.mutable_spec()->mutable_data()->add_sources()->set_path(kEscapes);
    job.set_failure(kEscapes);
    job.add_blocking_reasons(kEscapes);
    job.add_alarms()->set_text(kEscapes);
    pb::StepReport& step = *job.mutable_last_step();
    step.set_step(1);
    step.set_causal_mfu(0.5);
    step.set_peak_name(kEscapes);
    job.add_attempts()->set_last_checkpoint_path(kEscapes);
    return job;
}

// Two nodes in one ring with a degraded link.
PlacementReport hostile_report() {
    const NodeId a{std::string(kEscapes) + "a"};
    const NodeId b{std::string(kEscapes) + "b"};
    const LinkGraph graph = uniform_graph({a, b}, 1, {{8}, {}, {}}, {{80}, {}, {}});
    const StepTraffic traffic = {{Axis::ring, Pattern::ring, {100'000'000}, 1}};
    PlacementReport report =
        report_placement({graph, Mesh::make(1, 2, 1, 1).value(), traffic}, {{0, 0}, {1, 0}});
    report.degraded = {{a, b, {0.8}, {8}, {}}};
    return report;
}

// As before the first survey.
PlacementReport unmeasured(const PlacementReport& report) {
    return {.mesh = report.mesh, .placed = {.ranks = report.placed.ranks}};
}

pb::PlacementReply hostile_placement(const PlacementReport& report) {
    pb::PlacementReply reply;
    *reply.mutable_placement() = to_proto(report);
    reply.set_model(kEscapes);
    reply.add_unsurveyed(kEscapes);
    return reply;
}

pb::LinksReply hostile_links() {
    pb::LinksReply links;
    links.add_nodes()->set_id(kEscapes);
    links.add_cables()->set_name(kEscapes);
    pb::NodeLink& link = *links.add_links();
    link.set_from(kEscapes);
    link.set_to(kEscapes);
    link.mutable_degraded();
    links.mutable_survey()->set_last(1);
    links.mutable_survey()->set_nodes(1);
    links.mutable_survey()->set_failed_probes(1);
    links.mutable_survey()->add_errors(kEscapes);
    return links;
}

TEST(Regress, ShowAndExplainSendNoEscapesOfAJobToTheTerminal) {
    std::ostringstream text;
    const Output out{text, true, false, 80};
    describe_job(out, hostile_job(), {});
    pb::ExplainJobReply reply;
    *reply.mutable_job() = hostile_job();
    pb::Finding& finding = *reply.add_findings();
    finding.set_subject(kEscapes);
    finding.set_text(kEscapes);
    finding.set_remedy(kEscapes);
    print_explanation(out, reply);
    reply.mutable_job()->set_state(pb::JOB_STATE_RUNNING);
    print_explanation(out, reply);
    text << job_summary(hostile_job());
    EXPECT_TRUE(is_quiet(text.str())) << text.str();
    EXPECT_NE(text.str().find("/data/"), std::string::npos);
}

TEST(Regress, PlacementTopAndLinksSendNone) {
    std::ostringstream text;
    const Output out{text, true, false, 80};
    for (const PlacementReport& report : {hostile_report(), unmeasured(hostile_report())}) {
        const Status printed = print_attempt_placement(out, hostile_placement(report), {});
        ASSERT_TRUE(printed) << printed.error().message;
    }
    pb::TopJob top;
    *top.mutable_job() = hostile_job();
    for (const Cell& line : top_heading(top, {}))
        text << line.text;
    const pb::LinksReply links = hostile_links();
    print_cables(out, links);
    print_degraded(out, links, {});
    rate_matrix(links).print(out);
    text << survey_line(links.survey());
    EXPECT_TRUE(is_quiet(text.str())) << text.str();
}

TEST(Regress, NotesAndTablesSendNone) {
    std::ostringstream text;
    const Output out{text, true, false, 80};
    Console console{out, out};
    console.note(kEscapes);
    Table table({{"NAME"}});
    table.add({kEscapes});
    table.print(out);
    EXPECT_TRUE(is_quiet(text.str())) << text.str();
}

TEST(Regress, DataIsQuietOnATerminalAndWholeElsewhere) {
    std::ostringstream text;
    EXPECT_TRUE(is_quiet(Output{text, true}.data(kEscapes)));
    EXPECT_EQ(Output{text}.data(kEscapes), kEscapes);
}

TEST(Regress, LogsSendNoneToATerminalAndAllBytesToAFile) {
    std::mutex lock;
    pb::LogPiece piece;
    piece.set_data(std::string(kEscapes) + "\n");
    for (const bool terminal : {true, false}) {
        std::ostringstream text;
        const Output out{text, terminal, false, 80};
        LogPrinter(out, lock, "", LogStamp::none).add(piece);
        EXPECT_EQ(is_quiet(text.str()), terminal) << text.str();
    }
}

}  // namespace
}  // namespace rm
