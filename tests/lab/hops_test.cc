#include "tests/lab/lab_cluster.h"

// Training reports on its links: ring hops that become slow start a survey.
namespace rm::lab {
namespace {

class Hops : public LabCluster {
protected:
    static constexpr int kNodes = 3;
    void SetUp() override {
        LabCluster::SetUp();
        if (IsSkipped()) return;
        for (int i = 0; i < kNodes; ++i)
            lab_->set_host_rate(format("n{}", i), {100});
        stop_controller();
        // A smaller budget would make the survey take longer.
        start_controller({"--survey-budget", "50%"});
        start_workers(kNodes);
    }
    std::string links() { return there({"links", "--matrix"}).out; }
    bool links_say(const std::string& part, Seconds limit) {
        return e2e::wait_until(limit, [&] { return links().find(part) != std::string::npos; });
    }
};

TEST_F(Hops, ThatBecomeSlowStartASurveyThatNamesTheHost) {
    ASSERT_TRUE(links_say("survey 1 measured 6 links", Seconds{120})) << links();
    submit_job(
        {.stages = "  - {context: 3840, batch: 3840, tokens: 38400000, learning_rate: 1e-3}\n",
         .parallel = "{ring: 3}"});
    ASSERT_TRUE(reaches_step(25, Seconds{120}));
    EXPECT_FALSE(links_say("degraded  ", Seconds{0})) << links();
    lab_->set_host_rate("n1", {30});
    ASSERT_TRUE(links_say("survey 2 measured", Seconds{300})) << links() << log_of(0);
    say(links());
    for (const char* link : {"n0 to n1", "n1 to n0", "n1 to n2", "n2 to n1"})
        EXPECT_NE(links().find(format("degraded  {}:", link)), std::string::npos) << link;
    for (const char* link : {"n0 to n2", "n2 to n0"})
        EXPECT_EQ(links().find(format("degraded  {}:", link)), std::string::npos) << link;
    const std::string said = controller_->err();
    EXPECT_NE(said.find("ring hops from n"), std::string::npos) << said;
}

}  // namespace
}  // namespace rm::lab
