#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temp_dir.h"
#include "worker/roots/file_checks.h"
#include "worker/roots/root_directory.h"
#include "worker/roots/roots_agent.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

class Roots : public ::testing::Test {
protected:
    Roots() {
        for (const char* name : {"models", "ckpt", "outside"})
            fs::create_directories(dir_.file(name));
        roots_ = {{"models", dir_.file("models")}, {"ckpt", dir_.file("ckpt")}};
    }
    FileFacts check(FileUse use, const std::string& path) {
        return check_files(roots_, {"k", {{use, path}}}, hashes_).files.at(0);
    }
    void expect_problem(const FileFacts& facts, const std::string& part) {
        EXPECT_NE(facts.problem.find(part), std::string::npos) << facts.problem;
    }

    const TempDir dir_;
    std::vector<DeclaredRoot> roots_;
    IndexHashes hashes_;
};

TEST_F(Roots, APathMayBeWrittenAbsolutelyOrByTheNameOfItsRoot) {
    dir_.write("models/text/a.txt", "hello");
    const FileFacts absolute = check(FileUse::data, dir_.file("models/text"));
    const FileFacts named = check(FileUse::data, "models:text");
    EXPECT_EQ(absolute.problem, "");
    EXPECT_EQ(named.problem, "");
    EXPECT_EQ(absolute.index, named.index);
    EXPECT_EQ(named.root, "models");
    EXPECT_EQ(named.below, "text");
}

TEST_F(Roots, APathBelowNoRootIsRefusedWithTheRoots) {
    dir_.write("outside/a.txt", "secret");
    expect_problem(check(FileUse::data, dir_.file("outside/a.txt")), "lies below no root");
    expect_problem(check(FileUse::data, dir_.file("models/../outside/a.txt")), "outside");
    expect_problem(check(FileUse::data, "scratch:a.txt"), "there is no root 'scratch' here");
    expect_problem(check(FileUse::data, dir_.file("models") + "x"), "lies below no root");
}

TEST_F(Roots, ALinkThatLeavesTheRootIsRefused) {
    dir_.write("outside/a.txt", "secret");
    fs::create_symlink(dir_.file("outside"), dir_.file("models/link"));
    expect_problem(check(FileUse::data, "models:link"), "leads to " + dir_.file("outside"));
    expect_problem(check(FileUse::checkpoint, "models:link/new"), "lies below no root");
    fs::create_directories(dir_.file("models/set"));
    fs::create_symlink(dir_.file("outside/a.txt"), dir_.file("models/set/a.txt"));
    expect_problem(check(FileUse::data, "models:set"), "lies below no root");
    fs::create_symlink(dir_.file("outside/later"), dir_.file("models/dangling"));
    EXPECT_NE(check(FileUse::checkpoint, "models:dangling").problem, "");
}

TEST_F(Roots, ALinkFromOneRootToAnotherIsFine) {
    dir_.write("models/set/a.txt", "text");
    fs::create_symlink(dir_.file("models/set"), dir_.file("ckpt/set"));
    EXPECT_EQ(check(FileUse::data, "ckpt:set").problem, "");
}

TEST_F(Roots, ALaunchBeginsOnlyWithPathsBelowTheRoots) {
    LaunchAttempt launch;
    launch.spec.data.sources = {{"models:text", 0.5}};
    launch.checkpoint_dir = "ckpt:runs/abc123";
    const auto here = find_paths(roots_, launch);
    ASSERT_TRUE(here) << here.error().message;
    EXPECT_EQ(here->spec.data.sources[0].path, fs::canonical(dir_.file("models")) / "text");
    EXPECT_EQ(here->checkpoint_dir, fs::canonical(dir_.file("ckpt")) / "runs/abc123");
    launch.spec.exports.huggingface = dir_.file("outside/model");
    const auto refused = find_paths(roots_, launch);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("export.huggingface"), std::string::npos);
    EXPECT_EQ(*find_paths({}, launch), launch) << "a worker without roots allows everything";
}

