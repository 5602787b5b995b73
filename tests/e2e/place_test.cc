#include "tests/e2e/support/e2e_test.h"

// `ringmaster place` on link files; no cluster.
namespace rm::e2e {
namespace {

const std::string kExample = RM_SOURCE_DIR "/examples/links/two_racks.json";

class Place : public E2eTest {
protected:
    Finished place(std::vector<std::string> more) {
        std::vector<std::string> arguments = {"place", "--links", kExample};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return cli(arguments);
    }
    static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }
};

TEST_F(Place, GivesADeviceToEachRankAndTheCostOfBothBaselines) {
    const std::vector<std::string> question = {"--mesh",   "data=1,ring=5,tensor=4",
                                               "--bytes",  "ring=64MiB:12,tensor=256MiB",
                                               "--budget", "500",
                                               "-o",       "json"};
    const Finished placed = place(question);
    ASSERT_EQ(placed.code, 0) << placed.err;
    const Json answer = Json::parse(placed.out);
    EXPECT_EQ(answer["ranks"].size(), 20U);
    const double cost = answer["predicted"]["seconds"];
    EXPECT_GT(cost, 0);
    EXPECT_LE(cost, answer["registration_order"]["seconds"].get<double>());
    EXPECT_LE(cost, answer["node_order"]["seconds"].get<double>());
    EXPECT_EQ(answer["node_order"]["ranks"][4]["node"], "a2");
    for (const Json& rank : answer["ranks"])
        EXPECT_NE(rank["node"], "a2") << "the slow node is left out";
    EXPECT_FALSE(answer["groups"][0]["waits_for"].get<std::string>().empty());
    EXPECT_TRUE(has(placed.err, "links read in ")) << placed.err;
    EXPECT_EQ(place(question).out, placed.out) << "the same every time";
}

TEST_F(Place, DrawsRingsAndNamesTheSlowestLinks) {
    const Finished placed = place({"--mesh", "ring=3,tensor=4", "--model", "llama3-8b", "--context",
                                   "64K", "--budget", "500"});
    ASSERT_EQ(placed.code, 0) << placed.err;
    for (const char* part : {"ORDER", "registration order", "node order", "CROSSES-NODES", "b1:0",
                             " > ", "WAITS-FOR"}) {
        EXPECT_TRUE(has(placed.out, part)) << part << "\n" << placed.out;
    }
}

TEST_F(Place, SaysWhatIsWrongAndWhatIsMissing) {
    const Finished few = place({"--mesh", "ring=7,tensor=4", "--bytes", "ring=1MiB"});
    EXPECT_EQ(few.code, 4) << few.out;
    EXPECT_TRUE(has(few.err, "needs 28 devices, 24 of 24 may be used; 4 are missing")) << few.err;
    EXPECT_EQ(place({"--mesh", "ring=6,tensor=4", "--bytes", "ring=1MiB", "--forbid", "a2"}).code,
              4);
    EXPECT_EQ(place({"--mesh", "ring=2"}).code, 2) << "neither --bytes nor --model";
    EXPECT_EQ(place({"--mesh", "ring=2", "--bytes", "ring=1MiB", "--forbid", "nobody"}).code, 2);
    EXPECT_EQ(cli({"place", "--links", path("none.json"), "--mesh", "ring=2"}).code, 3);
}

TEST_F(Place, WritesTheSwitchesForSlurm) {
    const Finished slurm = place({"--slurm"});
    EXPECT_EQ(slurm.code, 0) << slurm.err;
    EXPECT_TRUE(has(slurm.out, "SwitchName=top Switches=leaf0,leaf1\n")) << slurm.out;
}

}  // namespace
}  // namespace rm::e2e
