#include "cli/client/target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace rm {
namespace {

struct TargetTest : testing::Test {
    std::filesystem::path dir =
        std::filesystem::path(testing::TempDir()) / format("rm-target-{}", getpid());
    std::map<std::string, std::string> variables = {{"HOME", dir.string()}};

    TargetTest() { std::filesystem::create_directories(dir / ".config/ringmaster"); }
    ~TargetTest() override { std::filesystem::remove_all(dir); }

    void write_config(const std::string& text) {
        std::ofstream(dir / ".config/ringmaster/config.yaml") << text;
    }
    Result<Target> find(const TargetFlags& flags) {
        return find_controller(
            flags, [this](const std::string& name) -> std::optional<std::string> {
                const auto found = variables.find(name);
                return found == variables.end() ? std::nullopt : std::optional(found->second);
            });
    }
};

TEST_F(TargetTest, IsTheDefaultWhenNobodySaysOtherwise) {
    EXPECT_EQ(find({})->address, "127.0.0.1:7070");
}

TEST_F(TargetTest, PrefersFlagToEnvironmentToConfigFile) {
    write_config(
        "current: lab\ncontexts:\n  lab: {address: 127.0.0.1:1}\n  home: {address: unix:/h}\n");
    EXPECT_EQ(find({})->address, "127.0.0.1:1");
    variables["RINGMASTER_CONTEXT"] = "home";
    EXPECT_EQ(find({})->address, "unix:/h");
    variables["RINGMASTER_ADDRESS"] = "127.0.0.1:2";
    EXPECT_EQ(find({})->address, "127.0.0.1:2");
    EXPECT_EQ(find({.context = "lab"})->address, "127.0.0.1:1");
    EXPECT_EQ(find({.address = "127.0.0.1:3", .context = "lab"})->address, "127.0.0.1:3");
}

TEST_F(TargetTest, NamesTheContextsThereAre) {
    write_config("contexts: {lab: {address: 127.0.0.1:1}}\n");
    const auto found = find({.context = "lob"});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
    EXPECT_EQ(found.error().message, "context 'lob' is not in the config file; it has lab");
}

TEST_F(TargetTest, RefusesAConfigFileThatWasNamedAndIsMissing) {
    EXPECT_FALSE(find({.config = "/no/such/file"}));
}

TEST_F(TargetTest, SaysHowToBringAStoppedClusterUpAgain) {
    std::ofstream(dir / "ringmaster.json")
        << R"({"pid": 0, "address": "unix:/x", "grpc": [], "socket_dir": "/x", "daemons": []})";
    const auto found = find({.state_dir = dir.string()});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::unavailable);
    EXPECT_NE(found.error().message.find(format("`ringmaster up --state {}`", dir.string())),
              std::string::npos);
}

TEST_F(TargetTest, SaysWhenADirectoryIsNotOneOfUp) {
    const auto found = find({.state_dir = (dir / "nowhere").string()});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
}

TEST_F(TargetTest, TakesCredentialsOfTheContextBesideItsFile) {
    write_config(
        "contexts:\n  lab: {address: c.lab:7070, ca: ca.crt, token_file: /t, server_name: c}\n");
    const std::string base = (dir / ".config/ringmaster").string();
    const auto found = find({.context = "lab"});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, (Target{"c.lab:7070",
                              {.ca = base + "/ca.crt", .token_file = "/t", .server_name = "c"}}));
}

TEST_F(TargetTest, PrefersCredentialsOfFlagsToThoseOfEnvironmentAndContext) {
    write_config("contexts:\n  lab: {address: c.lab:7070, ca: /ca1, token_file: /t1}\n");
    variables["RINGMASTER_CA"] = "/ca2";
    variables["RINGMASTER_TOKEN_FILE"] = "/t2";
    EXPECT_EQ(find({.context = "lab"})->security.ca, "/ca2");
    EXPECT_EQ(find({.context = "lab"})->security.token_file, "/t2");
    const TargetFlags flags{.context = "lab", .security = {.ca = "/ca3", .token_file = "/t3"}};
    EXPECT_EQ(find(flags)->security, flags.security);
}

TEST_F(TargetTest, ACertificateThatIsAskedForIsNotHiddenByTheContextsToken) {
    write_config("contexts:\n  lab: {address: c.lab:7070, ca: /ca, token_file: /t}\n");
    const auto found = find({.context = "lab", .security = {.certificate = "/c", .key = "/k"}});
    EXPECT_EQ(found->security, (ClientSecurity{.ca = "/ca", .certificate = "/c", .key = "/k"}));
}

TEST_F(TargetTest, UnixSocketsGetNoCredentialOfTheEnvironment) {
    variables["RINGMASTER_CA"] = "/ca";
    variables["RINGMASTER_TOKEN_FILE"] = "/t";
    EXPECT_EQ(find({.address = "unix:/s"})->security, ClientSecurity{});
}

TEST(CliConfig, PointsAtWhatIsWrong) {
    const auto message = [](const char* text) {
        return parse_cli_config(text, "c.yaml").error().message;
    };
    EXPECT_EQ(message("curent: lab\n"),
              "c.yaml:1:1: unknown key 'curent'; known: current, contexts");
    EXPECT_EQ(message("contexts:\n  lab: {adress: x}\n"),
              "c.yaml:2:9: unknown key 'adress' in context 'lab'; known: address, ca, cert, key, "
              "server_name, token_file");
    EXPECT_EQ(message("contexts:\n  lab: {address: x, address: y}\n"),
              "c.yaml:2:21: context 'lab' gives address twice");
    EXPECT_EQ(message("contexts: 3\n"), "c.yaml:1:11: contexts must be {name: {address: ...}}");
    EXPECT_EQ(message("a: [\n").substr(0, 9), "c.yaml:2:");
}

}  // namespace
}  // namespace rm
