#include "controller/discovery/crusoe_messages.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/words.h"
#include "engine/json/json_object.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

constexpr std::size_t kMaxBytes = 16 << 20;

Result<nlohmann::json> parse(std::string_view body) {
    return within("Crusoe's answer", parse_strict_json(body, kMaxBytes));
}

// Reads each item of one of these lists, of which other versions of the API have another.
template <typename T, typename Read>
Result<std::vector<T>> read_list(const nlohmann::json& answer, std::string_view key,
                                 const Read& read) {
    RM_TRY(const nlohmann::json* list, list_at(answer, key));
    std::vector<T> all;
    for (const nlohmann::json& item : *list) {
        RM_TRY(T value, read(item));
        all.push_back(std::move(value));
    }
    return all;
}

void add_addresses(const nlohmann::json& ip, std::vector<std::string>& own,
                   std::vector<std::string>& others) {
    const auto add = [&ip](const char* key, std::vector<std::string>& to) {
        const auto found = ip.find(key);
        if (found == ip.end() || !found->is_object()) return;
        std::string address = found->value("address", "");
        if (!address.empty()) to.push_back(std::move(address));
    };
    add("private_ipv4", own);
    add("public_ipv4", others);
}

std::vector<std::string> addresses_of(const nlohmann::json& machine) {
    std::vector<std::string> own;
    std::vector<std::string> others;
    for (const nlohmann::json& card : machine.value("network_interfaces", nlohmann::json::array()))
        for (const nlohmann::json& ip : card.value("ips", nlohmann::json::array()))
            add_addresses(ip, own, others);
    own.insert(own.end(), others.begin(), others.end());
    return own;
}

Result<Machine> read_machine(const nlohmann::json& item) {
    Machine machine;
    std::string state;
    RM_RETURN_IF_ERROR(JsonObject::of_file(item)
                           .require("id", machine.id)
                           .require("name", machine.name)
                           .read("type", machine.shape)
                           .read("location", machine.location)
                           .require("state", state)
                           .status());
    machine.state = crusoe_state(state);
    machine.addresses = addresses_of(item);
    return machine;
}

Result<Shape> read_shape(const nlohmann::json& item) {
    Shape shape;
    RM_RETURN_IF_ERROR(JsonObject::of_file(item)
                           .require("product_name", shape.name)
                           .read("gpu_type", shape.gpu)
                           .read("num_gpu", shape.num_gpus)
                           .read("cpu_cores", shape.num_cores)
                           .read("memory_gb", shape.memory_gb)
                           .read("disk_gb", shape.disk_gb)
                           .status());
    return shape;
}

Result<OperationState> operation_state(std::string_view word) {
    if (word.starts_with("STATE_")) word.remove_prefix(6);
    if (word == "IN_PROGRESS") return OperationState::in_progress;
    if (word == "SUCCEEDED") return OperationState::succeeded;
    if (word == "FAILED") return OperationState::failed;
    return data_loss("an operation's state is {}; IN_PROGRESS, SUCCEEDED or FAILED are known",
                     shown_text(word));
}

struct Project {
    std::string id;
    std::string name;
};

Result<Project> read_project(const nlohmann::json& item) {
    Project project;
    RM_RETURN_IF_ERROR(
        JsonObject::of_file(item).require("id", project.id).read("name", project.name).status());
    return project;
}

// Malformed members of an answer throw here, and only here.
template <typename T, typename Read>
Result<T> guarded(const Read& read) {
    try {
        return read();
    } catch (const nlohmann::json::exception& error) {
        return data_loss("Crusoe's answer: {}", error.what());
    }
}

}  // namespace

MachineState crusoe_state(std::string_view word) {
    if (word.starts_with("STATE_")) word.remove_prefix(6);
    if (word == "RUNNING") return MachineState::running;
    const bool ends = word.starts_with("STOP") || word.starts_with("DELET") ||
                      word.starts_with("SHUT") || word.starts_with("TERMINAT");
    return ends ? MachineState::stopped : MachineState::starting;
}

Result<MachinePage> parse_machines(std::string_view body) {
    return guarded<MachinePage>([&]() -> Result<MachinePage> {
        RM_TRY(const nlohmann::json answer, parse(body));
        MachinePage page;
        RM_TRY(page.machines, read_list<Machine>(answer, "items", read_machine));
        RM_RETURN_IF_ERROR(
            JsonObject::of_file(answer).read("next_page_token", page.next_token).status());
        return page;
    });
}

Result<std::vector<Shape>> parse_shapes(std::string_view body) {
    return guarded<std::vector<Shape>>([&]() -> Result<std::vector<Shape>> {
        RM_TRY(const nlohmann::json answer, parse(body));
        return read_list<Shape>(answer, "items", read_shape);
    });
}

Result<CloudOperation> parse_operation(std::string_view body) {
    return guarded<CloudOperation>([&]() -> Result<CloudOperation> {
        RM_TRY(const nlohmann::json answer, parse(body));
        const bool wrapped = answer.is_object() && answer.contains("operation");
        const nlohmann::json& item = wrapped ? answer["operation"] : answer;
        CloudOperation operation;
        std::string state;
        RM_RETURN_IF_ERROR(JsonObject::of_file(item)
                               .require("operation_id", operation.id)
                               .require("state", state)
                               .status());
        RM_TRY(operation.state, operation_state(state));
        const nlohmann::json result = item.value("result", nlohmann::json());
        if (operation.state == OperationState::failed && result.is_object()) {
            operation.code = result.value("code", "");
            operation.message = result.value("message", "");
        }
        return operation;
    });
}

Result<std::string> parse_project(std::string_view body, const std::string& name) {
    return guarded<std::string>([&]() -> Result<std::string> {
        RM_TRY(const nlohmann::json answer, parse(body));
        RM_TRY(const auto all, read_list<Project>(answer, "items", read_project));
        for (const Project& project : all)
            if (project.name == name || (name.empty() && all.size() == 1)) return project.id;
        const std::string names =
            join(all, ", ", [](const Project& project) { return project.name; });
        if (name.empty())
            return invalid_argument(
                "no Crusoe project is named and there are {}: {}; give "
                "--project, or default_project in ~/.crusoe/config",
                all.size(), names);
        return make_error(ErrorCode::not_found, "Crusoe has no project '{}' for this key", name);
    });
}

std::string order_json(const MachineOrder& order) {
    nlohmann::json machine = {{"template_name", order.prefix},
                              {"type", order.shape},
                              {"ssh_public_key", order.ssh_public_key}};
    if (!order.image.empty()) machine["image_name"] = order.image;
    if (!order.startup_script.empty()) machine["startup_script"] = order.startup_script;
    nlohmann::json body = {
        {"count", order.count}, {"name_prefix", order.prefix}, {"instance_template", machine}};
    if (!order.location.empty()) body["locations"] = {{{"location", order.location}}};
    return body.dump();
}

ApiError parse_api_error(std::string_view body) {
    const auto answer = nlohmann::json::parse(body, nullptr, false);
    ApiError error;
    if (!answer.is_object()) return error;
    JsonObject::of_file(answer).read("code", error.code).read("message", error.message);
    return error;
}

}  // namespace rm
