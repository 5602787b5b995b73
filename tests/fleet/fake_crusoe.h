#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "controller/discovery/crusoe_config.h"
#include "tests/e2e/support/process.h"

namespace rm {

// tests/fleet/fake_crusoe.py as a process.
class FakeCrusoe {
public:
    static constexpr const char* kKeyId = "AKFAKEKEYID0000001";
    static constexpr const char* kSecret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

    // `directory`: for its files.
    FakeCrusoe(const std::string& directory, std::vector<std::string> arguments);

    std::string endpoint() const { return "http://127.0.0.1:" + port_ + "/v1"; }
    CrusoeConfig config() const;
    // Changes the cloud; returns what it has seen.
    nlohmann::json control(const nlohmann::json& order) const;
    // Requests that begin so.
    int count(const std::string& start) const;

private:
    std::unique_ptr<e2e::Process> process_;
    std::string port_;
};

}  // namespace rm
