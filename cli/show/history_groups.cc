#include "cli/show/history_groups.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "cli/show/job_text.h"
#include "cli/show/text.h"

namespace rm {
namespace {

struct KeyName {
    HistoryKey key;
    std::string_view name;
};
constexpr std::array kKeys = {KeyName{HistoryKey::submitted, "submitted"},
                              KeyName{HistoryKey::ended, "ended"},
                              KeyName{HistoryKey::name, "name"},
                              KeyName{HistoryKey::state, "state"},
                              KeyName{HistoryKey::model, "model"},
                              KeyName{HistoryKey::user, "user"},
                              KeyName{HistoryKey::loss, "loss"},
                              KeyName{HistoryKey::tokens, "tokens"},
                              KeyName{HistoryKey::cost, "cost"}};

constexpr bool makes_groups(HistoryKey key) {
    return key == HistoryKey::state || key == HistoryKey::model || key == HistoryKey::user ||
           key == HistoryKey::name;
}

template <typename Wanted>
Result<HistoryKey> parse_key(const std::string& name, const Wanted& wanted) {
    std::vector<std::string_view> known;
    for (const KeyName& key : kKeys) {
        if (!wanted(key.key)) continue;
        if (key.name == name) return key.key;
        known.push_back(key.name);
    }
    return invalid_argument("'{}' is none of {}", name, join(known));
}

std::string name_of(HistoryKey key) {
    const auto found = std::find_if(kKeys.begin(), kKeys.end(),
                                    [&](const KeyName& name) { return name.key == key; });
    return std::string(found->name);
}

std::string group_of(const pb::Job& job, HistoryKey key) {
    if (key == HistoryKey::state) return state_name(job.state());
    if (key == HistoryKey::user) return job.owner();
    if (key == HistoryKey::name) return job.spec().name();
    return model_name(job.spec().model());
}

// The value by which a job is sorted: under one key, all are numbers or all are texts.
struct SortValue {
    bool missing = false;
    double number = 0;
    std::string text;
};

SortValue value_of(const pb::Job& job, HistoryKey key) {
    const auto seconds = [](const google::protobuf::Timestamp& time) {
        return static_cast<double>(from_proto(time).micros) / 1e6;
    };
    switch (key) {
        case HistoryKey::submitted:
            return {.number = seconds(job.submitted())};
        case HistoryKey::ended:
            return {.missing = !job.has_ended(), .number = seconds(job.ended())};
        case HistoryKey::loss:
            return {.missing = !job.has_last_step(), .number = job.last_step().loss()};
        case HistoryKey::tokens:
            return {.missing = !job.has_last_step(),
                    .number = static_cast<double>(job.last_step().tokens_total())};
        case HistoryKey::cost:
            return {.missing = job.cost().currency().empty(), .number = job.cost().money()};
        case HistoryKey::name:
        case HistoryKey::state:
        case HistoryKey::model:
        case HistoryKey::user:
            break;
    }
    return {.text = group_of(job, key)};
}

double device_hours(const pb::Job& job, WallTime now) {
    double hours = 0;
    for (const pb::Attempt& attempt : job.attempts()) {
        if (!attempt.has_started()) continue;
        const WallTime end = attempt.has_ended() ? from_proto(attempt.ended()) : now;
        hours += (end - from_proto(attempt.started())).value / 3600 * attempt.placement_size();
    }
    return hours;
}

void add(HistoryGroup& group, const pb::Job& job, WallTime now) {
    ++group.jobs;
    group.succeeded += job.state() == pb::JOB_STATE_SUCCEEDED ? 1 : 0;
    group.failed += job.state() == pb::JOB_STATE_FAILED ? 1 : 0;
    group.cancelled += job.state() == pb::JOB_STATE_CANCELLED ? 1 : 0;
    group.attempts += job.attempts_size();
    group.device_hours += device_hours(job, now);
    if (!job.cost().currency().empty()) group.money[job.cost().currency()] += job.cost().money();
    group.kwh += job.cost().kwh();
    group.tokens += job.last_step().tokens_total();
}

std::string money_of(const HistoryGroup& group) {
    std::vector<std::string> sums;
    for (const auto& [currency, money] : group.money)
        sums.push_back(money_text(money, currency));
    return join(sums, " + ");
}

bool any_money(const std::vector<HistoryGroup>& groups) {
    return std::any_of(groups.begin(), groups.end(),
                       [](const HistoryGroup& group) { return !group.money.empty(); });
}

// The sums that every output format has.
struct Count {
    std::string_view name;
    int HistoryGroup::*value;
};
constexpr std::array kCounts = {
    Count{"jobs", &HistoryGroup::jobs}, Count{"succeeded", &HistoryGroup::succeeded},
    Count{"failed", &HistoryGroup::failed}, Count{"cancelled", &HistoryGroup::cancelled},
    Count{"attempts", &HistoryGroup::attempts}};

}  // namespace

Result<HistoryKey> parse_sort_key(const std::string& name) {
    return parse_key(name, [](HistoryKey) { return true; });
}
Result<HistoryKey> parse_group_key(const std::string& name) {
    return parse_key(name, makes_groups);
}

void sort_jobs(std::vector<pb::Job>& jobs, HistoryKey key, Order order) {
    std::stable_sort(jobs.begin(), jobs.end(), [&](const pb::Job& a, const pb::Job& b) {
        const SortValue left = value_of(a, key);
        const SortValue right = value_of(b, key);
        if (left.missing != right.missing) return right.missing;
        const auto before = [](const SortValue& x, const SortValue& y) {
            return x.number != y.number ? x.number > y.number : x.text < y.text;
        };
        return order == Order::usual ? before(left, right) : before(right, left);
    });
}

std::vector<HistoryGroup> group_jobs(const std::vector<pb::Job>& jobs, HistoryKey key,
                                     WallTime now) {
    std::map<std::string, HistoryGroup> by_name;
    for (const pb::Job& job : jobs)
        add(by_name[group_of(job, key)], job, now);
    std::vector<HistoryGroup> groups;
    for (auto& [name, group] : by_name) {
        group.name = name;
        groups.push_back(std::move(group));
    }
    return groups;
}

Table groups_table(const std::vector<HistoryGroup>& groups, HistoryKey key) {
    TableOf table(groups);
    table.left(upper(name_of(key)), &HistoryGroup::name);
    for (const Count& count : kCounts)
        table.right(upper(count.name), count.value);
    table.right("DEVICE-HOURS", [](auto& group) { return format("{:.2}", group.device_hours); });
    if (any_money(groups)) table.right("COST", money_of);
    table.right("TOKENS",
                [](auto& group) { return compact_count(static_cast<double>(group.tokens)); });
    return table.done();
}

Table groups_csv(const std::vector<HistoryGroup>& groups, HistoryKey key) {
    TableOf table(groups);
    table.left(name_of(key), &HistoryGroup::name);
    for (const Count& count : kCounts)
        table.left(std::string(count.name), count.value);
    table.left("device_hours", [](auto& group) { return format("{}", group.device_hours); });
    table.left("tokens", &HistoryGroup::tokens);
    table.left("costs", money_of);
    table.left("kwh", [](auto& group) { return format("{}", group.kwh); });
    return table.done();
}

std::string groups_json(const std::vector<HistoryGroup>& groups, HistoryKey key) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const HistoryGroup& group : groups) {
        nlohmann::ordered_json& json = list.emplace_back();
        json[name_of(key)] = group.name;
        for (const Count& count : kCounts)
            json[std::string(count.name)] = group.*count.value;
        json["deviceHours"] = group.device_hours;
        json["money"] = group.money;
        json["kwh"] = group.kwh;
        json["tokens"] = std::to_string(group.tokens);
    }
    return list.dump();
}

}  // namespace rm
