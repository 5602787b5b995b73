#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "cli/up/cluster_file.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

struct ClusterFiles : testing::Test {
    fs::path dir = fs::path(testing::TempDir()) / format("rm-cluster-{}", getpid());

    ClusterFiles() { fs::create_directories(dir / "run"); }
    ~ClusterFiles() override { fs::remove_all(dir); }

    Result<ClusterPaths> paths(const std::string& state_dir) {
        return make_cluster_paths(state_dir, [this](const std::string& name) {
            return name == "XDG_RUNTIME_DIR" ? std::optional((dir / "run").string()) : std::nullopt;
        });
    }
};

TEST_F(ClusterFiles, AreReadBackAsWritten) {
    const ClusterFile cluster{42,
                              "unix:/s/controller.sock",
                              {"127.0.0.1:43121"},
                              "/s",
                              {{"controller", 43, "127.0.0.1:1"}, {"worker-0", 44, ""}}};
    const auto parsed = parse_cluster_file(to_json(cluster));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, cluster);
    EXPECT_FALSE(parse_cluster_file("{}"));
}

TEST_F(ClusterFiles, NameTheSocketOfTheRunningCluster) {
    ASSERT_TRUE(write_cluster_file(dir, {getpid(), "unix:/s/c.sock", {}, "/s", {}}));
    EXPECT_EQ(*address_of_cluster(dir), "unix:/s/c.sock");
}

TEST_F(ClusterFiles, KeepSocketsInAStateDirectoryWithAShortName) {
    const auto made = paths("/short");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->controller_address(), "unix:/short/controller.sock");
}

TEST_F(ClusterFiles, GoThroughAShortLinkThatStaysTheSameWhenTheNameIsLong) {
    const std::string state = (dir / std::string(120, 'x')).string();
    fs::create_directory(state);
    const auto made = paths(state);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_LE(made->controller_address().size(), 107u);
    EXPECT_EQ(fs::read_symlink(made->socket_dir), state);
    struct stat base {};
    ASSERT_EQ(stat(fs::path(made->socket_dir).parent_path().c_str(), &base), 0);
    EXPECT_EQ(base.st_mode & 0777, 0700u);
    EXPECT_EQ(paths(state)->socket_dir, made->socket_dir);
}

TEST_F(ClusterFiles, RefuseALinkDirectoryOthersCanEnter) {
    fs::create_directory(dir / "run/ringmaster");
    fs::permissions(dir / "run/ringmaster", fs::perms(0755));
    const auto made = paths((dir / std::string(120, 'x')).string());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::permission_denied);
}

TEST(HttpBeside, IsTheNextPortOrAnyPort) {
    EXPECT_EQ(*http_beside("127.0.0.1:7070"), "127.0.0.1:7071");
    EXPECT_EQ(*http_beside("127.0.0.1:0"), "127.0.0.1:0");
    EXPECT_FALSE(http_beside("127.0.0.1:65535"));
    EXPECT_FALSE(http_beside("10.0.0.1:7070"));
}

}  // namespace
}  // namespace rm
