#pragma once

#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {

// A real Alertmanager without receivers.
class Alertmanager {
public:
    static constexpr const char* kProgram = "/usr/bin/prometheus-alertmanager";
    static bool is_there() { return access(kProgram, X_OK) == 0; }

    explicit Alertmanager(const std::string& prefix)  // of the names of its files
        : address_(format("127.0.0.1:{}", free_port())) {
        write_file(prefix + ".yml", "route: {receiver: none}\nreceivers: [{name: none}]\n");
        process_ = std::make_unique<Process>(
            std::vector<std::string>{kProgram, "--config.file=" + prefix + ".yml",
                                     "--storage.path=" + prefix + ".data",
                                     "--web.listen-address=" + address_,
                                     "--cluster.listen-address=", "--log.level=warn"},
            std::vector<std::string>{}, prefix);
    }
    const std::string& address() const { return address_; }  // host:port

    // Alerts that fire now.
    std::vector<Json> firing() const {
        const Json all = Json::parse(http_get(address_, "/api/v2/alerts"), nullptr,
                                     /*allow_exceptions=*/false);
        return all.is_array() ? std::vector<Json>(all.begin(), all.end()) : std::vector<Json>{};
    }
    std::vector<Json> firing(const std::string& name) const {
        std::vector<Json> found = firing();
        std::erase_if(found,
                      [&](const Json& alert) { return alert["labels"]["alertname"] != name; });
        return found;
    }
    std::set<std::string> names() const {
        std::set<std::string> found;
        for (const Json& alert : firing())
            found.insert(alert["labels"]["alertname"]);
        return found;
    }
    std::string err() const { return process_->err(); }

private:
    const std::string address_;
    std::unique_ptr<Process> process_;
};

}  // namespace rm::e2e