TEST_F(Roots, TheIndexOfADirectoryTellsCopiesFromOthers) {
    dir_.write("models/a/x/1.txt", "one");
    dir_.write("models/a/2.txt", std::string(300'000, 'z'));
    fs::copy(dir_.file("models/a"), dir_.file("models/b"), fs::copy_options::recursive);
    const std::string index = check(FileUse::data, "models:a").index;
    EXPECT_EQ(check(FileUse::data, "models:b").index, index);
    dir_.write("models/b/x/1.txt", "eno");
    EXPECT_NE(check(FileUse::data, "models:b").index, index) << "other content of the same size";
    dir_.write("models/b/x/1.txt", "one");
    EXPECT_EQ(check(FileUse::data, "models:b").index, index);
    fs::rename(dir_.file("models/b/x/1.txt"), dir_.file("models/b/x/3.txt"));
    EXPECT_NE(check(FileUse::data, "models:b").index, index) << "another name";
    dir_.write("models/a/.hidden", "not data");
    EXPECT_EQ(check(FileUse::data, "models:a").index, index);
}

TEST_F(Roots, APrefixOfTokenFilesIsBothOfThem) {
    dir_.write("models/books.bin", "tokens");
    dir_.write("models/books.idx", "index");
    const std::string index = check(FileUse::data, "models:books").index;
    EXPECT_FALSE(index.empty());
    EXPECT_EQ(check(FileUse::data, "models:books.bin").index, index);
    dir_.write("models/books.idx", "xedni");
    EXPECT_NE(check(FileUse::data, "models:books").index, index);
}

TEST_F(Roots, WhatIsMissingOrNoModelIsSaid) {
    expect_problem(check(FileUse::data, "models:none"), "No such file or directory");
    dir_.write("models/empty/readme.md", "no model");
    expect_problem(check(FileUse::model, "models:empty"), "config.json");
}

TEST_F(Roots, ACheckpointDirectoryMayBeYetToBeMadeAndSaysHowMuchIsFree) {
    const FileFacts facts = check(FileUse::checkpoint, "ckpt:runs/new");
    EXPECT_EQ(facts.problem, "");
    EXPECT_EQ(facts.below, "runs/new");
    EXPECT_GT(facts.free.value, 0);
    dir_.write("ckpt/file", "in the way");
    expect_problem(check(FileUse::checkpoint, "ckpt:file/run"), "not a directory");
    expect_problem(check(FileUse::exports, "ckpt:"), "is a root");
}

TEST_F(Roots, ANonceIsSeenWhereItIsAndCannotNameAnotherPlace) {
    const std::string ckpt = dir_.file("ckpt");
    ASSERT_TRUE(write_nonce(ckpt, "c0ffee-1"));
    EXPECT_TRUE(*has_nonce(ckpt, "c0ffee-1"));
    EXPECT_FALSE(*has_nonce(dir_.file("models"), "c0ffee-1"));
    remove_nonce(ckpt, "c0ffee-1");
    EXPECT_FALSE(*has_nonce(ckpt, "c0ffee-1"));
    EXPECT_FALSE(write_nonce(ckpt, "../outside/x"));
    EXPECT_TRUE(fs::is_empty(dir_.file("outside")));
}

TEST_F(Roots, TheAgentMeasuresAnswersAndLeavesNothingBehind) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<RootProbed> probed;
    {
        RootsAgent agent({{"ckpt", dir_.file("ckpt")}, {"gone", dir_.file("gone")}},
                         dir_.file("roots.json"));
        const std::vector<RootInfo> known = agent.known();
        ASSERT_EQ(known.size(), 2u);
        EXPECT_TRUE(known[0].usable());
        EXPECT_TRUE(known[0].writable);
        EXPECT_GT(known[0].free.value, 0);
        EXPECT_GT(known[0].write_per_second.value, 0);
        EXPECT_EQ(known[1].problem, "No such file or directory");
        agent.start({.roots = nullptr, .files = nullptr, .probed = [&](const RootProbed& answer) {
                         const std::lock_guard lock(mutex);
                         probed = answer;
                         changed.notify_one();
                     }});
        agent.ask(ProbeRoot{"ckpt", "n-1", ProbeStep::write});
        std::unique_lock lock(mutex);
        ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return !!probed; }));
        EXPECT_EQ(probed->problem, "");
        EXPECT_TRUE(fs::exists(dir_.file("ckpt/.ringmaster-nonce-n-1")));
    }
    EXPECT_TRUE(fs::is_empty(dir_.file("ckpt"))) << "the controller's word never came";
}

TEST(DeclaredRoots, AreNamedOnceAndAbsolute) {
    EXPECT_EQ(parse_declared_roots({"a=/x", "b-2=/y"}).value().at(1), (DeclaredRoot{"b-2", "/y"}));
    for (const char* wrong : {"a", "a=x", "A=/x", "=/x", "a b=/x"})
        EXPECT_FALSE(parse_declared_roots({wrong})) << wrong;
    EXPECT_FALSE(parse_declared_roots({"a=/x", "a=/y"}));
}

TEST(RootPaths, AreToldFromOthers) {
    EXPECT_EQ(parse_root_path("ckpt:runs/a").value().below, "runs/a");
    EXPECT_EQ(parse_root_path("ckpt:/runs").value().below, "runs");
    EXPECT_EQ(parse_root_path("ckpt:").value().below, "");
    for (const char* other : {"/abs:x", "dir/a:b", "Upper:x", "plain", "1a:x"})
        EXPECT_FALSE(parse_root_path(other)) << other;
}

}  // namespace
}  // namespace rm
