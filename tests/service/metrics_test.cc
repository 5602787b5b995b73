#include "service/http/metrics.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(Metrics, AreExposedInTheTextFormat) {
    prometheus::Registry registry;
    auto& jobs = gauge_family(registry, "ringmaster_jobs", "Jobs by state.");
    jobs.Add({{"state", "running"}}).Set(2);
    jobs.Add({{"state", "failed"}}).Set(0.5);
    counter_family(registry, "ringmaster_train_tokens_total", "Tokens trained.")
        .Add({{"run", "a\"b"}})
        .Increment(8192);
    const HttpResponse response = metrics_response(registry);
    EXPECT_EQ(response.content_type, "text/plain; version=0.0.4");
    const auto has = [&response](std::string_view line) {
        return response.body.find(line) != std::string::npos;
    };
    EXPECT_TRUE(has("# HELP ringmaster_jobs Jobs by state.\n# TYPE ringmaster_jobs gauge\n"));
    EXPECT_TRUE(has("ringmaster_jobs{state=\"running\"} 2\n"));
    EXPECT_TRUE(has("ringmaster_jobs{state=\"failed\"} 0.5\n"));
    EXPECT_TRUE(has("# TYPE ringmaster_train_tokens_total counter\n"));
    EXPECT_TRUE(has("ringmaster_train_tokens_total{run=\"a\\\"b\"} 8192\n")) << response.body;
}

TEST(Metrics, AFamilyAskedForTwiceIsOne) {
    prometheus::Registry registry;
    auto& first = gauge_family(registry, "ringmaster_nodes", "Nodes by state.");
    auto& second = gauge_family(registry, "ringmaster_nodes", "Nodes by state.");
    EXPECT_EQ(&first, &second);
}

TEST(Metrics, AFamilyWithoutSeriesIsNotShown) {
    prometheus::Registry registry;
    gauge_family(registry, "ringmaster_nodes", "Nodes by state.");
    EXPECT_EQ(expose(registry), "");
}

TEST(Metrics, DurationsHaveRisingBuckets) {
    prometheus::Registry registry;
    auto& family = histogram_family(registry, "ringmaster_train_step_duration_seconds", "A step.");
    family.Add({}, duration_buckets()).Observe(0.3);
    const std::string text = expose(registry);
    EXPECT_NE(text.find("_bucket{le=\"0.2\"} 0\n"), std::string::npos) << text;
    EXPECT_NE(text.find("_bucket{le=\"0.5\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find("_bucket{le=\"+Inf\"} 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace rm
