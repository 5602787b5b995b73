#include "controller/store/survey_store.h"

#include <gtest/gtest.h>

#include "controller/store/telemetry_store.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

struct SurveyTables : testing::Test {
    TempDir directory;
    TelemetryPaths paths{directory.file("telemetry.db"), directory.file("logs")};
    std::unique_ptr<TelemetryStore> telemetry = TelemetryStore::open(paths, {1 << 20}).value();
    std::unique_ptr<SurveyStore> store = SurveyStore::open(paths.database).value();

    void reopen() { store = SurveyStore::open(paths.database).value(); }
    static LinkSample sample(std::int64_t survey, double rate) {
        return {.survey = survey,
                .time = {survey * 1'000'000},
                .ends = {{"a"}, {"b"}},
                .beside = 2,
                .report = {.samples = {{.streams = 4,
                                        .rate = {rate},
                                        .bytes = {1000},
                                        .seconds = {0.2},
                                        .loss = 0.01}},
                           .latency = {1e-4},
                           .jitter = {1e-6}}};
    }
};

TEST_F(SurveyTables, KeepTheBook) {
    LinkBook book;
    book.links[{{"a"}, {"b"}}] = {.flow = {0.3},
                                  .bandwidth = {0.4},
                                  .latency = {1e-4},
                                  .jitter = {1e-6},
                                  .loss = 0.02,
                                  .measured = {17},
                                  .alone = true,
                                  .baseline = {0.39},
                                  .degraded = WallTime{18},
                                  .good = {0.38, 0.39, 0.4}};
    book.groups = {{{{"a"}, {"c"}}, {0.05}, {0.06}}, {{{"b"}}, {}, {}}};
    book.nodes[{"a"}] = {.egress = {0.4},
                         .ingress = {0.5},
                         .num_devices = 2,
                         .inside = {{kHostEnd, 0, {80}, {1e-8}, {100}, {0.1}}},
                         .bridges = {{"0000:40:01.0", {0, 1}, {200}, {210}}}};
    ASSERT_TRUE(store->finish({.number = 3, .reason = "join", .errors = {"x", "y"}}, book));
    reopen();
    EXPECT_EQ(store->load().value(), book);
    EXPECT_EQ(store->last_survey().value(), 3);
    book.nodes[{"a"}].inside = {{0, kHostEnd, {70}, {1e-8}, {100}, {0.1}}};
    book.nodes[{"a"}].bridges = {{"0000:80:01.0", {1}, {90}, {91}}};
    ASSERT_TRUE(store->finish({.number = 4}, book));
    EXPECT_EQ(store->load().value(), book) << "what is inside a node now takes the old's place";
}

TEST_F(SurveyTables, KeepTheHistoryOfALinkNewestFirst) {
    EXPECT_EQ(store->last_survey().value(), 0);
    ASSERT_TRUE(store->add(std::vector<LinkSample>{sample(1, 0.4), sample(2, 0.3)}));
    const auto history = store->history({{"a"}, {"b"}}, 10).value();
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history[0].bandwidth.rate.value, 0.3);
    EXPECT_EQ(history[1].survey, 1);
    EXPECT_EQ(history[1].bandwidth, sample(1, 0.4).report.samples[0]);
    EXPECT_EQ(history[1].measured_by, NodeId{"a"});
    EXPECT_EQ(history[1].beside, 2);
    EXPECT_EQ(store->history({{"a"}, {"b"}}, 1).value().size(), 1u);
    EXPECT_TRUE(store->history({{"b"}, {"a"}}, 10).value().empty());
}

TEST_F(SurveyTables, ForgetSamplesOfSurveysLongAgo) {
    ASSERT_TRUE(store->add(std::vector<LinkSample>{sample(1, 0.4), sample(2, 0.3)}));
    ASSERT_TRUE(store->finish({.number = SurveyStore::kKeptSurveys + 1}, {}));
    EXPECT_EQ(store->history({{"a"}, {"b"}}, 10).value().size(), 1u);
}

}  // namespace
}  // namespace rm
