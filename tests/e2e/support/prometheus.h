#pragma once

#include <unistd.h>

#include <memory>
#include <string>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {

// A real Prometheus that finds a cluster's metrics by the http_sd address alone, every second.
class Prometheus {
public:
    static constexpr const char* kProgram = "/usr/bin/prometheus";
    static bool is_there() { return access(kProgram, X_OK) == 0; }

    // `controller`: HTTP, host:port. Its files are named after `prefix`.
    Prometheus(const std::string& controller, const std::string& prefix)
        : address_(format("127.0.0.1:{}", free_port())) {
        write_file(
            prefix + ".yml",
            format("global: {{scrape_interval: 1s}}\n"
                   "scrape_configs:\n"
                   "  - job_name: ringmaster\n"
                   "    http_sd_configs: [{{url: 'http://{}/api/v1/sd', refresh_interval: 1s}}]\n",
                   controller));
        process_ = std::make_unique<Process>(
            std::vector<std::string>{kProgram, "--config.file=" + prefix + ".yml",
                                     "--storage.tsdb.path=" + prefix + ".tsdb",
                                     "--web.listen-address=" + address_, "--log.level=warn"},
            std::vector<std::string>{}, prefix);
    }

    // The series an instant query finds; empty on errors.
    Json query(const std::string& expression) const {
        const std::string answer =
            http_get(address_, "/api/v1/query?query=" + url_encoded(expression));
        const Json parsed = Json::parse(answer, nullptr, false);
        return parsed.is_object() ? parsed["data"]["result"] : Json::array();
    }
    static double value_of(const Json& series) {
        return std::stod(series["value"][1].get<std::string>());
    }
    std::string err() const { return process_->err(); }

private:
    const std::string address_;
    std::unique_ptr<Process> process_;
};

}  // namespace rm::e2e
