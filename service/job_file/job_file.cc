#include "service/job_file/job_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <optional>
#include <sstream>

#include "base/words.h"
#include "service/job_file/recipes.h"
#include "service/job_file/yaml_fields.h"
#include "service/job_file/yaml_tree.h"
#include "spec/job_members.h"
#include "spec/mesh.h"

namespace rm {
namespace {

// A text that is one of an enum's words.
template <Named E>
YamlReader read_word(E& target) {
    return [&target](const YamlValue& value) -> Status {
        std::string word;
        RM_RETURN_IF_ERROR(read_text(word)(value));
        const Status parsed = parse_name(word, target);
        return parsed ? parsed : value.error(parsed.error().message);
    };
}

// `auto` leaves the target alone; `read` takes anything else.
YamlReader or_auto(const YamlReader& read) {
    return [read](const YamlValue& value) {
        return is_word(value.node, "auto") ? Status() : read(value);
    };
}

YamlReader read_number_or_auto(double& number) {
    return [&number](const YamlValue& value) -> Status {
        if (is_word(value.node, "auto")) {
            number = -1;
            return {};
        }
        RM_RETURN_IF_ERROR(read_number(number)(value));
        return number == -1 ? Status(value.error("-1; write auto")) : Status();
    };
}

// An optional value.
template <typename T>
YamlReader read_maybe(std::optional<T>& target, YamlReader (*reader)(T&)) {
    return [&target, reader](const YamlValue& value) { return reader(target.emplace())(value); };
}

Status read_source(const YamlValue& value, std::vector<DataSource>& sources,
                   const std::string& base_directory) {
    std::string text;
    RM_RETURN_IF_ERROR(read_path(text, base_directory)(value));
    Result<DataSource> source = parse_data_source(text);
    if (!source) return value.error(source.error().message);
    sources.push_back(*std::move(source));
    return {};
}

// One source or a list of them.
YamlReader read_sources(std::vector<DataSource>& sources, const std::string& base_directory) {
    return [&sources, base_directory](const YamlValue& value) {
        const auto read_one = [&](const YamlValue& item) {
            return read_source(item, sources, base_directory);
        };
        if (value.node.kind == YamlNode::Kind::sequence) return read_sequence(value, read_one);
        return read_one(value);
    };
}

// The word `bytes`, or a path.
YamlReader read_tokenizer(std::string& tokenizer, const std::string& base_directory) {
    return [&tokenizer, base_directory](const YamlValue& value) {
        if (is_word(value.node, "bytes")) return read_text(tokenizer)(value);
        return read_path(tokenizer, base_directory)(value);
    };
}

// `positions` only makes sense with separate documents.
Status check_positions(const YamlValue& data, Documents documents) {
    const YamlEntry* positions = data.node.find("positions");
    if (positions == nullptr || documents == Documents::separate) return {};
    return error_at(data.file_name, positions->place,
                    "data.positions: is of separate documents, and these are joined; add "
                    "documents: separate or remove the key");
}

// Places `error` at the value of the axis that it names, or at the mesh.
Error mesh_error(const YamlValue& value, const Error& error) {
    for (const YamlEntry& entry : value.node.entries) {
        const std::string axis = format("{}.{}: ", value.path, entry.key);
        if (error.message.starts_with(axis))
            return error_at(value.file_name, entry.value.place, error.message);
    }
    return error_at(value.file_name, value.node.place, error.message);
}

// `zero` alone leaves the mesh automatic.
YamlReader read_parallel(std::optional<Mesh>& parallel, int& zero) {
    return [&parallel, &zero](const YamlValue& value) -> Status {
        if (value.node.kind != YamlNode::Kind::map) {
            return value.error("must be auto or a map such as {ring: 4, data: 1}");
        }
        std::array<int, 4> sizes = {1, 1, 1, 1};  // data, ring, ulysses, tensor
        int inner_ring = 0;
        RM_RETURN_IF_ERROR(read_map(value, {{"data", read_whole(sizes[0])},
                                            {"ring", read_whole(sizes[1])},
                                            {"inner_ring", read_whole(inner_ring)},
                                            {"ulysses", read_whole(sizes[2])},
                                            {"tensor", read_whole(sizes[3])},
                                            {"zero", read_whole(zero)}}));
        const auto& entries = value.node.entries;
        if (entries.size() == 1 && entries.front().key == "zero") return {};
        const Result<Mesh> mesh = Mesh::make(sizes[0], sizes[1], sizes[2], sizes[3], inner_ring);
        if (!mesh) return mesh_error(value, under_key(mesh.error(), value.path));
        parallel = *mesh;
        return {};
    };
}

// A list whose items `reader_of_item` reads.
template <typename T, typename ReaderOf>
YamlReader read_list(std::vector<T>& items, const ReaderOf& reader_of_item) {
    return [&items, reader_of_item](const YamlValue& value) {
        return read_sequence(value, [&](const YamlValue& item) {
            return reader_of_item(items.emplace_back())(item);
        });
    };
}

// Reads NODE:NUMBER, or NODE for its device 0.
Status read_device(const YamlValue& value, DeviceId& device) {
    std::string text;
    RM_RETURN_IF_ERROR(read_text(text)(value));
    const std::size_t colon = std::min(text.rfind(':'), text.size());
    device.node = {text.substr(0, colon)};
    if (colon == text.size()) return {};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, device.index);
    if (error == std::errc() && stop == end) return {};
    return value.error(format("'{}' is not a device; NODE or NODE:NUMBER", text));
}

YamlReader read_placement(std::vector<DeviceId>& placement) {
    return [&placement](const YamlValue& value) {
        return read_sequence(value, [&placement](const YamlValue& item) {
            return read_device(item, placement.emplace_back());
        });
    };
}

// "10 steps", "10 min" or never.
YamlReader read_interval(std::int64_t& steps, Seconds& time) {
    return [&steps, &time](const YamlValue& value) -> Status {
        const bool by_steps = value.node.kind == YamlNode::Kind::text &&
                              value.node.text.find("step") != std::string::npos;
        if (by_steps || is_word(value.node, "never")) time = {};
        if (is_word(value.node, "never")) return {};
        if (by_steps) return read_steps(steps)(value);
        if (read_duration(time)(value)) return {};
        const bool is_text = value.node.kind == YamlNode::Kind::text;
        return value.error(
            format("{}must be steps such as '10 steps', a time such as '10 min', or never",
                   is_text ? format("'{}' ", value.node.text) : ""));
    };
}

// The members of a described structure as the keys of a map.
class JobFileFields {
public:
    explicit JobFileFields(const std::string& base_directory) : base_directory_(base_directory) {}

