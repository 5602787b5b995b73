// A survey knew only the last job of a node: probes took time from the others without limit.
#include "controller/loops/survey_loop.h"
#include "tests/controller/world.h"

namespace rm::test {
namespace {

struct Probed : World {
    Probed() {
        for (const char* node : {"a", "b", "c"}) {
            Hello hello = hello_of(node, 2);
            hello.probe_port = 7080;
            apply(NodeHello{hello});
        }
    }
    std::string run(const std::vector<DeviceId>& devices) {
        const JobId id = submit(small_spec(ring(2)));
        apply(PlanReady{id, state.planning_version, Plan{.mesh = ring(2), .placement = devices}});
        EXPECT_EQ(job(id).state, JobState::starting);
        return id.value;
    }
};

TEST(Regress0113, ASurveyKnowsEveryJobOfANode) {
    Probed world;
    const std::string first = world.run({{{"a"}, 0}, {{"b"}, 0}});
    const std::string second = world.run({{{"c"}, 0}, {{"a"}, 1}});
    const std::vector<SurveyNode> nodes = survey_nodes(world.state);
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_EQ(nodes[0].id, NodeId{"a"});
    EXPECT_EQ(nodes[0].jobs, (std::set<std::string>{first, second}));
    EXPECT_EQ(nodes[0].sends_to, (std::set<NodeId>{{"b"}, {"c"}}));
    EXPECT_EQ(nodes[1].jobs, std::set<std::string>{first});
    EXPECT_EQ(nodes[2].jobs, std::set<std::string>{second});
}

}  // namespace
}  // namespace rm::test
