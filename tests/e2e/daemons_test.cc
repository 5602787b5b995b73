// The daemons as systemd runs them: configuration files, its notices, and a machine that shuts down
// while its ranks train.
#include "tests/e2e/support/daemons.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/os/unique_fd.h"

namespace rm::e2e {
namespace {

class Units : public Daemons {
protected:
    Units() : Daemons(2) {
        write_file(path("c.yaml"),
                   format("state: {}\nlisten: [\"{}\"]\nhttp: none\n", path("c"), address_));
        for (const char* name : {"w0", "w1"}) {
            write_file(path(format("{}.yaml", name)),
                       format("state: {}\ncontroller: \"{}\"\ndevices: cpu:1\nhttp: none\n"
                              "slots-on-machine: 2\nstop-grace: 60\n",
                              path(name), address_));
        }
    }
    // Ranks that a failed test leaves behind.
    ~Units() override {
        for (const char* name : {"w0", "w1"})
            stop_ranks(name);
    }

    void serve() {
        controller_ = start({program("ringmaster-controller"), "--config", path("c.yaml")});
        EXPECT_TRUE(wait_until(Seconds{30}, [&] { return there({"ls"}).code == 0; }));
    }
    void work(const std::string& name) {
        workers_[name] = start({program("ringmaster-worker"), "--config", path(name + ".yaml")});
    }
    Finished stop_ranks(const std::string& name) {
        return run({program("ringmaster-worker"), "stop-ranks", "--config", path(name + ".yaml")});
    }
    // `systemctl stop` of the worker: its ranks stay.
    void stop_worker(const std::string& name) {
        workers_[name]->signal(SIGTERM);
        EXPECT_EQ(workers_[name]->wait(Seconds{30}), 0) << workers_[name]->err();
        workers_.erase(name);
    }
    std::int64_t step() {
        const Json shown = job();
        const bool stepped =
            shown.is_object() && shown.contains("lastStep") && shown["lastStep"].is_object();
        return stepped ? shown["lastStep"].value("step", std::int64_t{0}) : 0;
    }
    // False also when the job has ended before.
    bool reaches(std::int64_t wanted) {
        const auto is_over = [&] { return job().value("state", "") == "succeeded"; };
        wait_until(Seconds{60}, [&] { return step() >= wanted || is_over(); });
        return step() >= wanted;
    }
    void submit_steps(int steps, const std::string& name) {
        submit_job({.name = name,
                    .stages = format("  - {{context: 256, batch: 512, tokens: {}, "
                                     "learning_rate: 1e-3}}\n",
                                     512 * steps),
                    .extra = "retry: {max: 0}\n"});
    }
    bool succeeds() {
        return wait_until(Seconds{240}, [&] { return job().value("state", "") == "succeeded"; });
    }
    // The number of steps in the job's curve.
    std::int64_t steps_of_curve() {
        const Finished csv = there({"plot", job_, "--quantity", "loss", "-o", "csv"});
        EXPECT_EQ(csv.code, 0) << csv.err;
        std::set<std::string> steps;
        std::istringstream lines(csv.out);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream fields(line);
            std::string job, rank, step;
            for (std::string* field : {&job, &rank, &step})
                std::getline(fields, *field, ',');
            if (job == job_) steps.insert(step);
        }
        return static_cast<std::int64_t>(steps.size());
    }
    // The last step's loss and the held-out one, all bits of them.
    std::pair<double, double> losses() {
        const Json shown = job();
        return {shown["lastStep"]["loss"].get<double>(),
                shown["lastEvaluation"]["loss"].get<double>()};
    }
};

TEST_F(Units, AShutDownCheckpointsAndTheJobEndsWithTheLossesOfAnUndisturbedOne) {
    constexpr int kSteps = 1500;  // longer than all that disturbs them
    serve();
    work("w0");
    work("w1");
    submit_steps(kSteps, "undisturbed");
    ASSERT_TRUE(succeeds()) << job().dump(2);
    const auto undisturbed = losses();
    EXPECT_EQ(steps_of_curve(), kSteps);

    submit_steps(kSteps, "disturbed");
    ASSERT_TRUE(reaches(20)) << job().dump(2);
    // A restart of both daemons leaves training alone.
    stop_worker("w0");
    work("w0");
    controller_->signal(SIGKILL);
    controller_->wait(Seconds{5});
    serve();
    const std::int64_t before = step();
    ASSERT_TRUE(reaches(before + 10)) << job().dump(2);
    ASSERT_EQ(job()["attempts"].size(), 1u) << job().dump(2);

    // One machine shuts down and comes back.
    stop_worker("w0");
    const Finished stopped = stop_ranks("w0");
    EXPECT_EQ(stopped.code, 0) << stopped.out << stopped.err;
    EXPECT_NE(stopped.out.find("of job " + job_ + ": stopped"), std::string::npos) << stopped.out;
    EXPECT_EQ(stop_ranks("w0").out, "no rank runs below " + path("w0") + "\n");
    work("w0");
    ASSERT_TRUE(wait_until(Seconds{30}, [&] { return job()["attempts"].size() == 2; }))
        << job().dump(2);
    const std::int64_t again = step();
    ASSERT_TRUE(reaches(again + 20)) << job().dump(2);

    // All of them do.
    for (const char* name : {"w0", "w1"})
        stop_worker(name);
    controller_->signal(SIGTERM);
    EXPECT_EQ(controller_->wait(Seconds{30}), 0) << controller_->err();
    for (const char* name : {"w0", "w1"})
        EXPECT_EQ(stop_ranks(name).code, 0) << name;
    EXPECT_TRUE(wait_until(Seconds{5}, [&] { return processes_marked(marker()).empty(); }));
    serve();
    work("w0");
    work("w1");
    ASSERT_TRUE(succeeds()) << job().dump(2);
    const Json done = job();
    ASSERT_EQ(done["attempts"].size(), 3u) << done.dump(2);
    EXPECT_NE(done["attempts"][0].value("cause", "").find("its workers were stopped"),
              std::string::npos)
        << done.dump(2);
    EXPECT_EQ(losses(), undisturbed);
    EXPECT_EQ(steps_of_curve(), kSteps);
}

// systemd's end of a unit's socket.
class NotifySocket {
public:
    explicit NotifySocket(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::copy(path.begin(), path.end(), address.sun_path);
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
    }
    // Takes the words that have come so far.
    std::string heard() {
        char text[256];
        ssize_t size = 0;
        while ((size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT)) > 0)
            heard_ += std::string(text, static_cast<std::size_t>(size)) + "\n";
        return heard_;
    }
    bool hears(const std::string& words) {
        return wait_until(Seconds{30}, [&] { return heard().find(words) != std::string::npos; });
    }
    std::size_t count(const std::string& words) {
        const std::string text = heard();
        std::size_t found = 0;
        for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at)
            ++found;
        return found;
    }

