#include "tests/fleet/fake_crusoe.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rm {

FakeCrusoe::FakeCrusoe(const std::string& directory, std::vector<std::string> arguments) {
    const std::string port_file = directory + "/fake-port";
    std::vector<std::string> argv = {"/usr/bin/python3", RM_FAKE_CRUSOE, port_file};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    process_ = std::make_unique<e2e::Process>(argv, std::vector<std::string>{},
                                              directory + "/fake-crusoe");
    const bool listens =
        e2e::wait_until(Seconds{20}, [&] { return !(port_ = e2e::read_file(port_file)).empty(); });
    EXPECT_TRUE(listens) << process_->err();
}

CrusoeConfig FakeCrusoe::config() const {
    return {.profile = "default",
            .access_key_id = kKeyId,
            .secret_key = Secret(kSecret),
            .project = "default",
            .endpoint = parse_base_url(endpoint()).value()};
}

nlohmann::json FakeCrusoe::control(const nlohmann::json& order) const {
    const BaseUrl url = parse_base_url("http://127.0.0.1:" + port_).value();
    const HttpOutcome outcome = send_request(
        url, {.method = "POST", .target = "/control", .headers = {}, .body = order.dump()},
        Seconds{20});
    return nlohmann::json::parse(outcome.answer.value().body);
}

int FakeCrusoe::count(const std::string& start) const {
    const std::vector<std::string> seen = control({})["seen"];
    return static_cast<int>(std::count_if(seen.begin(), seen.end(), [&](const std::string& line) {
        return line.starts_with(start);
    }));
}

}  // namespace rm
