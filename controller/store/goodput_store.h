#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "controller/core/goodput/goodput.h"
#include "controller/store/sqlite.h"

namespace rm {

// A step report of any rank, as it arrived.
struct StepRow {
    std::int64_t id = 0;  // grows in the order of arrival
    JobId job;
    Epoch epoch;
    int rank = 0;
    std::int64_t end_offset = 0;
    WallTime received;
    std::string bytes;
};

// The accounts of attempts and how far the step reports are in them: tables of telemetry.db beside
// the reports, which the telemetry store has already opened and migrated. An account is written
// together with the place that it was read to, so each report counts once, whenever the controller
// stops. For one thread.
class GoodputStore {
public:
    static Result<std::unique_ptr<GoodputStore>> open(const std::string& database);

    // The next reports, in the order of arrival, at most `limit`.
    Result<std::vector<StepRow>> next(int limit);
    Result<std::vector<AttemptAccount>> load(const JobId& job);
    // The accounts with all reports that next() has returned.
    Status write(std::span<const AttemptAccount> accounts);

private:
    GoodputStore(Database database, std::int64_t read)
        : database_(std::move(database)), read_(read) {}

    Database database_;
    std::int64_t read_ = 0;  // id of the last report that next() has returned
};

}  // namespace rm
