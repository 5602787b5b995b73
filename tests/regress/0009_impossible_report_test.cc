#include <cmath>

#include "tests/controller/survey/simulated_survey.h"

// The controller believed every report of a worker: it sorted, stored and planned with NaNs, and
// wrote devices that do not exist beyond the end of a table.
namespace rm::test {
namespace {

struct Regress0009 : testing::Test {
    SimulatedSurvey sim{PlantedNetwork::of({{{1, 1}, 0}})};

    // The first step of a survey, in which every node measures itself.
    SurveyOutputs answer(ProbeReport report) {
        EXPECT_TRUE(sim.core.request("request", sim.now).ok());
        const SurveyOutputs begun = sim.core.tick(sim.now);
        report.id = begun.commands.at(0).id;
        sim.core.take(begun.commands.at(0).from.id, report, sim.now);
        return sim.core.take(begun.commands.at(1).from.id, {.id = begun.commands.at(1).id},
                             sim.now);
    }
    std::optional<SurveyRecord> finish(std::vector<ProbeCommand> commands, double rate) {
        while (true) {
            SurveyOutputs last;
            for (const ProbeCommand& command : commands) {
                ProbeReport report{.id = command.id};
                report.samples.push_back({.streams = command.streams, .rate = {rate}});
                last = sim.core.take(command.from.id, report, sim.now);
            }
            if (last.finished) return last.finished;
            commands = last.commands;
        }
    }
};

TEST_F(Regress0009, DevicesThatDoNotExistAreNotBelieved) {
    const SurveyOutputs next = answer({.inside = {{.from = 7, .to = 9, .rate = {1}}}});
    const auto survey = finish(next.commands, 1);
    EXPECT_EQ(survey->num_failed, 1);
    ASSERT_FALSE(survey->errors.empty());
    EXPECT_EQ(survey->errors[0], "n0 reports what cannot be measured");
    EXPECT_TRUE(sim.core.book().nodes.at(sim.id(0)).inside.empty());
}

TEST_F(Regress0009, WhatIsNoNumberIsNotBelieved) {
    for (const double rate : {std::nan(""), HUGE_VAL, -1.0}) {
        const SurveyOutputs next = answer({.inside = {{.from = -1, .to = 0, .rate = {1}}}});
        const auto survey = finish(next.commands, rate);
        EXPECT_EQ(survey->num_links, 0) << rate;
        EXPECT_TRUE(sim.core.book().links.empty()) << rate;
    }
}

}  // namespace
}  // namespace rm::test
