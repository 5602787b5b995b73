#include "controller/discovery/static_inventory.h"

#include <set>

#include "service/job_file/yaml_fields.h"

namespace rm {
namespace {

Status read_state(const YamlValue& value, MachineState& state) {
    std::string word;
    RM_RETURN_IF_ERROR(read_text(word)(value));
    const auto parsed = parse_word<MachineState>(word);
    if (!parsed) return value.error(parsed.error().message);
    state = *parsed;
    return {};
}

Result<Machine> read_machine(const YamlValue& value) {
    Machine machine;
    std::string address;
    RM_RETURN_IF_ERROR(read_map(
        value, {{"name", read_text(machine.name), Presence::required},
                {"address", read_text(address), Presence::required},
                {"shape", read_text(machine.shape)},
                {"location", read_text(machine.location)},
                {"state", [&](const YamlValue& v) { return read_state(v, machine.state); }}}));
    machine.id = machine.name;
    machine.addresses = {address};
    return machine;
}

Result<std::vector<Machine>> machines_in(const YamlNode& root, std::string_view file_name) {
    std::vector<Machine> machines;
    if (root.kind == YamlNode::Kind::null) return machines;
    std::set<std::string> names;
    const auto take = [&](const YamlValue& value) -> Status {
        RM_TRY(Machine machine, read_machine(value));
        if (!names.insert(machine.name).second)
            return value.error(format("machine '{}' is listed twice", machine.name));
        machines.push_back(std::move(machine));
        return {};
    };
    RM_RETURN_IF_ERROR(read_sequence({file_name, "", root, root.place}, take));
    return machines;
}

class StaticInventory final : public Provider {
public:
    explicit StaticInventory(std::string path) : path_(std::move(path)) {}

    std::string name() const override { return "static"; }
    Result<std::vector<Machine>> list(const std::stop_token&) override {
        RM_TRY(const YamlNode root, read_yaml_file(path_));
        return machines_in(root, path_);
    }

private:
    const std::string path_;
};

}  // namespace

Result<std::vector<Machine>> parse_static_inventory(std::string_view text,
                                                    std::string_view file_name) {
    RM_TRY(const YamlNode root, parse_yaml(text, file_name));
    return machines_in(root, file_name);
}

std::unique_ptr<Provider> make_static_inventory(std::string path) {
    return std::make_unique<StaticInventory>(std::move(path));
}

}  // namespace rm
