#include "service/job_file/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "base/units.h"

namespace rm {
namespace {

constexpr std::size_t kMaxText = 1024 * 1024;
constexpr std::size_t kMaxLevels = 16;

YamlPlace place_of(const YAML::Mark& mark) {
    return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
}

// An error of ours about a document, thrown as the parser throws its own.
struct Refused : YAML::ParserException {
    using YAML::ParserException::ParserException;
};

// Builds the tree from the parser's events.
class TreeBuilder final : public YAML::EventHandler {
public:
    YamlNode take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (std::exchange(seen_document_, true)) {
            refuse(mark, "a second document begins here; keep one");
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        check(mark, "", anchor);
        if (expects_key()) refuse(mark, "the key is empty");
        place_value({.kind = YamlNode::Kind::null, .place = place_of(mark)});
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        refuse(mark, "aliases are not read; write the value again");
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        check(mark, tag, anchor);
        if (value.find('\0') != std::string::npos) refuse(mark, "the text has a zero byte in it");
        if (expects_key()) return add_key(mark, value);
        place_value({.kind = YamlNode::Kind::text, .place = place_of(mark), .text = value});
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, YamlNode::Kind::sequence);
    }
    void OnSequenceEnd() override { open_.pop_back(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, YamlNode::Kind::map);
    }
    void OnMapEnd() override { open_.pop_back(); }

private:
    // A map or sequence that is still open. Its node does not move: no sibling is added until it
    // ends.
    struct Open {
        YamlNode* node;
        bool has_key = false;                       // of a map: its value comes next
        std::unordered_set<std::string> keys = {};  // of a map, so far
    };

    [[noreturn]] static void refuse(const YAML::Mark& mark, const std::string& why) {
        throw Refused(mark, why);
    }

    static void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        if (anchor != YAML::NullAnchor) refuse(mark, "anchors are not read; remove the '&' word");
        // "?" is a plain text's own tag, "!" a quoted one's.
        if (!tag.empty() && tag != "?" && tag != "!") {
            refuse(mark, format("tags are not read; remove '{}'", tag));
        }
    }

    bool expects_key() const {
        return !open_.empty() && open_.back().node->kind == YamlNode::Kind::map &&
               !open_.back().has_key;
    }

    void add_key(const YAML::Mark& mark, const std::string& key) {
        if (key == "<<") refuse(mark, "merge keys are not read; write the values again");
        YamlNode& map = *open_.back().node;
        if (!open_.back().keys.insert(key).second) {
            const YamlPlace first = map.find(key)->place;
            refuse(mark, format("{}: the key is already given at line {}, column {}; keep one", key,
                                first.line, first.column));
        }
        map.entries.push_back({.key = key, .place = place_of(mark)});
        open_.back().has_key = true;
    }

    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              YamlNode::Kind kind) {
        check(mark, tag, anchor);
        if (expects_key()) refuse(mark, "a key must be a word");
        if (open_.size() == kMaxLevels) {
            refuse(mark, format("nested deeper than {} levels", kMaxLevels));
        }
        YamlNode& placed = place_value({.kind = kind, .place = place_of(mark)});
        open_.push_back({.node = &placed});
    }

    YamlNode& place_value(YamlNode value) {
        if (open_.empty()) return root_ = std::move(value);
        Open& parent = open_.back();
        if (parent.node->kind == YamlNode::Kind::sequence) {
            return parent.node->items.emplace_back(std::move(value));
        }
        parent.has_key = false;
        return parent.node->entries.back().value = std::move(value);
    }

    YamlNode root_;
    std::vector<Open> open_;
    bool seen_document_ = false;
};

// Bytes of the UTF-8 character that begins at `text`, 0 when none does. Overlong forms and
// surrogates are none.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    const bool outside = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
    return overlong || outside ? 0 : length;
}

// The file travels with the job as text, and text on the wire is UTF-8.
Status check_utf8(std::string_view text, std::string_view file_name) {
    YamlPlace place;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text.substr(at));
        if (length == 0 || text[at] == '\0') {
            return error_at(file_name, place, "this byte is not UTF-8 text");
        }
        const bool new_line = text[at] == '\n';
        place = new_line ? YamlPlace{place.line + 1, 1} : YamlPlace{place.line, place.column + 1};
        at += length;
    }
    return {};
}

// The lines of a text by their number, from 1.
class Lines {
public:
    explicit Lines(std::string_view text) {
        for (std::size_t end = 0; end != std::string_view::npos;) {
            end = text.find('\n');
            lines_.push_back(text.substr(0, end));
            text.remove_prefix(std::min(text.size(), lines_.back().size() + 1));
        }
    }
    std::string_view at(int number) const {
        const auto index = usize(number - 1);
        return index < lines_.size() ? lines_[index] : std::string_view();
    }

private:
    std::vector<std::string_view> lines_;
};

// The nearest line up to `place` that a tab indents.
int tab_line(const Lines& lines, YamlPlace place) {
    for (int number = place.line; number > 0; --number) {
        const std::string_view line = lines.at(number);
        const std::string_view blanks = line.substr(0, line.find_first_not_of(" \t"));
        if (blanks.find('\t') != std::string_view::npos) return number;
    }
    return 0;
}

