// The hops of a step report whose key was no rank, and the peers of a connected one, were taken for
// those of rank 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/rank/report_line.h"

namespace rm {
namespace {

using testing::HasSubstr;

Result<ReportLine> read(std::string_view kind, std::string_view report) {
    return parse_report_line(
        format(R"({{"kind": "{}", "time_us": 1, "report": {}}})", kind, report));
}

TEST(Regress0132, AKeyThatIsNoRankIsAnErrorThatNamesIt) {
    for (const char* key : {"left", "", "1x", " 1", "99999999999"}) {
        const auto step =
            read("step", format(R"({{"step": 1, "hops": {{"{}": {{"bytes": 8}}}}}})", key));
        ASSERT_FALSE(step.ok()) << key;
        EXPECT_THAT(step.error().message,
                    HasSubstr(format("hops: the key '{}' is not a whole number", key)));
        const auto connected =
            read("connected", format(R"({{"rank": 1, "peers": {{"{}": {{"own": "a"}}}}}})", key));
        ASSERT_FALSE(connected.ok()) << key;
        EXPECT_THAT(connected.error().message,
                    HasSubstr(format("peers: the key '{}' is not a whole number", key)));
    }
    const ReportLine line = read("step", R"({"step": 1, "hops": {"3": {"bytes": 8}}})").value();
    EXPECT_EQ(std::get<StepReport>(line.report).hops.at(3).bytes, 8);
}

}  // namespace
}  // namespace rm
