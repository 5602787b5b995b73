#include "engine/dry_run/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/dry_run/dry_jobs.h"

namespace rm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

StepTimeline timeline_of(const DryJob& job, const DryRunOptions& options) {
    return rm::timeline_of(job.spec, job.shape, options).value();
}

Bytes peak_of(const std::vector<LiveBytes>& live) {
    Bytes peak;
    for (const LiveBytes& at : live)
        peak = std::max(peak, at.bytes);
    return peak;
}

// Checks that every element is closed, in order. Knows only what the writer produces: elements,
// attributes without '>', and text.
bool is_well_formed(std::string_view text) {
    std::vector<std::string_view> open;
    for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
        const std::size_t end = text.find('>', at);
        if (end == std::string_view::npos) return false;
        const std::string_view tag = text.substr(at + 1, end - at - 1);
        const std::string_view name = tag.substr(0, tag.find(' '));
        if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
        if (tag.starts_with("/")) {
            if (open.empty() || open.back() != tag.substr(1)) return false;
            open.pop_back();
        } else if (!tag.ends_with("/")) {
            open.push_back(name);
        }
        at = end;
    }
    return open.empty();
}

TEST(StepTimeline, HasThePeakThatIsPredicted) {
    DryJob job = little_job(8, mesh_of(1, 1, 1, 1), 0);
    job.shape.memory.kept = KeptPlace::host;
    const DryRunOptions options = on_l40s(DryRunMode::one_rank);
    const StepTimeline timeline = timeline_of(job, options);
    const Prediction prediction = predict(job.spec, job.shape, options).value();
    // The arena rounds sizes up, to 512 bytes a buffer.
    EXPECT_LE(peak_of(timeline.device), prediction.device.lower_bound);
    EXPECT_GT(peak_of(timeline.device).value, 0.99 * prediction.device.lower_bound.value);
    EXPECT_GT(peak_of(timeline.host).value, 0.99 * prediction.host.lower_bound.value);
    EXPECT_DOUBLE_EQ(timeline.length, prediction.step.value);
}

TEST(StepTimeline, EndsEmptyAndStaysWithinTheStep) {
    DryJob job = little_job(6, mesh_of(1, 2, 1, 1), 2);
    const StepTimeline timeline = timeline_of(job, on_l40s(DryRunMode::one_rank));
    EXPECT_EQ(timeline.device.back().bytes.value, 0);
    double last = 0;
    for (const LiveBytes& at : timeline.device) {
        EXPECT_GE(at.seconds, last);
        last = at.seconds;
    }
    EXPECT_LE(last, timeline.length);
    for (const StepTimeline::Stream& stream : timeline.streams) {
        for (const StepTimeline::Busy& busy : stream.busy) {
            EXPECT_GE(busy.begin, 0);
            EXPECT_LE(busy.end, timeline.length);
        }
    }
}

TEST(StepTimeline, WithoutAProfileCountsRequests) {
    const DryJob job = little_job(6, mesh_of(1, 1, 1, 1), 0);
    const StepTimeline timeline = timeline_of(job, {});
    EXPECT_FALSE(timeline.timed);
    EXPECT_EQ(timeline.length, static_cast<double>(timeline.device.size()));
    EXPECT_EQ(timeline.device[7].seconds, 7);
}

TEST(MostByPart, HoldsWhatIsLiveUntilItChanges) {
    const std::vector<LiveBytes> live = {{0, {5}}, {1, {9}}, {1.5, {2}}, {7, {0}}};
    EXPECT_THAT(most_by_part(live, 8, 4), ElementsAre(Bytes{9}, Bytes{2}, Bytes{2}, Bytes{2}));
    EXPECT_THAT(most_by_part(live, 16, 4), ElementsAre(Bytes{9}, Bytes{2}, Bytes{0}, Bytes{0}));
}

TEST(Timeline, SharesTheWorkOfAStreamAmongPartsOfTheTime) {
    const std::vector<StepTimeline::Busy> busy{{0.5, 1}, {1, 5}, {7, 8}};
    EXPECT_THAT(busy_by_part(busy, 8, 4), ElementsAre(0.75, 1, 0.5, 0.5));
    EXPECT_THAT(busy_by_part({{0, 9}}, 8, 2), ElementsAre(1, 1)) << "the last end is rounded up";
    EXPECT_THAT(busy_by_part({}, 8, 2), ElementsAre(0, 0));
}

TEST(Plot, RisesWithWhatIsLive) {
    EXPECT_EQ(plot({{0, {1024}}, {32, {2048}}, {47.5, {0}}}, 64),
              "   2.0 KiB |                                ################\n"
              "           |                                ################\n"
              "           |                                ################\n"
              "           |                                ################\n"
              "           |################################################\n"
              "           |################################################\n"
              "           |################################################\n"
              "           |################################################\n"
              "       0 B +----------------------------------------------------------------\n");
}

TEST(Svg, IsWellFormedAndNamesWhatItShows) {
    DryJob job = little_job(6, mesh_of(1, 2, 1, 1), 0);
    job.shape.memory.kept = KeptPlace::host;
    const std::string svg = to_svg(timeline_of(job, on_l40s(DryRunMode::one_rank)), "a < b & c");
    EXPECT_TRUE(is_well_formed(svg));
    EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
    for (const char* name : {"weights", "arena, at most", "host, at most", "compute",
                             "communication", "to-host", "from-host"})
        EXPECT_THAT(svg, HasSubstr(name));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_LT(svg.size(), 200'000u);
}

TEST(Svg, WithoutTimesShowsMemoryOnly) {
    const DryJob job = little_job(6, mesh_of(1, 1, 1, 1), 0);
    const std::string svg = to_svg(timeline_of(job, {}), "memory");
    EXPECT_TRUE(is_well_formed(svg));
    EXPECT_THAT(svg, HasSubstr("requests of buffers"));
    EXPECT_THAT(svg, Not(HasSubstr("from-host")));
}

TEST(Svg, IsNotTakenForWellFormedWhenItIsNot) {
    EXPECT_FALSE(is_well_formed("<svg><text>a</svg>"));
    EXPECT_FALSE(is_well_formed("<svg><rect x=\"1/></svg>"));
    EXPECT_FALSE(is_well_formed("<svg>"));
}

}  // namespace
}  // namespace rm::test
