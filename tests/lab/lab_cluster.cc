#include "tests/lab/lab_cluster.h"

#include <algorithm>
#include <csignal>
#include <iostream>

namespace rm::lab {
namespace {

constexpr std::string_view kOneRack = "racks:\n  - {name: room, hosts: [desk, n0, n1, n2, n3]}\n";

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

void LabCluster::SetUp() {
    if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
    lab_ = std::make_unique<Lab>(parse_topology(kOneRack, "one_rack").value());
    ASSERT_EQ(cli({"pki", "init", "--dir", path("pki")}).code, 0);
    issue("server", "desk", {"--san", lab_->address("desk")});
    start_controller();
}

void LabCluster::stop_all() {
    if (controller_ && !job_.empty()) there({"cancel", "--now", job_});
    for (auto& [name, worker] : workers_)
        worker->signal(SIGTERM);
    for (auto& [name, worker] : workers_)
        worker->wait(Seconds{30});
    if (controller_) stop_controller();
}

LabCluster::~LabCluster() {
    stop_all();
}

std::string LabCluster::issue(const std::string& role, const std::string& name,
                              const std::vector<std::string>& more) {
    const std::string base = path("pki/" + name);
    std::vector<std::string> arguments = {"pki", "issue",  "--dir", path("pki"), "--role",
                                          role,  "--name", name,    "-o",        base};
    append(arguments, more);
    const Finished run = cli(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return base;
}

void LabCluster::keep_on(const SmallDisk& disk, const std::string& name) {
    namespace fs = std::filesystem;
    fs::create_directory(disk.file(name));
    fs::permissions(disk.file(name), fs::perms::owner_all);
    fs::create_directory_symlink(disk.file(name), path(name));
}

void LabCluster::start_controller(const std::vector<std::string>& more) {
    std::vector<std::string> argv = {program("ringmaster-controller"),
                                     "--state",
                                     path("c"),
                                     "--listen",
                                     "unix:" + path("c.sock"),
                                     "--listen",
                                     lab_->address("desk") + ":7070",
                                     "--http",
                                     http_of("desk", kControllerHttp),
                                     "--tls-cert",
                                     path("pki/desk.crt"),
                                     "--tls-key",
                                     path("pki/desk.key"),
                                     "--client-ca",
                                     path("pki/ca.crt")};
    append(argv, more);
    controller_ = start(lab_->inside("desk", argv));
    EXPECT_TRUE(e2e::wait_until(Seconds{30}, [&] { return there({"ls"}).code == 0; }))
        << controller_->err();
}

void LabCluster::stop_controller() {
    controller_->signal(SIGTERM);
    EXPECT_EQ(controller_->wait(Seconds{30}), 0) << controller_->err();
    controller_.reset();
}

std::string LabCluster::http_of(const std::string& host, int port) const {
    return monitored_ ? format("{}:{}", lab_->address(host), port) : "none";
}

void LabCluster::start_worker(const std::string& name) {
    const std::string base = path("pki/" + name), served = base + ".http";
    if (!std::filesystem::exists(base + ".crt")) {
        issue("worker", name);
        issue("server", name + ".http", {"--san", lab_->address(name)});
    }
    std::vector<std::string> argv = {program("ringmaster-worker"), "--devices", "cpu:1"};
    append(argv, {"--state", path(name), "--controller", lab_->address("desk") + ":7070"});
    append(argv, {"--ca", path("pki/ca.crt"), "--cert", base + ".crt", "--key", base + ".key"});
    if (pinned_) append(argv, {"--data-address", lab_->address(name)});
    append(argv, {"--slots-on-machine", "2"});
    append(argv, {"--http", http_of(name, kWorkerHttp)});
    if (monitored_) append(argv, {"--tls-cert", served + ".crt", "--tls-key", served + ".key"});
    if (ranks_need_controller_) append(argv, {"--orphan", "stop", "--orphan-after", "60"});
    workers_[name] = start(lab_->inside(name, argv));
}

void LabCluster::start_workers(int count) {
    for (int i = 0; i < count; ++i)
        start_worker(format("n{}", i));
    for (int i = 0; i < count; ++i) {
        const std::string name = format("n{}", i);
        ASSERT_TRUE(e2e::wait_until(Seconds{30}, [&] { return has_session(name); }))
            << workers_[name]->err();
    }
}

Finished LabCluster::there(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--address", "unix:" + path("c.sock")});
    return cli(std::move(arguments));
}

void LabCluster::submit_job(const JobText& text) {
    const Finished submitted = there({"submit", write_job(text)});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    job_ = submitted.out.substr(0, submitted.out.find('\n'));
}

Json LabCluster::job() {
    return Json::parse(there({"show", job_, "-o", "json"}).out, nullptr, false);
}

Json LabCluster::nodes() {
    return Json::parse(there({"nodes", "-o", "json"}).out, nullptr, false);
}

bool LabCluster::has_session(const std::string& node) {
    const Json list = nodes();
    return std::any_of(list.begin(), list.end(), [&](const Json& it) {
        return it.value("id", "") == node && it.value("sessionUp", false);
    });
}

std::string LabCluster::state() {
    const Json shown = job();
    return shown.is_object() ? shown.value("state", "") : "";
}

std::int64_t LabCluster::last_step() {
    const Json shown = job();
    if (!shown.is_object() || !shown.contains("lastStep") || !shown["lastStep"].is_object()) {
        return 0;
    }
    return shown["lastStep"].value("step", std::int64_t{0});
}

bool LabCluster::reaches_state(const std::string& wanted, Seconds limit) {
    const bool reached = e2e::wait_until(limit, [&] { return state() == wanted; });
    EXPECT_TRUE(reached) << job().dump(2);
    return reached;
}

bool LabCluster::reaches_step(std::int64_t step, Seconds limit) {
    const bool reached = e2e::wait_until(limit, [&] { return last_step() >= step; });
    EXPECT_TRUE(reached) << job().dump(2);
    return reached;
}

std::vector<std::string> LabCluster::hosts_of(std::size_t attempt) {
    std::vector<std::string> hosts;
    const Json shown = job();
    for (const Json& rank : shown["attempts"][attempt]["placement"])
        hosts.push_back(rank["nodeId"]);
    return hosts;
}

Json LabCluster::attempt_file(const std::string& worker, std::int64_t epoch,
                              const std::string& name) {
    return Json::parse(e2e::read_file(path(format("{}/attempts/e{}/{}", worker, epoch, name))),
                       nullptr, false);
}

void LabCluster::expect_whole_logs() {
    std::vector<std::int64_t> steps[2];
    const bool equal = e2e::wait_until(Seconds{20}, [&] {
        for (const int rank : {0, 1})
            steps[rank] = steps_in(log_of(rank));
        return !steps[0].empty() && steps[0].size() == steps[1].size();
    });
    EXPECT_TRUE(equal) << steps[0].size() << " and " << steps[1].size();
    for (const auto& of_rank : steps)
        EXPECT_EQ(of_rank, one_to(static_cast<std::int64_t>(of_rank.size())));
}

void LabCluster::say(const std::string& text) {
    std::cout << "    " << text << std::endl;
}

}  // namespace rm::lab
