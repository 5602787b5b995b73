#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cli/show/table.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert/convert.h"

// The order and the sums of `history`. Pure: messages and the time in.
namespace rm {

// The keys by which `history` sorts and groups.
enum class HistoryKey { submitted, ended, name, state, model, user, loss, tokens, cost };
// usual: newest, latest and highest first, names from a to z.
enum class Order { usual, reversed };

// INVALID_ARGUMENT lists the names.
Result<HistoryKey> parse_sort_key(const std::string& name);
Result<HistoryKey> parse_group_key(const std::string& name);  // state, model, user or name

// Equal jobs keep their order; jobs without the value (no loss yet) come last.
void sort_jobs(std::vector<pb::Job>& jobs, HistoryKey key, Order order);

// Jobs of one state, model, user or name.
struct HistoryGroup {
    std::string name;
    int jobs = 0;
    int succeeded = 0;
    int failed = 0;
    int cancelled = 0;
    int attempts = 0;
    double device_hours = 0;              // devices x time of every attempt
    std::map<std::string, double> money;  // by currency
    double kwh = 0;
    std::int64_t tokens = 0;  // at each job's last step, with those before a continued checkpoint
};
std::vector<HistoryGroup> group_jobs(const std::vector<pb::Job>& jobs, HistoryKey key,
                                     WallTime now);  // by name

Table groups_table(const std::vector<HistoryGroup>& groups, HistoryKey key);
Table groups_csv(const std::vector<HistoryGroup>& groups, HistoryKey key);
std::string groups_json(const std::vector<HistoryGroup>& groups, HistoryKey key);

}  // namespace rm
