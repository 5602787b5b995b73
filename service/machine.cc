#include "service/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rm {
namespace {

std::string this_boot() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

std::string joined(const std::string& boot, const std::string& part) {
    return boot.empty() || part.empty() ? "" : boot + "/" + part;
}

}  // namespace

std::string machine_identity() {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) return "";
    return joined(this_boot(), host);
}

std::string network_identity() {
    std::error_code failure;
    const auto link = std::filesystem::read_symlink("/proc/self/ns/net", failure);
    return failure ? "" : joined(this_boot(), link.string());
}

void raise_open_files_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace rm
