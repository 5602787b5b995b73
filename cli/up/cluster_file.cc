#include "cli/up/cluster_file.h"

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/random.h"
#include "service/address.h"
#include "service/state_dir.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

std::string path_in(const std::string& state_dir) {
    return state_dir + "/ringmaster.json";
}

bool is_alive(pid_t pid) {
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

namespace fs = std::filesystem;

constexpr std::size_t kSocketPath = 107;
constexpr std::string_view kSocketName = "/controller.sock";
constexpr std::size_t kLinkName = sizeof("/ringmaster/01234567");

bool fits(const std::string& directory, std::size_t more) {
    return directory.size() + more + kSocketName.size() <= kSocketPath;
}

std::string hash_of(const std::string& text) {
    std::uint64_t hash = text.size();
    for (const unsigned char c : text)
        hash = mix64(hash ^ c);
    return format("{:08x}", hash & 0xffffffff);
}

// Creates the directory; accepts an existing one that belongs to this user and is closed to others.
Status make_private_dir(const std::string& path) {
    if (mkdir(path.c_str(), 0700) == 0) return {};
    struct stat found {};
    if (errno != EEXIST || lstat(path.c_str(), &found) != 0) {
        return make_error(ErrorCode::internal, "cannot make {}: {}", path, std::strerror(errno));
    }
    const bool ours =
        S_ISDIR(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & 077) == 0;
    if (ours) return {};
    return make_error(
        ErrorCode::permission_denied,
        "{} must be a directory of this user with mode 0700 for the sockets; remove it, "
        "or give --state a shorter path",
        path);
}

Result<ClusterFile> running_cluster(const std::string& state_dir) {
    const auto text = read_small_file(path_in(state_dir));
    if (!text && text.error().code == ErrorCode::not_found) {
        return make_error(
            ErrorCode::not_found,
            "{} is not a state directory of `ringmaster up`: it has no ringmaster.json", state_dir);
    }
    if (!text) return text.error();
    auto cluster = parse_cluster_file(*text);
    if (!cluster) {
        return make_error(cluster.error().code, "{}: {}", path_in(state_dir),
                          cluster.error().message);
    }
    if (is_alive(cluster->pid)) return *std::move(cluster);
    return make_error(
        ErrorCode::unavailable,
        "the cluster in {} is not running; `ringmaster up --state {}` brings it up again "
        "with its history",
        state_dir, state_dir);
}

}  // namespace

std::string to_json(const ClusterFile& cluster) {
    Json daemons = Json::array();
    for (const DaemonRecord& daemon : cluster.daemons) {
        daemons.push_back({{"name", daemon.name}, {"pid", daemon.pid}, {"http", daemon.http}});
    }
    const Json file = {{"pid", cluster.pid},
                       {"address", cluster.address},
                       {"grpc", cluster.grpc},
                       {"socket_dir", cluster.socket_dir},
                       {"daemons", daemons}};
    return file.dump(2) + "\n";
}

Result<ClusterFile> parse_cluster_file(const std::string& text) {
    try {
        const Json file = Json::parse(text);
        ClusterFile cluster;
        cluster.pid = file.at("pid");
        cluster.address = file.at("address");
        cluster.grpc = file.at("grpc").get<std::vector<std::string>>();
        cluster.socket_dir = file.at("socket_dir");
        for (const Json& daemon : file.at("daemons")) {
            cluster.daemons.push_back({daemon.at("name"), daemon.at("pid"), daemon.at("http")});
        }
        return cluster;
    } catch (const Json::exception& error) {
        return make_error(ErrorCode::data_loss, "not a ringmaster.json of `ringmaster up`: {}",
                          error.what());
    }
}

Status write_cluster_file(const std::string& state_dir, const ClusterFile& cluster) {
    return write_file_atomically(path_in(state_dir), to_json(cluster));
}

Result<std::string> address_of_cluster(const std::string& state_dir) {
    RM_TRY(const ClusterFile cluster, running_cluster(state_dir));
    return cluster.address;
}

Result<std::string> http_of_cluster(const std::string& state_dir) {
    RM_TRY(const ClusterFile cluster, running_cluster(state_dir));
    const bool serves = !cluster.daemons.empty() && !cluster.daemons.front().http.empty();
    if (serves) return cluster.daemons.front().http;
    return make_error(ErrorCode::failed_precondition,
                      "the cluster in {} serves no HTTP; `ringmaster up --state {} --listen "
                      "127.0.0.1:0` brings it up with it",
                      state_dir, state_dir);
}

Result<ClusterPaths> make_cluster_paths(const std::string& state_dir, const Lookup& environment) {
    if (fits(state_dir, 0)) return ClusterPaths{state_dir, state_dir};
    const auto runtime = environment("XDG_RUNTIME_DIR");
    const std::string base = runtime && fits(*runtime, kLinkName)
                                 ? *runtime + "/ringmaster"
                                 : format("/tmp/ringmaster-{}", geteuid());
    RM_RETURN_IF_ERROR(make_private_dir(base));
    const std::string link = base + "/" + hash_of(state_dir);
    std::error_code failure;
    if (fs::read_symlink(link, failure) == state_dir) return ClusterPaths{state_dir, link};
    fs::remove(link, failure);
    fs::create_directory_symlink(state_dir, link, failure);
    if (!failure) return ClusterPaths{state_dir, link};
    return make_error(ErrorCode::internal, "cannot link {} to {}: {}", link, state_dir,
                      failure.message());
}

Result<std::string> http_beside(const std::string& listen) {
    RM_TRY(HostPort address, parse_loopback(listen));
    if (address.port == 65535) {
        return invalid_argument("--listen {}: HTTP would be at port 65536; give --http HOST:PORT",
                                listen);
    }
    if (address.port != 0) ++address.port;
    return to_string(address);
}

}  // namespace rm
