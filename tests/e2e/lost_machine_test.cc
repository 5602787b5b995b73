// A machine is lost for good while its job runs: how long training stops, with default settings.
#include <chrono>

#include "tests/e2e/support/daemons.h"

namespace rm::e2e {
namespace {

using std::chrono::steady_clock;

class LostMachine : public Daemons {
protected:
    LostMachine() : Daemons(3) {}
    void SetUp() override {
        start_controller();
        for (const char* name : {"w0", "w1"})
            start_worker(name);
    }
    bool trains(std::size_t attempt) {
        const Json shown = job();
        if (!shown.is_object() || shown.value("state", "") != "running") return false;
        return shown["attempts"].size() == attempt && shown.contains("lastStep") &&
               shown["lastStep"].is_object();
    }
    Json shim_of(const std::string& worker) {
        const std::string file = path(format("{}/attempts/e1/shim.json", worker));
        return Json::parse(read_file(file), nullptr, false);
    }
    // Kills worker, shim and rank, as a power failure does.
    void lose(const std::string& worker) {
        const Json shim = shim_of(worker);
        workers_[worker]->signal(SIGKILL);
        kill(shim["pid"], SIGKILL);
        kill(shim["ranks"][0]["pid"], SIGKILL);
        workers_[worker]->wait(Seconds{5});
        workers_.erase(worker);
    }
};

TEST_F(LostMachine, TheNextAttemptTrainsWithinNinetySeconds) {
    const std::string endless =
        "  - {context: 256, batch: 512, tokens: 51200000, learning_rate: 1e-3}\n";
    submit_job({.stages = endless});
    ASSERT_TRUE(wait_until(Seconds{60}, [&] { return trains(1); })) << job().dump(2);
    start_worker("spare");
    lose("w1");
    const auto lost = steady_clock::now();
    const bool again = wait_until(Seconds{120}, [&] { return trains(2); });
    const std::chrono::duration<double> took = steady_clock::now() - lost;
    ASSERT_TRUE(again) << job().dump(2);
    std::cout << "    trains again " << format("{:.1}", took.count()) << " s after the machine was "
              << "lost: " << job()["attempts"][0].value("cause", "") << std::endl;
    EXPECT_LT(took.count(), 90);
    EXPECT_EQ(job()["attempts"][0].value("state", ""), "lost");
}

}  // namespace
}  // namespace rm::e2e
