#include "service/job_file/yaml_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/words.h"
#include "spec/machine/roots.h"

namespace rm {
namespace {

// The whole text as a number of type T, or false.
template <typename T>
bool parse_all(std::string_view text, T& number) {
    const char* end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    return failure == std::errc() && rest == end;
}

Result<std::string_view> text_of(const YamlValue& value, std::string_view wanted) {
    switch (value.node.kind) {
        case YamlNode::Kind::text:
            return std::string_view(value.node.text);
        case YamlNode::Kind::null:
            return value.error(format("no value; it must be {}", wanted));
        case YamlNode::Kind::sequence:
            return value.error(format("a list; it must be {}", wanted));
        case YamlNode::Kind::map:
            return value.error(format("a map; it must be {}", wanted));
    }
    return value.error(wanted);
}

template <typename T>
YamlReader read_parsed(T& target, std::string_view wanted) {
    return [&target, wanted](const YamlValue& value) -> Status {
        RM_TRY(const std::string_view text, text_of(value, wanted));
        if (parse_all(text, target)) return {};
        return value.error(format("'{}' must be {}", text, wanted));
    };
}

std::string child_path(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : format("{}.{}", path, key);
}

Error unknown_key(const YamlValue& parent, const YamlEntry& entry,
                  const std::vector<YamlField>& fields) {
    std::vector<std::string_view> known;
    std::string list;
    for (const YamlField& field : fields) {
        known.push_back(field.key);
        list += format("{}{}", list.empty() ? "" : ", ", field.key);
    }
    const std::string path = child_path(parent.path, entry.key);
    const bool is_number = entry.key.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && entry.value.kind == YamlNode::Kind::null) {
        return error_at(
            parent.file_name, entry.place,
            format("{}: a comma ends the value before it; write numbers without commas", path));
    }
    if (const auto foreign = foreign_key(entry.key)) {
        return error_at(parent.file_name, entry.place,
                        format("{}: unknown key; {}", path, *foreign));
    }
    const auto likely = likely_word(entry.key, known);
    return error_at(parent.file_name, entry.place,
                    format("{}: unknown key{} (known here: {})", path,
                           likely ? format("; did you mean '{}'?", *likely) : "", list));
}

Error missing_key(const YamlValue& value, std::string_view key) {
    const std::string in = value.path.empty() ? "" : format(" in {}", value.path);
    return error_at(value.file_name, value.node.place,
                    format("required key '{}' is missing{}", key, in));
}

// A map with more unknown keys than this is another program's: the rest is counted, not listed.
constexpr int kMostUnknown = 20;

// Whether an unknown key is probably this one misspelt: then it is not reported as missing.
bool is_misspelt(const YamlValue& value, std::string_view key) {
    return std::any_of(value.node.entries.begin(), value.node.entries.end(),
                       [key](const YamlEntry& entry) {
                           return likely_word(entry.key, std::span(&key, 1)).has_value();
                       });
}

}  // namespace

Error YamlValue::error(std::string_view message) const {
    // The parser reports an absent value at the place of the next token.
    const YamlPlace place = node.kind == YamlNode::Kind::null ? key_place : node.place;
    return error_at(file_name, place,
                    path.empty() ? std::string(message) : format("{}: {}", path, message));
}

Status read_map(const YamlValue& value, const std::vector<YamlField>& fields) {
    if (value.node.kind != YamlNode::Kind::map) {
        return value.error(format("expected a mapping (`{}: ...`)", fields.front().key));
    }
    YamlFaults faults;
    int num_unknown = 0;
    for (const YamlEntry& entry : value.node.entries) {
        const auto field = std::find_if(fields.begin(), fields.end(), [&entry](const YamlField& f) {
            return f.key == entry.key;
        });
        const bool is_unknown = field == fields.end();
        if (is_unknown && ++num_unknown > kMostUnknown) continue;
        faults.add(is_unknown ? Status(unknown_key(value, entry, fields))
                              : field->read({value.file_name, child_path(value.path, entry.key),
                                             entry.value, entry.place}));
    }
    if (num_unknown > kMostUnknown) {
        const std::string in = value.path.empty() ? "" : " in " + value.path;
        return error_at(value.file_name, value.node.place,
                        format("{} unknown keys{}, such as:\n{}", num_unknown, in,
                               faults.all().error().message));
    }
    for (const YamlField& field : fields) {
        const bool is_needed = field.presence == Presence::required;
        if (is_needed && !value.node.find(field.key) && !is_misspelt(value, field.key))
            faults.add(missing_key(value, field.key));
    }
    return faults.all();
}

