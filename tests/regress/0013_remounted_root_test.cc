#include "tests/controller/world.h"

// A node whose root was remounted while others were still being compared kept its findings from the
// old mount: it counted as the same directory.
namespace rm::test {
namespace {

struct Regress0013 : World, testing::Test {
    static RootInfo root(const std::string& mount) {
        return {.name = "ckpt", .path = "/mnt", .mount = mount, .writable = true};
    }
    Outcome join(const std::string& node) {
        Hello hello = hello_of(node, 1);
        hello.roots = {root("1:2")};
        return apply(NodeHello{hello});
    }
    void answer(const std::string& node, bool found) {
        const RootProbe probe = state.probes.at("ckpt");
        apply(NodeRootProbed{{node}, {"ckpt", probe.nonce, probe.step, found, ""}});
    }
    const std::map<std::string, std::string>& places(const std::string& node) {
        return state.nodes.at({node}).session.places;
    }
    // a has written a file that b and c are to find.
    void SetUp() override {
        for (const char* node : {"a", "b", "c"})
            join(node);
        answer("a", false);
    }
};

TEST_F(Regress0013, WhatWasSeenBeforeIsNotBelieved) {
    answer("b", true);
    apply(NodeRoots{{"b"}, {{root("9:9")}}});
    answer("c", true);
    EXPECT_EQ(places("a").size(), 1u);
    EXPECT_EQ(places("a"), places("c"));
    EXPECT_TRUE(places("b").empty());
    EXPECT_EQ(state.probes.at("ckpt").writer, NodeId{"b"}) << "it is compared anew";
}

TEST_F(Regress0013, NobodyIsWaitedForWhoseAnswerCouldBeOfEither) {
    answer("b", true);
    apply(NodeRoots{{"c"}, {{root("9:9")}}});
    EXPECT_EQ(places("a").size(), 1u);
    EXPECT_EQ(places("a"), places("b"));
    EXPECT_TRUE(places("c").empty());
}

TEST_F(Regress0013, AWritersFileIsGoneWithItsMount) {
    const std::string nonce = state.probes.at("ckpt").nonce;
    apply(NodeRoots{{"a"}, {{root("9:9")}}});
    EXPECT_NE(state.probes.at("ckpt").nonce, nonce) << "another file is written";
    EXPECT_EQ(state.probes.at("ckpt").step, ProbeStep::write);
}

}  // namespace
}  // namespace rm::test
