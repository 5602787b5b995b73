#include "cli/up/observer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/os/unique_fd.h"
#include "cli/up/prometheus_rules.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "/usr/bin/prometheus";
constexpr Seconds kPoll{0.05};

Status write_text(const fs::path& path, std::string_view text) {
    std::ofstream file(path);
    file << text << std::flush;
    if (file) return {};
    return make_error(ErrorCode::unavailable, "cannot write {}", path.string());
}

Status write_rules(const fs::path& directory) {
    std::error_code failure;
    fs::create_directories(directory / "rules", failure);
    if (failure) {
        return make_error(ErrorCode::unavailable, "cannot make {}: {}", directory.string(),
                          failure.message());
    }
    for (const RuleFile& file : kPrometheusRules)
        RM_RETURN_IF_ERROR(write_text(directory / "rules" / file.name, file.text));
    return {};
}

// A port that is free now: Prometheus does not say which one it got.
Result<int> free_port() {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool bound = socket && ::bind(socket.get(), generic, size) == 0 &&
                       ::getsockname(socket.get(), generic, &size) == 0;
    if (bound) return int{ntohs(address.sin_port)};
    return make_error(ErrorCode::unavailable, "no port of 127.0.0.1 is free for Prometheus");
}

}  // namespace

std::string prometheus_config(const std::string& http) {
    return format(
        "global: {{scrape_interval: 5s, evaluation_interval: 5s}}\n"
        "rule_files: ['rules/*.yml']\n"
        "scrape_configs:\n"
        "  - job_name: ringmaster\n"
        "    http_sd_configs:\n"
        "      - url: http://{}/api/v1/sd\n"
        "        refresh_interval: 5s\n",
        http);
}

Result<Observer> Observer::start(const std::string& directory, const std::string& http) {
    if (::access(kProgram, X_OK) != 0) {
        return make_error(ErrorCode::not_found,
                          "there is no {}; install the package prometheus, or leave out --observe",
                          kProgram);
    }
    const fs::path folder = fs::absolute(directory);
    RM_RETURN_IF_ERROR(write_rules(folder));
    RM_RETURN_IF_ERROR(write_text(folder / "prometheus.yml", prometheus_config(http)));
    RM_TRY(const int port, free_port());
    const std::string address = format("127.0.0.1:{}", port);
    RM_TRY(DaemonProcess process,
           DaemonProcess::start({"prometheus",
                                 {kProgram, "--config.file=" + (folder / "prometheus.yml").string(),
                                  "--storage.tsdb.path=" + (folder / "data").string(),
                                  "--web.listen-address=" + address, "--log.level=warn"},
                                 (folder / "prometheus.log").string()}));
    return Observer(std::move(process), address);
}

void Observer::stop(Seconds limit) {
    process_.signal(SIGTERM);
    for (Seconds waited; !process_.ended() && waited < limit; waited += kPoll)
        ::usleep(static_cast<useconds_t>(kPoll.value * 1e6));
}

}  // namespace rm
