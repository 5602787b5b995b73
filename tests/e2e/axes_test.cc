#include <cmath>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

constexpr Seconds kJobLimit{240};
// examples/axes.yaml, scaled down: three steps of two sequences.
const std::string kStage = "  - {context: 512, batch: 1024, tokens: 3072, learning_rate: 1e-3}\n";

// A cluster of four nodes with four devices each.
class Axes : public E2eTest {
protected:
    void SetUp() override {
        up_ = up(state_, {"--workers", "4", "--devices-per-worker", "4"});
        ASSERT_TRUE(up_);
    }
    void TearDown() override {
        if (up_) stop(*up_);
    }

    // Trains the job on this mesh; returns its final state.
    Json trained(const std::string& name, const std::string& parallel) {
        const std::string id = submit(
            state_, write_job({.name = name,
                               .data = path("text") + ", documents: separate, positions: reset",
                               .stages = kStage,
                               .parallel = parallel,
                               .extra = "precision: fp32\n"},
                              name + ".yaml"));
        if (!wait_for_state(state_, id, "succeeded", kJobLimit)) return {};
        return with_last_reports(id);
    }
    // They travel separately from the final status and may arrive after it.
    Json with_last_reports(const std::string& id) {
        Json job;
        const bool complete = wait_until(Seconds{30}, [&] {
            job = show(state_, id);
            return job.contains("lastEvaluation") && job.contains("lastStep") &&
                   job["lastStep"].value("step", 0) == job["lastStep"].value("numSteps", -1);
        });
        EXPECT_TRUE(complete) << job.dump(2);
        return complete ? job : Json();
    }

    const std::string state_ = path("state");
    std::unique_ptr<Process> up_;
};

void expect_near(const Json& job, const Json& wanted, const char* report, const char* value,
                 double tolerance) {
    const double ours = job[report][value];
    const double theirs = wanted[report][value];
    EXPECT_LT(std::abs(ours - theirs), tolerance * std::abs(theirs))
        << job["spec"]["name"] << ": " << report << "." << value << " is " << ours
        << ", on one rank " << theirs;
}

void expect_traffic(const Json& job, const std::vector<std::string>& axes) {
    const Json& moved = job["lastStep"]["axes"];
    for (const std::string& axis : axes) {
        ASSERT_TRUE(moved.contains(axis)) << axis << " has not moved anything: " << moved;
        EXPECT_GT(moved[axis]["bytesSent"].get<std::int64_t>(), 0) << axis;
    }
}

TEST_F(Axes, AllAtOnceTrainWhatOneRankTrains) {
    const Json alone = trained("alone", "{ring: 1}");
    const Json four = trained("four", "{data: 2, ring: 2, ulysses: 2, tensor: 2, zero: 3}");
    const Json rings = trained("rings", "{ring: 8, inner_ring: 2, tensor: 2, zero: 1}");
    ASSERT_TRUE(alone.is_object() && four.is_object() && rings.is_object());
    ASSERT_EQ(alone["attempts"][0]["placement"].size(), 1u);
    for (const Json& job : {four, rings}) {
        ASSERT_EQ(job["attempts"][0]["placement"].size(), 16u);
        // First steps are alike to the last bits of fp32; three updates do not change that much.
        expect_near(job, alone, "lastStep", "loss", 1e-5);
        expect_near(job, alone, "lastEvaluation", "loss", 1e-5);
        expect_near(job, alone, "lastStep", "gradNorm", 1e-4);
    }
    expect_traffic(four, {"ring", "ulysses", "tensor", "gradient"});
    expect_traffic(rings, {"ring", "tensor", "gradient"});
    EXPECT_EQ(rings["attempts"][0]["mesh"]["innerRing"], 2);

    const Json last = four["attempts"][0]["placement"][15];
    EXPECT_EQ(last["device"], 3);
    EXPECT_EQ(last["coordinates"], Json::parse(R"({"data":1,"ring":1,"ulysses":1,"tensor":1})"));
    const Finished shown = at(state_, {"show", four["id"].get<std::string>()});
    for (const char* line :
         {"  data 2 x ring 2 x ulysses 2 x tensor 2, ZeRO-3, 16 ranks on 4 nodes\n",
          "  ring        2  the tokens of a sequence                      yes\n",
          "  tensor      2  the weights of each layer                     no\n",
          "  0-3      12-15  1     1     0-1      0-1\n"}) {
        EXPECT_NE(shown.out.find(line), std::string::npos) << line << shown.out;
    }
}

}  // namespace
}  // namespace rm::e2e
