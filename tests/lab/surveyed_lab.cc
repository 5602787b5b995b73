#include "tests/lab/surveyed_lab.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/median.h"

namespace rm::lab {
namespace {

// "n0 to n1" of each line that says so.
std::set<std::string> degraded_in(const std::string& text) {
    const std::string word = "degraded  ";
    std::set<std::string> found;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
        at += word.size();
        found.insert(text.substr(at, text.find(':', at) - at));
    }
    return found;
}

// "step 2/6  loss 5.1  grad 0.3  1.7 s  1852 tok/s  ...", or "18k tok/s"
double tokens_per_second(const std::string& line) {
    const std::size_t unit = line.find(" tok/s");
    RM_CHECK(unit != std::string::npos, "no rate in '{}'", line);
    const double rate = std::stod(line.substr(line.rfind(' ', unit - 1)));
    return rate * (line[unit - 1] == 'k' ? 1000 : 1);
}

}  // namespace

std::string joined(const Order& order, std::string_view separator) {
    std::string text;
    for (const std::string& host : order)
        text += (text.empty() ? "" : std::string(separator)) + host;
    return text;
}

void SurveyedLab::SetUp() {
    if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
}

SurveyedLab::~SurveyedLab() {
    for (const auto& worker : workers_)
        worker->signal(SIGTERM);
    for (const auto& worker : workers_)
        EXPECT_EQ(worker->wait(Seconds{20}), 0) << worker->err();
    if (!controller_) return;
    controller_->signal(SIGTERM);
    EXPECT_EQ(controller_->wait(Seconds{20}), 0) << controller_->err();
}

void SurveyedLab::start_all(std::string_view topology, const LabOptions& options) {
    lab_ = std::make_unique<Lab>(parse_topology(topology, "lab.yaml").value());
    std::vector<std::string> argv = {program("ringmaster-controller"),
                                     "--state",
                                     path("controller"),
                                     "--listen",
                                     socket(),
                                     "--http",
                                     "none",
                                     "--survey",
                                     "manual"};
    argv.insert(argv.end(), options.controller.begin(), options.controller.end());
    controller_ = start(std::move(argv));
    std::vector<Host> hosts = lab_->topology().hosts;
    std::stable_sort(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
        return a.name.back() % 3 < b.name.back() % 3;
    });
    for (const Host& host : hosts) {
        start_worker(host.name, options);
        registered_.push_back(host.name);
        const std::size_t wanted = workers_.size() * std::string("n0\n").size();
        const auto joined = [&] { return there({"nodes", "-o", "name"}).out.size() == wanted; };
        ASSERT_TRUE(e2e::wait_until(Seconds{30}, joined)) << there({"nodes"}).out;
    }
}

void SurveyedLab::start_worker(const std::string& host, const LabOptions& options) {
    namespace fs = std::filesystem;
    fs::create_directory(path(host));
    fs::permissions(path(host), fs::perms::owner_all);
    e2e::write_file(path(host + "/identity.json"),
                    Json{{"node_id", host}, {"cluster_id", ""}, {"highest_epoch", 0}}.dump());
    if (!options.profiles.empty()) fs::copy(options.profiles, path(host + "/profiles"));
    std::vector<std::string> argv = {program("ringmaster-worker"),
                                     "--state",
                                     path(host),
                                     "--controller",
                                     socket(),
                                     "--http",
                                     "none",
                                     "--data-address",
                                     lab_->address(host)};
    argv.insert(argv.end(), options.worker.begin(), options.worker.end());
    workers_.push_back(start(lab_->inside(host, std::move(argv))));
}

Finished SurveyedLab::there(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", socket()});
    return cli(std::move(arguments), Seconds{600});
}

Json SurveyedLab::survey() {
    const Finished done = there({"survey", "--wait"});
    EXPECT_EQ(done.code, 0) << done.err;
    const std::string matrix = there({"links", "--matrix"}).out;
    std::cout << there({"links"}).out << matrix << there({"links", "n0", "n1"}).out;
    degraded_ = degraded_in(matrix);
    return Json::parse(there({"links", "-o", "json"}).out);
}

int SurveyedLab::surveys_until(const std::function<bool(const Json& links)>& holds) {
    for (int surveys = 1; surveys <= kSurveys; ++surveys)
        if (holds(survey())) return surveys;
    return 0;
}

Json SurveyedLab::show(const std::string& job) {
    return Json::parse(there({"show", job, "-o", "json"}).out);
}

std::int64_t SurveyedLab::step_of(const std::string& job) {
    const Json shown = show(job);
    if (!shown.contains("lastStep")) return 0;
    return shown.at("lastStep").at("step").get<std::int64_t>();
}

std::vector<std::string> SurveyedLab::hosts_of(const std::string& job, std::size_t attempt) {
    const Json shown = show(job);
    std::vector<std::string> hosts;
    for (const Json& place : shown.at("attempts").at(attempt).at("placement"))
        hosts.push_back(place.at("nodeId"));
    return hosts;
}

std::string SurveyedLab::submit(const JobText& text) {
    const Finished submitted = there({"submit", write_job(text)});
    EXPECT_EQ(submitted.code, 0) << submitted.err;
    return submitted.out.substr(0, submitted.out.find('\n'));
}

std::string SurveyedLab::run_to_end(const JobText& text) {
    const Finished run = there({"submit", write_job(text), "--follow"});
    EXPECT_EQ(run.code, 0) << run.err;
    return run.out.substr(0, 6);
}

double SurveyedLab::step_time(const std::string& job, int steps, std::int64_t tokens) {
    std::vector<double> seconds;
    std::istringstream lines(there({"logs", job, "--rank", "0"}).out);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("step "))
            seconds.push_back(static_cast<double>(tokens) / tokens_per_second(line));
    }
    EXPECT_EQ(seconds.size(), static_cast<std::size_t>(steps));
    seconds.erase(seconds.begin());
    return median(std::move(seconds));
}

}  // namespace rm::lab
