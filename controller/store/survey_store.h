#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "controller/store/sqlite.h"
#include "controller/survey/survey_core.h"

namespace rm {

// One bandwidth sample of the history of a link.
struct KeptSample {
    std::int64_t survey = 0;
    WallTime time;
    LinkEnds ends;
    NodeId measured_by;
    int beside = 0;  // links measured at the same time
    BandwidthSample bandwidth;
    Seconds latency;  // of the same probe
    Seconds jitter;
};

// Survey results, in their own tables of telemetry.db, which the telemetry store has already opened
// and migrated. Thread safe.
class SurveyStore {
public:
    // Samples of older surveys are removed as new ones end.
    static constexpr std::int64_t kKeptSurveys = 1000;

    static Result<std::unique_ptr<SurveyStore>> open(const std::string& database);

    Result<LinkBook> load();
    Result<std::int64_t> last_survey();  // 0: none
    Status add(std::span<const LinkSample> samples);
    Status finish(const SurveyRecord& survey, const LinkBook& book);
    // Newest first.
    Result<std::vector<KeptSample>> history(const LinkEnds& ends, int limit);

private:
    explicit SurveyStore(Database database) : database_(std::move(database)) {}

    std::mutex mutex_;
    Database database_;
};

}  // namespace rm
