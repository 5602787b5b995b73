#include "cli/up/cluster_file.h"

#include <nlohmann/json.hpp>

#include <csignal>

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
    const auto text = read_small_file(path_in(state_dir));
    if (!text && text.error().code == ErrorCode::not_found) {
        return make_error(
            ErrorCode::not_found,
            "{} is not a state directory of `ringmaster up`: it has no ringmaster.json", state_dir);
    }
    if (!text) return text.error();
    const auto cluster = parse_cluster_file(*text);
    if (!cluster) {
        return make_error(cluster.error().code, "{}: {}", path_in(state_dir),
                          cluster.error().message);
    }
    if (is_alive(cluster->pid)) return cluster->address;
    return make_error(
        ErrorCode::unavailable,
        "the cluster in {} is not running; `ringmaster up --state {}` brings it up again "
        "with its history",
        state_dir, state_dir);
}

}  // namespace rm
