#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "service/job_file/yaml_tree.h"
#include "spec/member.h"

// A map of a file as a table: each key with the reader that puts its value where it belongs. Errors
// name file, place, key path and what would be right.
namespace rm {

// The place of a value: its key path ("stages[1].batch") and its node.
struct YamlValue {
    std::string_view file_name;
    std::string path;
    const YamlNode& node;
    YamlPlace key_place;  // of its key; of an item of a sequence the item's own

    Error error(std::string_view message) const;  // at the value, or its key if it has none
};

using YamlReader = std::function<Status(const YamlValue&)>;

struct YamlField {
    std::string_view key;
    YamlReader read;
    Presence presence = Presence::optional;
};

// Reads a map whose every key must be in `fields` and that must have every required field. Reports
// all faults as one Error of several lines.
Status read_map(const YamlValue& value, const std::vector<YamlField>& fields);
// `read_item` for each item of a sequence that has at least one.
Status read_sequence(const YamlValue& value, const YamlReader& read_item);
// Joins the errors of several values: their messages, one per line.
class YamlFaults {
public:
    void add(const Status& status);
    Status all() const;

private:
    std::string lines_;
};

// The word itself when the value is a text.
bool is_word(const YamlNode& node, std::string_view word);

// Readers of one value. The target outlives the reader.
YamlReader read_text(std::string& target);
YamlReader read_number(double& target);  // finite
YamlReader read_whole(int& target);
YamlReader read_whole(std::uint64_t& target);
YamlReader read_count(std::int64_t& target, Suffix suffix);  // see parse_count
YamlReader read_bytes(Bytes& target);                        // see parse_bytes
YamlReader read_steps(std::int64_t& target);                 // "10 steps"
YamlReader read_duration(Seconds& target);                   // see parse_seconds
YamlReader read_path(std::string& target, const std::string& base_directory);

// Names, in one sentence, the job file's key for another trainer's `key` (lr, cp, epochs, wandb).
// Nothing for a word that none of them has.
std::optional<std::string> foreign_key(std::string_view key);

}  // namespace rm
