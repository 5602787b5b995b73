#include "service/daemon/config_file.h"

#include <CLI/CLI.hpp>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/stlemitter.h>

#include <iterator>
#include <memory>
#include <vector>

#include "base/format.h"
#include "base/words.h"
#include "service/job_file/yaml_fields.h"
#include "service/job_file/yaml_tree.h"

namespace rm {
namespace {

constexpr const char* kConfig = "--config";
constexpr const char* kPrintConfig = "--print-config";

bool is_key(const CLI::Option& option) {
    return option.get_configurable() && !option.get_lnames().empty();
}
bool is_flag(const CLI::Option& option) {
    return option.get_items_expected_max() == 0;
}
bool is_list(const CLI::Option& option) {
    return option.get_items_expected_max() > 1;
}

std::vector<std::string_view> known_keys(const CLI::App& app) {
    std::vector<std::string_view> keys;
    for (const CLI::Option* option : app.get_options(nullptr)) {
        if (is_key(*option)) keys.push_back(option->get_lnames().front());
    }
    return keys;
}

std::string unknown_key(const CLI::App& app, const std::string& key) {
    if (app.get_option_no_throw("--" + key) != nullptr)
        return format("'{}' is no key: it is an option of the command line only", key);
    const std::string what = format("unknown key '{}'", key);
    const auto likely = likely_word(key, known_keys(app));
    if (likely) return format("{}; did you mean '{}'?", what, *likely);
    return format("{}; `{} --help` lists the options, whose names are the keys", what,
                  app.get_name());
}

// The words of the option's check; empty: it accepts the text. An option of ours has one at most.
std::string fault_of(CLI::Option& option, std::string text) {
    try {
        return (*option.get_validator())(text);
    } catch (const CLI::OptionNotFound&) {
        return "";
    }
}

// Reads the values of one key.
class Values {
public:
    Values(CLI::Option& option, const YamlValue& at) : option_(option), at_(at) {}

    Result<std::vector<std::string>> read() const {
        const YamlNode& node = at_.node;
        if (node.kind == YamlNode::Kind::sequence) return read_list(node);
        RM_TRY(std::string text, read_text(at_));
        return std::vector{std::move(text)};
    }

private:
    std::string_view wanted() const { return is_flag(option_) ? "true or false" : "a text"; }

    Result<std::vector<std::string>> read_list(const YamlNode& node) const {
        if (!is_list(option_)) return at_.error(format("a list; it must be {}", wanted()));
        if (node.items.empty()) return at_.error("an empty list; leave out the key instead");
        std::vector<std::string> texts;
        for (const YamlNode& item : node.items) {
            RM_TRY(std::string text, read_text({at_.file_name, at_.path, item, item.place}));
            texts.push_back(std::move(text));
        }
        return texts;
    }

    Result<std::string> read_text(const YamlValue& at) const {
        const std::string& text = at.node.text;
        switch (at.node.kind) {
            case YamlNode::Kind::null:
                return at.error(format("no value; it must be {}", wanted()));
            case YamlNode::Kind::map:
            case YamlNode::Kind::sequence:
                return at.error(format("not a single value; it must be {}", wanted()));
            case YamlNode::Kind::text:
                break;
        }
        if (is_flag(option_) && text != "true" && text != "false")
            return at.error(format("'{}' must be true or false", text));
        const std::string fault = fault_of(option_, text);
        if (!fault.empty()) return at.error(fault);
        return text;
    }

    CLI::Option& option_;
    const YamlValue& at_;
};

// Connects the library's settings with files of ours.
class YamlConfig final : public CLI::Config {
public:
    explicit YamlConfig(CLI::App& app) : app_(app) {}

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        const std::string text{std::istreambuf_iterator<char>(input), {}};
        const auto items = read(text, app_.get_config_ptr()->results().front());
        // The library lets --help and --version go before this kind of error.
        if (!items) throw CLI::FileError(items.error().message);
        return *items;
    }

    std::string to_config(const CLI::App* app, bool /*default_also*/, bool /*write_description*/,
                          std::string /*prefix*/) const override {
        YAML::Emitter out;
        out << YAML::BeginMap;
        for (const CLI::Option* option : app->get_options(nullptr)) {
            const std::vector<std::string> values = values_of(*option);
            if (values.empty()) continue;
            out << YAML::Key << option->get_lnames().front() << YAML::Value;
            if (is_list(*option)) {
                out << YAML::Flow << values;
            } else {
                out << values.front();
            }
        }
        out << YAML::EndMap;
        return std::string(out.c_str()) + "\n";
    }

private:
    Result<std::vector<CLI::ConfigItem>> read(const std::string& text,
                                              const std::string& file) const {
        RM_TRY(const YamlNode root, parse_yaml(text, file));
        std::vector<CLI::ConfigItem> items;
        if (root.kind == YamlNode::Kind::null) return items;
        if (root.kind != YamlNode::Kind::map)
            return error_at(file, root.place, "expected keys with values, such as `state: DIR`");
        YamlFaults faults;
        for (const YamlEntry& entry : root.entries)
            faults.add(add(entry, file, items));
        RM_RETURN_IF_ERROR(faults.all());
        return items;
    }

    Status add(const YamlEntry& entry, const std::string& file,
               std::vector<CLI::ConfigItem>& items) const {
        CLI::Option* const option = app_.get_option_no_throw("--" + entry.key);
        if (option == nullptr || !is_key(*option))
            return error_at(file, entry.place, unknown_key(app_, entry.key));
        const YamlValue at{file, entry.key, entry.value, entry.place};
        RM_TRY(std::vector<std::string> values, Values(*option, at).read());
        items.push_back({.parents = {}, .name = entry.key, .inputs = std::move(values)});
        return {};
    }

    static std::vector<std::string> values_of(const CLI::Option& option) {
        if (!is_key(option)) return {};
        if (is_flag(option)) return {option.count() > 0 && option.as<bool>() ? "true" : "false"};
        if (option.count() > 0) return option.results();
        std::string usual = option.get_default_str();
        if (usual.empty()) return {};
        if (!is_list(option)) return {usual};
        return CLI::detail::split(usual.substr(1, usual.size() - 2), ',');  // "[a,b]"
    }

    CLI::App& app_;
};

}  // namespace

void add_config_options(CLI::App& app) {
    app.set_config(kConfig, "",
                   "YAML file with any of these options, by their names without --; an option on "
                   "the command line replaces the file's")
        ->type_name("FILE");
    app.add_flag(kPrintConfig)
        ->description("Print file and options together, as such a file, and exit")
        ->configurable(false);
    app.config_formatter(std::make_shared<YamlConfig>(app));
}

std::optional<std::string> config_to_print(const CLI::App& app) {
    if (app.count(kPrintConfig) == 0) return std::nullopt;
    return app.config_to_str(true);
}

}  // namespace rm
