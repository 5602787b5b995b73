#include <gtest/gtest.h>

#include "ringmaster/v1/worker.pb.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

TEST(ConvertProbes, LosesNothingOnTheWay) {
    const RunProbe run{.id = 7,
                       .kind = ProbeKind::node,
                       .peer = {"b"},
                       .address = "10.0.0.1",
                       .port = 7081,
                       .nonce = std::string("a\0\xff", 3),
                       .streams = {1, 16},
                       .each = Seconds{0.3}};
    EXPECT_EQ(std::get<RunProbe>(from_proto(to_proto(ControllerMessage(run))).value()), run);
    const ExpectProbe expect{.nonce = run.nonce, .valid = Seconds{4}};
    EXPECT_EQ(std::get<ExpectProbe>(from_proto(to_proto(ControllerMessage(expect))).value()),
              expect);
    const ProbeReport report{
        .id = 7,
        .error = "no",
        .samples = {{.streams = 4, .rate = {0.4}, .bytes = {1000}, .seconds = {0.2}, .loss = 0.01}},
        .latency = {1e-4},
        .jitter = {1e-6},
        .inside = {{kHostEnd, 1, {80}, {1e-8}, {64}, {0.01}}}};
    EXPECT_EQ(std::get<ProbeReport>(from_proto(to_proto(WorkerMessage(report))).value()), report);
}

}  // namespace
}  // namespace rm