void YamlFaults::add(const Status& status) {
    if (status) return;
    lines_ += (lines_.empty() ? "" : "\n") + status.error().message;
}

Status YamlFaults::all() const {
    if (lines_.empty()) return {};
    return make_error(ErrorCode::invalid_argument, "{}", lines_);
}

Status read_sequence(const YamlValue& value, const YamlReader& read_item) {
    if (value.node.kind != YamlNode::Kind::sequence || value.node.items.empty()) {
        return value.error("expected a list of one or more items");
    }
    YamlFaults faults;
    for (std::size_t i = 0; i < value.node.items.size(); ++i) {
        const YamlNode& item = value.node.items[i];
        faults.add(read_item({value.file_name, format("{}[{}]", value.path, i), item, item.place}));
    }
    return faults.all();
}

bool is_word(const YamlNode& node, std::string_view word) {
    return node.kind == YamlNode::Kind::text && node.text == word;
}

YamlReader read_text(std::string& target) {
    return [&target](const YamlValue& value) -> Status {
        RM_TRY(const std::string_view text, text_of(value, "a text"));
        target = text;
        return {};
    };
}

YamlReader read_number(double& target) {
    return [&target](const YamlValue& value) -> Status {
        RM_RETURN_IF_ERROR(read_parsed(target, "a number such as 0.1 or 2e-5")(value));
        if (std::isfinite(target)) return {};
        return value.error(format("'{}' must be finite", value.node.text));
    };
}

YamlReader read_whole(int& target) {
    return read_parsed(target, "a whole number");
}

YamlReader read_whole(std::uint64_t& target) {
    return read_parsed(target, "a whole number from 0 to 2^64 - 1");
}

YamlReader read_count(std::int64_t& target, Suffix suffix) {
    return [&target, suffix](const YamlValue& value) -> Status {
        RM_TRY(const std::string_view text, text_of(value, "a number of tokens"));
        const Result<std::int64_t> count = parse_count(text, suffix);
        if (!count) return value.error(count.error().message);
        target = *count;
        return {};
    };
}

YamlReader read_bytes(Bytes& target) {
    return [&target](const YamlValue& value) -> Status {
        RM_TRY(const std::string_view text, text_of(value, "a size such as 40GiB"));
        const Result<Bytes> bytes = parse_bytes(text);
        if (!bytes) return value.error(bytes.error().message);
        target = *bytes;
        return {};
    };
}

YamlReader read_steps(std::int64_t& target) {
    return [&target](const YamlValue& value) -> Status {
        RM_TRY(std::string_view text, text_of(value, "a number of steps such as '10 steps'"));
        for (const std::string_view unit : {" steps", " step"}) {
            if (!text.ends_with(unit)) continue;
            const std::string_view number = text.substr(0, text.size() - unit.size());
            if (parse_all(number, target) && target >= 0) return {};
        }
        return value.error(format("'{}' must be a number of steps such as '10 steps'", text));
    };
}

YamlReader read_duration(Seconds& target) {
    return [&target](const YamlValue& value) -> Status {
        RM_TRY(const std::string_view text, text_of(value, "a duration such as '30 min'"));
        const auto parsed = parse_seconds(text);
        if (!parsed) return value.error(parsed.error().message);
        target = *parsed;
        return {};
    };
}

YamlReader read_path(std::string& target, const std::string& base_directory) {
    return [&target, base_directory](const YamlValue& value) -> Status {
        RM_TRY(const std::string_view text, text_of(value, "a path"));
        if (text.empty()) return value.error("the path is empty");
        const bool keep =
            base_directory.empty() || text.starts_with('/') || parse_root_path(text).has_value();
        target = keep ? std::string(text)
                      : (std::filesystem::path(base_directory) / text).lexically_normal().string();
        return {};
    };
}

}  // namespace rm
