#include "worker/daemon/identity.h"

#include <nlohmann/json.hpp>

#include "service/state_dir.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

using nlohmann::json;

Result<Identity> make_identity(const std::string& path) {
    RM_TRY(std::string uuid, read_text_file("/proc/sys/kernel/random/uuid"));
    uuid.erase(uuid.find_last_not_of('\n') + 1);
    Identity identity{.node = {std::move(uuid)}};
    RM_RETURN_IF_ERROR(save_identity(path, identity));
    return identity;
}

}  // namespace

Result<Identity> load_identity(const std::string& path) {
    const Result<std::string> text = read_small_file(path);
    if (!text && text.error().code == ErrorCode::not_found) return make_identity(path);
    if (!text) return text.error();
    try {
        const json value = json::parse(*text);
        return Identity{.node = {value.at("node_id").get<std::string>()},
                        .cluster = {value.at("cluster_id").get<std::string>()},
                        .highest_epoch = {value.at("highest_epoch").get<std::int64_t>()}};
    } catch (const json::exception& error) {
        return make_error(ErrorCode::data_loss,
                          "{} cannot be read: {}; a new state directory makes a new node", path,
                          error.what());
    }
}

Status save_identity(const std::string& path, const Identity& identity) {
    const json value = {{"node_id", identity.node.value},
                        {"cluster_id", identity.cluster.value},
                        {"highest_epoch", identity.highest_epoch.value}};
    return write_file_atomically(path, value.dump());
}

}  // namespace rm