// The nearest line above that is not blank, if it has no colon.
int line_without_colon(const Lines& lines, YamlPlace place) {
    for (int number = place.line; number > 0; --number) {
        const std::string_view line = lines.at(number);
        const std::size_t first = line.find_first_not_of(" -");
        if (first == std::string_view::npos || line[first] == '#') continue;
        if (line.find(':') == std::string_view::npos) return number;
        if (number < place.line) return 0;
    }
    return 0;
}

// Rewords the parser's message for authors of job files.
Error syntax_error(std::string_view text, std::string_view file_name, YamlPlace place,
                   const std::string& words) {
    const auto says = [&words](std::string_view part) {
        return words.find(part) != std::string::npos;
    };
    const Lines lines(text);
    if (const int line = tab_line(lines, place); line > 0) {
        const auto column = static_cast<int>(lines.at(line).find('\t')) + 1;
        return error_at(file_name, {line, column},
                        "a tab indents this line, which YAML forbids; indent with blanks");
    }
    if (says("map value") || says("end of map not found") || says("map key")) {
        if (const int line = line_without_colon(lines, place); line > 0) {
            return error_at(file_name, {line, 1},
                            "this line has no colon; write 'key: value', with a blank after the "
                            "colon");
        }
    }
    if (says("map value"))
        return error_at(file_name, place,
                        "no value can stand here; is the line above indented otherwise, or is a "
                        "text with ': ' in it not in quotes?");
    if (says("end of map flow")) return error_at(file_name, place, "a '{' has no '}'");
    if (says("end of sequence flow")) return error_at(file_name, place, "a '[' has no ']'");
    if (says("block entry"))
        return error_at(file_name, place,
                        "no list item can stand here; put '- ' at the indentation of its list");
    if (says("EOF in scalar")) return error_at(file_name, place, "a quote is not closed");
    return error_at(file_name, place, words);
}

// The next step of a path: a key, or the number of an item.
std::string_view take_set_step(std::string_view& path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    std::string_view step = path.substr(0, end);
    path.remove_prefix(std::min(path.size(), end + 1));
    if (step.ends_with(']')) step.remove_suffix(1);
    return step;
}

Result<YamlNode*> item_at(YamlNode& list, std::string_view step, std::string_view walked) {
    std::size_t index = 0;
    const char* const end = step.data() + step.size();
    const auto [rest, failure] = std::from_chars(step.data(), end, index);
    if (failure == std::errc() && rest == end && index < list.items.size())
        return &list.items[index];
    return invalid_argument("{} has no item '{}'; its items are 0 to {}", walked, step,
                            list.items.size() - 1);
}

YamlNode& entry_at(YamlNode& map, std::string_view key, YamlPlace place) {
    if (map.kind != YamlNode::Kind::map) {
        map = {.kind = YamlNode::Kind::map, .place = place};
    }
    for (YamlEntry& entry : map.entries) {
        if (entry.key != key) continue;
        entry.place = place;
        return entry.value;
    }
    map.entries.push_back({.key = std::string(key), .place = place});
    return map.entries.back().value;
}

}  // namespace

Status set_value(YamlNode& root, std::string_view path, YamlNode value) {
    const YamlPlace place = value.place;
    const std::string_view whole = path;
    YamlNode* at = &root;
    while (!path.empty()) {
        std::string_view walked = whole.substr(0, whole.size() - path.size());
        if (!walked.empty()) walked.remove_suffix(1);
        const std::string_view step = take_set_step(path);
        if (step.empty()) continue;  // "stages[0].batch" has a dot behind the bracket
        if (at->kind == YamlNode::Kind::sequence) {
            RM_TRY(at, item_at(*at, step, walked));
        } else {
            at = &entry_at(*at, step, place);
        }
    }
    *at = std::move(value);
    return {};
}

const YamlEntry* YamlNode::find(std::string_view key) const {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [key](const YamlEntry& entry) { return entry.key == key; });
    return found == entries.end() ? nullptr : &*found;
}

Error error_at(std::string_view file_name, YamlPlace place, std::string_view message) {
    if (!place.origin.empty()) return invalid_argument("{}: {}", place.origin, message);
    return invalid_argument("{}:{}:{}: {}", file_name, place.line, place.column, message);
}

void set_origin(YamlNode& node, std::string_view origin) {
    node.place.origin = origin;
    for (YamlNode& item : node.items)
        set_origin(item, origin);
    for (YamlEntry& entry : node.entries) {
        entry.place.origin = origin;
        set_origin(entry.value, origin);
    }
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view file_name) {
    if (text.size() > kMaxText) {
        return error_at(file_name, {},
                        format("the file has {}; at most {} are read",
                               Bytes{static_cast<std::int64_t>(text.size())}, Bytes{kMaxText}));
    }
    RM_RETURN_IF_ERROR(check_utf8(text, file_name));
    std::istringstream input{std::string(text)};
    TreeBuilder builder;
    try {
        YAML::Parser parser(input);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Refused& e) {
        return error_at(file_name, place_of(e.mark), e.msg);
    } catch (const YAML::Exception& e) {
        return syntax_error(text, file_name, place_of(e.mark), e.msg);
    }
    return builder.take();
}

Result<YamlNode> read_yaml_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return make_error(ErrorCode::not_found, "{}: cannot be read", path);
    return parse_yaml(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

}  // namespace rm
