#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// A small part of YAML as a tree with places: maps with plain keys, sequences and text. Features
// that settings do not need or that surprise (duplicate keys, anchors, aliases, merge keys, tags,
// several documents) are errors here.
namespace rm {

struct YamlPlace {
    int line = 1;  // both from 1
    int column = 1;
    std::string_view origin = {};  // its source, if that is not the file: "--set seed=1"
};

struct YamlEntry;

struct YamlNode {
    enum class Kind { null, text, sequence, map };
    Kind kind = Kind::null;
    YamlPlace place;
    std::string text;                // of a text; the reader distinguishes numbers and words
    std::vector<YamlNode> items;     // of a sequence
    std::vector<YamlEntry> entries;  // of a map, in the order of the file

    const YamlEntry* find(std::string_view key) const;  // of a map; null: not there
};

struct YamlEntry {
    std::string key;
    YamlPlace place;  // of the key
    YamlNode value;
};

// "file:line:column: message", or "origin: message", as INVALID_ARGUMENT.
Error error_at(std::string_view file_name, YamlPlace place, std::string_view message);

// Puts `value` where `path` ("stages.0.batch", "stages[0].batch") leads, creating missing maps.
// Keys created on the way get the place of `value`.
Status set_value(YamlNode& root, std::string_view path, YamlNode value);

// Says of the node and all below it where they come from.
void set_origin(YamlNode& node, std::string_view origin);

// One document, UTF-8, at most 1 MiB and 16 levels. An empty text is a null node.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view file_name);
// Errors: also NOT_FOUND.
Result<YamlNode> read_yaml_file(const std::string& path);

}  // namespace rm
