#include "worker/daemon/identity.h"

#include <nlohmann/json.hpp>

#include "base/ids.h"
#include "service/security/authenticator.h"
#include "service/security/pki.h"
#include "service/state_dir.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

using nlohmann::json;

Result<NodeId> new_node(const std::string& name) {
    if (!name.empty() && !name.ends_with('*')) return NodeId{name};
    RM_TRY(std::string uuid, read_text_file("/proc/sys/kernel/random/uuid"));
    uuid.erase(uuid.find_last_not_of('\n') + 1);
    return NodeId{name.substr(0, name.find('*')) + uuid};
}

Result<Identity> make_identity(const std::string& path, const std::string& name) {
    Identity identity;
    RM_TRY(identity.node, new_node(name));
    RM_RETURN_IF_ERROR(save_identity(path, identity));
    return identity;
}

Result<Identity> read_identity(const std::string& path, const std::string& text) {
    try {
        const json value = json::parse(text);
        Identity identity{.node = {value.at("node_id").get<std::string>()},
                          .cluster = {value.at("cluster_id").get<std::string>()},
                          .highest_epoch = {value.at("highest_epoch").get<std::int64_t>()}};
        const Epoch epoch = identity.highest_epoch;
        if (epoch.value >= 0 && epoch <= kHighestEpoch) return identity;
        return make_error(
            ErrorCode::data_loss,
            "{} says that node {} has seen epoch {}, which no controller gives out; a "
            "new state directory makes a new node",
            path, identity.node, epoch);
    } catch (const json::exception& error) {
        return make_error(ErrorCode::data_loss,
                          "{} cannot be read: {}; a new state directory makes a new node", path,
                          error.what());
    }
}

}  // namespace

Result<Identity> load_identity(const std::string& path, const std::string& name) {
    const Result<std::string> text = read_small_file(path);
    if (!text && text.error().code == ErrorCode::not_found) return make_identity(path, name);
    if (!text) return text.error();
    RM_TRY(Identity identity, read_identity(path, *text));
    if (name.empty() || speaks_for(name, identity.node.value)) return identity;
    return make_error(ErrorCode::failed_precondition,
                      "this node is '{}' (in {}) and the certificate is for '{}'; issue one with "
                      "--name '{}', or start with another state directory",
                      identity.node, path, name, identity.node);
}

Result<std::string> certified_name(const ClientSecurity& security) {
    if (security.certificate.empty()) return std::string();
    RM_TRY(const std::string pem, read_small_file(security.certificate));
    return name_of(pem);
}

Status save_identity(const std::string& path, const Identity& identity) {
    const json value = {{"node_id", identity.node.value},
                        {"cluster_id", identity.cluster.value},
                        {"highest_epoch", identity.highest_epoch.value}};
    return write_file_atomically(path, value.dump());
}

}  // namespace rm
