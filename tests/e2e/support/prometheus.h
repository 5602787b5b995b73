#pragma once

#include <unistd.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

namespace rm::e2e {

// A Prometheus has these besides its targets.
struct Monitoring {
    std::vector<std::string> rules;  // patterns of files
    std::string alertmanager;        // host:port; empty: none
    std::string interval = "1s";     // between scrapes, and between evaluations of rules
    std::string tls;  // a viewer's PKI/NAME.crt and .key, and PKI/ca.crt; empty: HTTP
};

// A real Prometheus that finds the metrics of clusters by their http_sd addresses alone, every
// second.
class Prometheus {
public:
    static constexpr const char* kProgram = "/usr/bin/prometheus";
    static bool is_there() { return access(kProgram, X_OK) == 0; }

    // `controllers`: HTTP, host:port. Its files are named after `prefix`.
    Prometheus(const std::vector<std::string>& controllers, const std::string& prefix,
               const Monitoring& files = {})
        : address_(format("127.0.0.1:{}", free_port())) {
        write_file(prefix + ".yml", configuration(controllers, files));
        process_ = std::make_unique<Process>(
            std::vector<std::string>{kProgram, "--config.file=" + prefix + ".yml",
                                     "--storage.tsdb.path=" + prefix + ".tsdb",
                                     "--web.listen-address=" + address_, "--log.level=warn",
                                     // The first notification may come before the way is known.
                                     "--rules.alert.resend-delay=1s"},
            std::vector<std::string>{}, prefix);
    }

    // The series an instant query finds; empty on errors.
    Json query(const std::string& expression) const {
        const auto found = data("/api/v1/query?query=" + url_encoded(expression));
        return found ? (*found)["result"] : Json::array();
    }
    // The series of the last minute; nothing when Prometheus refuses the expression.
    std::optional<Json> query_range(const std::string& expression) const {
        const auto now = std::time(nullptr);
        const auto found = data(format("/api/v1/query_range?query={}&start={}&end={}&step=5",
                                       url_encoded(expression), now - 60, now));
        if (!found) return std::nullopt;
        return (*found)["result"];
    }
    // All rules with what became of their last evaluation.
    std::vector<Json> rules() const {
        std::vector<Json> all;
        const auto found = data("/api/v1/rules");
        for (const Json& group : found ? (*found)["groups"] : Json::array())
            all.insert(all.end(), group["rules"].begin(), group["rules"].end());
        return all;
    }
    static double value_of(const Json& series) {
        return std::stod(series["value"][1].get<std::string>());
    }
    std::string err() const { return process_->err(); }

private:
    static std::string configuration(const std::vector<std::string>& controllers,
                                     const Monitoring& files) {
        std::string text = format("global: {{scrape_interval: {}, evaluation_interval: {}}}\n",
                                  files.interval, files.interval);
        text += files.rules.empty() ? "" : "rule_files:\n";
        for (const std::string& pattern : files.rules)
            text += format("  - {}\n", pattern);
        if (!files.alertmanager.empty())
            text +=
                format("alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{}']}}]}}]}}\n",
                       files.alertmanager);
        const bool secure = !files.tls.empty();
        const std::string tls = secure ? tls_config(files.tls) : "scheme: http";
        text += format("scrape_configs:\n  - job_name: ringmaster\n    {}\n    http_sd_configs:\n",
                       tls);
        for (const std::string& controller : controllers)
            text += format("      - {{url: '{}://{}/api/v1/sd', refresh_interval: 1s{}{}}}\n",
                           secure ? "https" : "http", controller, secure ? ", " : "",
                           secure ? tls : "");
        return text;
    }
    static std::string tls_config(const std::string& viewer) {
        return format("tls_config: {{ca_file: {}/ca.crt, cert_file: {}.crt, key_file: {}.key}}",
                      viewer.substr(0, viewer.rfind('/')), viewer, viewer);
    }
    std::optional<Json> data(const std::string& path) const {
        Json parsed = Json::parse(http_get(address_, path), nullptr, false);
        if (!parsed.is_object() || parsed.value("status", "") != "success") return std::nullopt;
        return parsed["data"];
    }

    const std::string address_;
    std::unique_ptr<Process> process_;
};

}  // namespace rm::e2e
