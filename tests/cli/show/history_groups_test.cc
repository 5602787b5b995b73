#include "cli/show/history_groups.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/show/sample_job.h"

namespace rm {
namespace {

pb::Job named(const std::string& name, pb::Job job, double loss = 2) {
    job.mutable_spec()->set_name(name);
    if (job.has_last_step()) job.mutable_last_step()->set_loss(loss);
    return job;
}

std::string names(const std::vector<pb::Job>& jobs) {
    std::string text;
    for (const pb::Job& job : jobs)
        text += job.spec().name();
    return text;
}

std::vector<pb::Job> sorted(HistoryKey key, Order order = Order::usual) {
    std::vector<pb::Job> jobs = {named("c", running_job(3), 1), named("a", pending_job()),
                                 named("b", ended_job(pb::JOB_STATE_FAILED), 3)};
    sort_jobs(jobs, key, order);
    return jobs;
}

TEST(HistoryOrder, PutsHighestFirstAndNamesFromAToZ) {
    EXPECT_EQ(names(sorted(HistoryKey::submitted)), "cab") << "equal ones stay as they came";
    EXPECT_EQ(names(sorted(HistoryKey::name)), "abc");
    EXPECT_EQ(names(sorted(HistoryKey::name, Order::reversed)), "cba");
    EXPECT_EQ(names(sorted(HistoryKey::loss)), "bca");
    EXPECT_EQ(names(sorted(HistoryKey::loss, Order::reversed)), "cba") << "no loss comes last";
    EXPECT_EQ(names(sorted(HistoryKey::tokens)), "bca");
    EXPECT_EQ(names(sorted(HistoryKey::ended)), "bca");
}

TEST(HistoryOrder, NamesTheKeysThereAre) {
    EXPECT_EQ(parse_sort_key("loss").value(), HistoryKey::loss);
    EXPECT_EQ(parse_group_key("user").value(), HistoryKey::user);
    EXPECT_EQ(parse_group_key("loss").error().message,
              "'loss' is none of name, state, model, user");
}

TEST(HistoryGroups, AddUpJobsAttemptsAndDeviceTime) {
    const std::vector<pb::Job> jobs = {ended_job(pb::JOB_STATE_SUCCEEDED),
                                       ended_job(pb::JOB_STATE_FAILED), pending_job()};
    const auto groups = group_jobs(jobs, HistoryKey::state, after_submission(100));
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_EQ(groups[0].name, "failed");
    EXPECT_EQ(groups[0].failed, 1);
    EXPECT_EQ(groups[0].attempts, 1);
    EXPECT_DOUBLE_EQ(groups[0].device_hours, 2 * 60.0 / 3600) << "two devices for a minute";
    EXPECT_EQ(groups[0].tokens, 98304);
    EXPECT_EQ(groups[1].name, "pending");
    EXPECT_EQ(groups[1].device_hours, 0);
    const auto all = group_jobs(jobs, HistoryKey::model, after_submission(100));
    std::ostringstream out;
    groups_table(all, HistoryKey::model).print({out});
    EXPECT_EQ(out.str(),
              "MODEL  JOBS  SUCCEEDED  FAILED  CANCELLED  ATTEMPTS  DEVICE-HOURS  TOKENS\n"
              "tiny      3          1       1          0         2          0.07    197k\n");
    std::ostringstream csv;
    groups_csv(groups, HistoryKey::state).print_csv(csv);
    EXPECT_EQ(csv.str().substr(0, csv.str().find('\n')),
              "state,jobs,succeeded,failed,cancelled,attempts,device_hours,tokens,costs,kwh");
    EXPECT_NE(groups_json(groups, HistoryKey::state).find(R"({"state":"pending","jobs":1,)"),
              std::string::npos);
}

TEST(HistoryGroups, AddUpMoneyByCurrency) {
    std::vector<pb::Job> jobs(3, ended_job(pb::JOB_STATE_SUCCEEDED));
    const auto costs = [&](int job, double money, const char* currency, double kwh) {
        jobs[usize(job)].mutable_cost()->set_money(money);
        jobs[usize(job)].mutable_cost()->set_currency(currency);
        jobs[usize(job)].mutable_cost()->set_kwh(kwh);
    };
    costs(0, 2, "USD", 1);
    costs(1, 3.5, "USD", 2);
    costs(2, 1, "EUR", 4);
    const auto groups = group_jobs(jobs, HistoryKey::model, after_submission(100));
    std::ostringstream out;
    groups_table(groups, HistoryKey::model).print({out});
    EXPECT_NE(out.str().find("  1.00 EUR + 5.50 USD  "), std::string::npos) << out.str();
    EXPECT_NE(
        groups_json(groups, HistoryKey::model).find(R"("money":{"EUR":1.0,"USD":5.5},"kwh":7.0)"),
        std::string::npos)
        << groups_json(groups, HistoryKey::model);
    sort_jobs(jobs, HistoryKey::cost, Order::usual);
    EXPECT_EQ(jobs.front().cost().money(), 3.5);
}

}  // namespace
}  // namespace rm
