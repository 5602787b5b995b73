// Contexts that others have published as fitting or not fitting: ring-bench fits prints them.
#include "bench/published/published_fits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rm::bench {
namespace {

PublishedFit fit_of(std::string_view by, std::string_view strategy, std::int64_t context) {
    for (const PublishedFit& fit : published_fits()) {
        if (fit.by == by && fit.strategy == strategy && fit.context == context) return fit;
    }
    RM_CHECK(false, "no row of {}, {}, {} tokens", by, strategy, context);
    return {};
}

class Published : public testing::TestWithParam<PublishedFit> {};

TEST_P(Published, VerdictIsOurs) {
    const PublishedFit& fit = GetParam();
    const FitNeed need = need_of(fit).value();
    EXPECT_GT(need.device.value, 0);
    EXPECT_NE(verdict_of(fit, need), Verdict::differs)
        << fit.by << ", " << fit.model << ", " << fit.strategy << ", " << fit.context
        << " tokens: device " << to_string(need.device) << ", host " << to_string(need.host);
}

std::string name_of(const testing::TestParamInfo<PublishedFit>& info) {
    return format("{}_{}", info.param.by, info.index);
}
INSTANTIATE_TEST_SUITE_P(Fits, Published, testing::ValuesIn(published_fits()), name_of);

TEST(PublishedFits, AreJudgedWhereOurEngineHasTheStrategy) {
    std::set<std::string_view> fitting, failing;
    int judged = 0;
    for (const PublishedFit& fit : published_fits()) {
        if (!fit.unjudged.empty()) continue;
        (fit.fits ? fitting : failing).insert(fit.by);
        ++judged;
    }
    EXPECT_EQ(judged, 43);
    EXPECT_EQ(fitting, (std::set<std::string_view>{"ALST", "FPDT", "MEMO", "TRL"}));
    EXPECT_EQ(failing, (std::set<std::string_view>{"ALST", "MEMO"}));
}

// A verdict names what is short: a device too small, or a host.
TEST(PublishedFits, DifferOnAnotherMachine) {
    PublishedFit fit = fit_of("ALST", "all of ALST", 3'700'000);
    const FitNeed need = need_of(fit).value();
    EXPECT_EQ(verdict_of(fit, need), Verdict::agrees);
    fit.machine.device.value = need.device.value - 1;
    EXPECT_EQ(verdict_of(fit, need), Verdict::differs);
    fit.fits = false;
    fit.shortage = "host";
    EXPECT_EQ(verdict_of(fit, need), Verdict::other_reason);
    fit.shortage = "device";
    EXPECT_EQ(verdict_of(fit, need), Verdict::agrees);
    fit.unjudged = "for a test";
    EXPECT_EQ(verdict_of(fit, need), Verdict::not_judged);
}

// The host is shared by the devices in use, no more than a node has.
TEST(PublishedFits, ShareANodesMemoryAmongItsDevices) {
    PublishedFit fit = fit_of("ALST", "all of ALST", 15'000'000);
    EXPECT_EQ(fit.host_available().value, 1'900'000'000'000 / 8);
    fit.mesh = Mesh::make(1, 1, 2, 1).value();
    EXPECT_EQ(fit.host_available().value, 1'900'000'000'000 / 2);
}

}  // namespace
}  // namespace rm::bench