private:
    const UniqueFd fd_;
    std::string heard_;
};

std::vector<std::string> as_a_unit(const std::string& socket, std::vector<std::string> command) {
    command.insert(command.begin(),
                   {"/usr/bin/env", "NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=400000"});
    return command;
}

TEST_F(Units, TellSystemdHowTheyAre) {
    NotifySocket worker(path("worker.notify"));
    workers_["w0"] = start(as_a_unit(path("worker.notify"),
                                     {program("ringmaster-worker"), "--config", path("w0.yaml")}));
    EXPECT_TRUE(worker.hears("READY=1\n")) << "it needs no controller for that";
    EXPECT_TRUE(worker.hears("STATUS=no session with the controller at " + address_));
    NotifySocket controller(path("controller.notify"));
    controller_ = start(as_a_unit(path("controller.notify"),
                                  {program("ringmaster-controller"), "--config", path("c.yaml")}));
    EXPECT_TRUE(controller.hears("READY=1\n"));
    EXPECT_EQ(there({"ls"}).code, 0) << "it listens once it is ready";
    EXPECT_EQ(controller.count("STATUS=gRPC on " + address_ + ", HTTP on none"), 1u);
    EXPECT_TRUE(worker.hears("STATUS=in session with the controller at " + address_));

    const std::size_t before = worker.count("WATCHDOG=1");
    const std::size_t before_there = controller.count("WATCHDOG=1");
    sleep(Seconds{1.5});
    // Every 0.2 s; machines with other work are late.
    EXPECT_GE(worker.count("WATCHDOG=1"), before + 3);
    EXPECT_GE(controller.count("WATCHDOG=1"), before_there + 3);
    EXPECT_EQ(worker.count("STOPPING=1") + controller.count("STOPPING=1"), 0u);
    stop_worker("w0");
    EXPECT_EQ(worker.count("STOPPING=1"), 1u);
    controller_->signal(SIGTERM);
    EXPECT_EQ(controller_->wait(Seconds{30}), 0);
    EXPECT_EQ(controller.count("STOPPING=1"), 1u);
}

TEST_F(Units, ReadTheirFilesStrictlyAndPrintThem) {
    for (const auto& [name, file] : {std::pair{"ringmaster-controller", path("c.yaml")},
                                     std::pair{"ringmaster-worker", path("w0.yaml")}}) {
        const Finished printed = run({program(name), "--config", file, "--print-config"});
        EXPECT_EQ(printed.code, 0) << printed.err;
        write_file(path("again.yaml"), printed.out);
        const Finished again =
            run({program(name), "--config", path("again.yaml"), "--print-config"});
        EXPECT_EQ(again.out, printed.out) << again.err;
        write_file(path("wrong.yaml"), read_file(file) + "htp: none\n");
        const Finished wrong = run({program(name), "--config", path("wrong.yaml")});
        EXPECT_EQ(wrong.code, 2);
        EXPECT_NE(wrong.err.find(": unknown key 'htp'; did you mean 'http'?\n"), std::string::npos)
            << wrong.err;
    }
    EXPECT_NE(run({program("ringmaster-worker"), "--config", path("w0.yaml"), "--name", "n7",
                   "--print-config"})
                  .out.find("name: n7\n"),
              std::string::npos);
}

}  // namespace
}  // namespace rm::e2e