    template <typename T>
    void operator()(const Member& member, T& value) {
        add(member, reader_of(member, value));
    }
    void interval(const Member& member, std::int64_t& steps, Seconds& time) {
        add(member, read_interval(steps, time));
    }
    void mesh(const Member& member, std::optional<Mesh>& mesh, int& zero) {
        add(member, read_parallel(mesh, zero));
    }

    template <Described T>
    static Status read(const YamlValue& value, T& target, const std::string& base) {
        JobFileFields keys(base);
        describe(keys, target);
        RM_RETURN_IF_ERROR(read_map(value, keys.fields_));
        if constexpr (std::is_same_v<T, DataSpec>) {
            return check_positions(value, target.documents);
        }
        return {};
    }

private:
    void add(const Member& member, const YamlReader& read) {
        fields_.push_back({member.name, member.automatic ? or_auto(read) : read, member.presence});
    }

    template <Named T>
    YamlReader reader_of(const Member&, T& word) {
        return read_word(word);
    }
    YamlReader reader_of(const Member& member, std::string& text) {
        if (member.written == Written::path) return read_path(text, base_directory_);
        if (member.written == Written::bytes_or_path) return read_tokenizer(text, base_directory_);
        return read_text(text);
    }
    YamlReader reader_of(const Member& member, std::int64_t& count) {
        if (member.written == Written::steps) return read_steps(count);
        const bool is_budget = member.written == Written::budget;
        return read_count(count, is_budget ? Suffix::decimal : Suffix::binary);
    }
    YamlReader reader_of(const Member&, int& number) { return read_whole(number); }
    YamlReader reader_of(const Member&, std::uint64_t& number) { return read_whole(number); }
    YamlReader reader_of(const Member& member, double& number) {
        if (member.written == Written::number_or_auto) return read_number_or_auto(number);
        return read_number(number);
    }
    YamlReader reader_of(const Member&, Seconds& time) { return read_duration(time); }
    YamlReader reader_of(const Member&, std::optional<double>& number) {
        return read_maybe(number, read_number);
    }
    YamlReader reader_of(const Member&, std::optional<Bytes>& size) {
        return read_maybe(size, read_bytes);
    }
    YamlReader reader_of(const Member& member, std::vector<std::int64_t>& counts) {
        const Suffix suffix = member.written == Written::budget ? Suffix::decimal : Suffix::binary;
        return read_list(counts,
                         [suffix](std::int64_t& count) { return read_count(count, suffix); });
    }
    YamlReader reader_of(const Member&, std::vector<std::string>& words) {
        return read_list(words, read_text);
    }
    YamlReader reader_of(const Member&, std::vector<DataSource>& sources) {
        return read_sources(sources, base_directory_);
    }
    YamlReader reader_of(const Member&, std::vector<DeviceId>& devices) {
        return read_placement(devices);
    }
    template <Described T>
    YamlReader reader_of(const Member& member, T& part) {
        return
            [&part, automatic = member.automatic, base = base_directory_](const YamlValue& value) {
                if (automatic && value.node.kind != YamlNode::Kind::map) {
                    return Status(value.error("must be auto or a map such as {chunk: 4096}"));
                }
                return read(value, part, base);
            };
    }
    template <Described T>
    YamlReader reader_of(const Member&, std::vector<T>& items) {
        return [&items, base = base_directory_](const YamlValue& value) {
            return read_sequence(value, [&](const YamlValue& item) {
                return read(item, items.emplace_back(), base);
            });
        };
    }
    const std::string base_directory_;
    std::vector<YamlField> fields_;
};

// The first step of a key path ("stages[1].batch" -> "stages", "[1].batch"; "[1].batch" -> "[1]",
// ".batch" without its point).
std::string_view take_step(std::string_view& path) {
    const std::size_t end = path.starts_with('[') ? path.find(']') + 1 : path.find_first_of(".[");
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(step.size());
    if (path.starts_with('.')) path.remove_prefix(1);
    return step;
}

const YamlNode* child(const YamlNode& node, std::string_view step) {
    if (!step.starts_with('[')) {
        const YamlEntry* entry = node.find(step);
        return entry ? &entry->value : nullptr;
    }
    std::size_t index = 0;
    std::from_chars(step.data() + 1, step.data() + step.size(), index);
    return index < node.items.size() ? &node.items[index] : nullptr;
}

// The place of the deepest key of the file on the key path with which validate()'s message begins.
YamlPlace place_of(const YamlNode& root, std::string_view message) {
    std::string_view path = message.substr(0, message.find_first_of(": "));
    const YamlNode* node = &root;
    while (!path.empty()) {
        const YamlNode* next = child(*node, take_step(path));
        if (!next) break;
        node = next;
    }
    return node->place;
}

// "stages.0.learning_rate=1e-3"; the value is YAML.
Status override_value(YamlNode& root, std::string_view set, std::string_view origin) {
    const std::size_t equals = set.find('=');
    if (equals == 0 || equals == std::string_view::npos)
        return invalid_argument("{}: write KEY=VALUE, such as stages.0.learning_rate=1e-3", origin);
    RM_TRY(YamlNode value, parse_yaml(set.substr(equals + 1), origin));
    set_origin(value, origin);
    return within(origin, set_value(root, set.substr(0, equals), std::move(value)));
}

}  // namespace

Result<JobSpec> parse_job_file(std::string_view text, std::string_view file_name,
                               const std::string& base_directory,
                               std::span<const std::string> overrides) {
    RM_TRY(YamlNode root, parse_yaml(text, file_name));
    RM_RETURN_IF_ERROR(expand_recipe(root, file_name));
    std::deque<std::string> origins;  // the tree has views of them
    for (const std::string& set : overrides)
        RM_RETURN_IF_ERROR(override_value(root, set, origins.emplace_back("--set " + set)));
    JobSpec spec;
    RM_RETURN_IF_ERROR(
        JobFileFields::read({file_name, "", root, root.place}, spec, base_directory));
    if (const Status valid = validate(spec); !valid) {
        YamlFaults faults;
        std::istringstream messages(valid.error().message);
        for (std::string message; std::getline(messages, message);)
            faults.add(error_at(file_name, place_of(root, message), message));
        return faults.all().error();
    }
    return spec;
}

}  // namespace rm
