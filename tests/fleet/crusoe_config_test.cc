#include "controller/discovery/crusoe_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/e2e/support/process.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

constexpr const char* kFile = R"(profile = "lab"
[default]
access_key_id = "id-default"
secret_key = "c2VjcmV0LWRlZmF1bHQ"
[lab]
access_key_id = "id-lab"
secret_key = "c2VjcmV0LWxhYg"
default_project = "lab-project"
api_endpoint = "https://api.crusoecloud.com/v1alpha5"
)";

class CrusoeConfigTest : public testing::Test {
protected:
    CrusoeConfigTest() {
        std::filesystem::create_directories(dir_ / ".crusoe");
        variables_["HOME"] = dir_.path();
        file_ = dir_ / ".crusoe/config";
        write(kFile);
    }
    void write(const std::string& text, int mode = 0600) {
        e2e::write_file(file_, text);
        std::filesystem::permissions(file_, std::filesystem::perms{static_cast<unsigned>(mode)});
    }
    Result<CrusoeConfig> find(const CrusoeFlags& flags = {}) {
        return find_crusoe_config(flags, [this](const std::string& name) {
            const auto found = variables_.find(name);
            return found == variables_.end() ? std::nullopt : std::optional(found->second);
        });
    }

    TempDir dir_;
    std::string file_;
    std::map<std::string, std::string> variables_;
};

TEST_F(CrusoeConfigTest, ReadsTheProfileThatTheFileNames) {
    const CrusoeConfig config = find().value();
    EXPECT_EQ(config.profile, "lab");
    EXPECT_EQ(config.access_key_id, "id-lab");
    EXPECT_EQ(config.secret_key.reveal(), "c2VjcmV0LWxhYg");
    EXPECT_EQ(config.project, "lab-project");
    EXPECT_EQ(config.endpoint.host, "api.cloud.crusoe.ai") << "Crusoe has moved";
    EXPECT_EQ(config.endpoint.path, "/v1");
}

TEST_F(CrusoeConfigTest, AFlagComesBeforeTheEnvironmentAndThatBeforeTheFile) {
    variables_["CRUSOE_PROFILE"] = "default";
    variables_["CRUSOE_DEFAULT_PROJECT"] = "of-environment";
    EXPECT_EQ(find().value().access_key_id, "id-default");
    EXPECT_EQ(find().value().project, "of-environment");
    EXPECT_EQ(find({.profile = "lab", .project = "of-flag"}).value().access_key_id, "id-lab");
    EXPECT_EQ(find({.profile = "lab", .project = "of-flag"}).value().project, "of-flag");
    variables_["CRUSOE_SECRET_KEY"] = "b3RoZXI";
    EXPECT_EQ(find().value().secret_key.reveal(), "b3RoZXI");
}

TEST_F(CrusoeConfigTest, NeedsNoFileWhereTheEnvironmentHasTheKey) {
    std::filesystem::remove(file_);
    EXPECT_EQ(find().error().code, ErrorCode::unauthenticated);
    variables_["CRUSOE_ACCESS_KEY_ID"] = "id";
    variables_["CRUSOE_SECRET_KEY"] = "c2VjcmV0";
    EXPECT_EQ(find().value().profile, "default");
    EXPECT_FALSE(find({.file = file_}).ok()) << "a file that a flag names must be there";
}

TEST_F(CrusoeConfigTest, RefusesAFileThatOthersMayRead) {
    write(kFile, 0640);
    EXPECT_EQ(find().error().code, ErrorCode::permission_denied);
    EXPECT_NE(find().error().message.find("chmod 600"), std::string::npos);
}

TEST_F(CrusoeConfigTest, NoMessageShowsAKey) {
    for (const std::string& text :
         {std::string("[default]\nsecret_key = \"c2VjcmV0\n"),
          std::string("[default]\nsecret_key = c2VjcmV0\n"),
          std::string("[other]\naccess_key_id = \"i\"\nsecret_key = \"c2VjcmV0\"\n"),
          std::string("[default]\nsecret_key = \"c2VjcmV0\"\n")}) {
        write(text);
        const Error error = find({.profile = "default"}).error();
        EXPECT_EQ(error.message.find("c2VjcmV0"), std::string::npos) << error.message;
        EXPECT_FALSE(error.message.empty());
    }
}

TEST_F(CrusoeConfigTest, SendsKeysInPlainTextToThisMachineAlone) {
    EXPECT_FALSE(find({.endpoint = "http://api.example.com/v1"}).ok());
    EXPECT_TRUE(find({.endpoint = "http://127.0.0.1:8080/v1"}).ok());
    EXPECT_TRUE(find({.endpoint = "https://api.example.com"}).ok());
    for (const char* wrong : {"ftp://x", "https://", "https://a b/v1", "https://h:99999/",
                              "https://user@host/v1", "https://h/v1?x=1"})
        EXPECT_FALSE(find({.endpoint = wrong}).ok()) << wrong;
}

}  // namespace
}  // namespace rm
