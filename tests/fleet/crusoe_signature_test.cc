#include "controller/discovery/crusoe_signature.h"

#include <gtest/gtest.h>

#include "controller/discovery/crusoe_messages.h"

namespace rm {
namespace {

const Secret kKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
constexpr const char* kPath =
    "/v1/projects/00000000-0000-0000-0000-000000000000/compute/vms/instances";

std::string sign(const Query& query) {
    const std::string encoded = encode_query(query);
    return crusoe_signature(kKey, {.path = kPath,
                                   .query = encoded,
                                   .verb = "GET",
                                   .timestamp = "2026-01-02T03:04:05Z"})
        .value();
}

TEST(CrusoeSignature, IsThatOfThePublishedClient) {
    EXPECT_EQ(sign({}), "bR-5by9WoqQahmf1hTqaeXuZT6C0pHgvIk0oPSowyuE");
    EXPECT_EQ(sign({{"states", "STATE_RUNNING"}, {"limit", "50"}}),
              "x6YyOqg2WxAY1X-Kc5pL4edP3XeKR_BVtek7ftzu6QI");
}

TEST(CrusoeSignature, EncodesAQueryAsAForm) {
    EXPECT_EQ(encode_query({{"b", "x y&z=1"}, {"a", "-_.~/\xc3\xa4"}}),
              "a=-_.~%2F%C3%A4&b=x+y%26z%3D1");
}

TEST(CrusoeSignature, RefusesASecretThatIsNoBase64) {
    for (const char* text : {"A", "a*b=", "AAAAA"}) {
        const auto signature = crusoe_signature(Secret(text), {});
        ASSERT_FALSE(signature.ok()) << text;
        EXPECT_EQ(signature.error().message.find(text + std::string("'")), std::string::npos);
    }
    EXPECT_EQ(crusoe_signature(Secret("AAECAwQFBgc="), {}).value(),
              crusoe_signature(Secret("AAECAwQFBgc"), {}).value());
}

TEST(CrusoeMessages, KnowStatesWithAndWithoutPrefix) {
    for (const char* word : {"RUNNING", "STATE_RUNNING"})
        EXPECT_EQ(crusoe_state(word), MachineState::running);
    for (const char* word : {"STOPPED", "STATE_STOPPING", "STATE_DELETING", "SHUTOFF"})
        EXPECT_EQ(crusoe_state(word), MachineState::stopped) << word;
    for (const char* word : {"STATE_CREATING", "STARTING", "STATE_NEW_WORD"})
        EXPECT_EQ(crusoe_state(word), MachineState::starting) << word;
}

TEST(CrusoeMessages, PassOverWhatTheyDoNotKnowAndRefuseWhatIsMissing) {
    const MachinePage page = parse_machines(R"({"items": [
        {"id": "i", "name": "n", "state": "RUNNING", "type": "t", "new": {"x": 1},
         "network_interfaces": [{"ips": [{"public_ipv4": {"address": "198.51.100.1"},
                                          "private_ipv4": {"address": "10.0.0.1"}}]},
                                {"ips": [{"private_ipv4": {"address": "10.0.0.2"}}]}]}],
        "next_page_token": "t2"})")
                                 .value();
    ASSERT_EQ(page.machines.size(), 1u);
    EXPECT_EQ(page.machines[0].addresses,
              (std::vector<std::string>{"10.0.0.1", "10.0.0.2", "198.51.100.1"}));
    EXPECT_EQ(page.next_token, "t2");
    for (const char* broken :
         {"", "[]", "{}", R"({"items": 1})", R"({"items": [{"id": "i"}]})", R"({"items": [1]})",
          R"({"items": [{"id":"i","name":"n","state":"RUNNING","network_interfaces":[3]}]})",
          R"({"items": [{"id":"i","name":"n","state":"RUNNING","network_interfaces":{"a":7}}]})"})
        EXPECT_FALSE(parse_machines(broken).ok()) << broken;
    EXPECT_FALSE(parse_operation(R"({"operation_id": "o", "state": "ODD"})").ok());
    EXPECT_FALSE(parse_operation("<html>").ok());
}

}  // namespace
}  // namespace rm
