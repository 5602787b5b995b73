#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/support/e2e_test.h"
#include "tests/lab/lab.h"

namespace rm::lab {

using e2e::Finished;
using e2e::JobText;
using e2e::Json;
using e2e::Process;

using Order = std::vector<std::string>;  // the host of each rank
std::string joined(const Order& order, std::string_view separator);

inline constexpr std::string_view kOneRack = "racks:\n  - {name: left, hosts: [n0, n1, n2]}\n";
inline constexpr std::string_view kTwoRacks =
    "racks:\n"
    "  - {name: left, hosts: [n0, n1, n2]}\n"
    "  - {name: right, hosts: [n3, n4, n5]}\n"
    "cables:\n"
    "  - {between: [left, right], rate: 50}\n"
    "slow: {n5: 100}\n";

struct LabOptions {
    std::vector<std::string> controller = {};  // arguments of the daemons
    std::vector<std::string> worker = {};
    std::string profiles;  // a directory: what each worker has measured before; empty: nothing
};

// Real workers of one slot each on the hosts of a lab, named after them, which measure links of
// known rates. The command line reaches the controller by a Unix socket, which works across network
// namespaces.
class SurveyedLab : public e2e::E2eTest {
protected:
    void SetUp() override;  // skips where there are no namespaces
    ~SurveyedLab() override;

    // Workers join from the racks in turn, so that the order of registration is a bad one.
    void start_all(std::string_view topology, const LabOptions& options = {});
    Finished there(std::vector<std::string> arguments);
    // Measures all links; returns the link file and sets `degraded_`.
    Json survey();
    // Surveys until `holds(links)`, at most kSurveys times; returns how many it took, and 0 if it
    // never held. The hosts share this machine's cores: other work, and cores that the machine
    // itself is denied for seconds, slow the links that are measured at that moment, and only the
    // next survey corrects that.
    int surveys_until(const std::function<bool(const Json& links)>& holds);
    static constexpr int kSurveys = 4;

    Json show(const std::string& job);
    std::string state_of(const std::string& job) { return show(job).value("state", ""); }
    std::int64_t step_of(const std::string& job);
    // Where the ranks of an attempt (0: the first) are, by rank.
    std::vector<std::string> hosts_of(const std::string& job, std::size_t attempt = 0);
    std::string submit(const JobText& text);      // the job's id
    std::string run_to_end(const JobText& text);  // the same, once it has succeeded
    // Median seconds of a job's steps after the first, by rank 0's log. It has `steps` of so many
    // tokens.
    double step_time(const std::string& job, int steps, std::int64_t tokens);

    std::unique_ptr<Lab> lab_;
    std::unique_ptr<Process> controller_;
    std::vector<std::unique_ptr<Process>> workers_;
    std::vector<std::string> registered_;  // hosts in order of registration
    std::set<std::string> degraded_;       // "n0 to n1"

private:
    std::string socket() const { return "unix:" + path("controller.sock"); }
    void start_worker(const std::string& host, const LabOptions& options);
};

}  // namespace rm::lab
