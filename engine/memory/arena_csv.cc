#include "engine/memory/arena_csv.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "base/text.h"

namespace rm {
namespace {

enum Column { id, lower, upper, size, group };
constexpr std::array<std::string_view, 5> kNames = {"id", "lower", "upper", "size", "group"};
constexpr std::size_t kNumNeeded = 4;  // group may be missing

// Splits text into lines, with LF or CRLF ends; omits the empty line after the last newline.
std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines = split(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    for (std::string_view& line : lines) {
        if (line.ends_with('\r')) line.remove_suffix(1);
    }
    return lines;
}

class Parser {
public:
    explicit Parser(std::string_view name) : name_(name) {}

    Result<NamedTrace> parse(std::string_view text) {
        const std::vector<std::string_view> lines = lines_of(text);
        if (lines.empty()) return invalid_argument("{}: empty; {}", name_, kExpected);
        line_ = 1;
        RM_RETURN_IF_ERROR(read_header(split(lines[0], ',')));
        for (std::size_t i = 1; i < lines.size(); ++i) {
            line_ = i + 1;
            RM_RETURN_IF_ERROR(read_row(split(lines[i], ',')));
        }
        return std::move(out_);
    }

private:
    static constexpr std::string_view kExpected =
        "the first line names the columns id, lower, upper, size and, if you like, group";

    Error error(std::string_view pattern, const auto&... args) const {
        return invalid_argument("{}:{}: {}", name_, line_, format(pattern, args...));
    }

    Status read_header(const std::vector<std::string_view>& titles) {
        place_.fill(kNone);
        for (std::size_t i = 0; i < titles.size(); ++i) {
            const auto known = std::find(kNames.begin(), kNames.end(), titles[i]);
            if (known == kNames.end()) {
                return error("column '{}' is not known; {}", titles[i], kExpected);
            }
            std::size_t& place = place_[usize(known - kNames.begin())];
            if (place != kNone) return error("column '{}' is there twice", titles[i]);
            place = i;
        }
        for (std::size_t c = 0; c < kNumNeeded; ++c) {
            if (place_[c] == kNone) return error("no column '{}'; {}", kNames[c], kExpected);
        }
        num_columns_ = titles.size();
        return {};
    }

    Status read_row(const std::vector<std::string_view>& fields) {
        if (fields.size() != num_columns_) {
            return error("{} fields; the first line has {}", fields.size(), num_columns_);
        }
        RM_RETURN_IF_ERROR(read_id(fields[place_[id]]));
        ArenaBlock block;
        constexpr std::int64_t kTime = kMaxArenaTime;
        RM_TRY(block.lower, number(fields, lower, -kTime, kTime));
        RM_TRY(block.upper, number(fields, upper, -kTime, kTime));
        RM_TRY(block.size.value, number(fields, size, 1, kMaxArenaBlock.value));
        if (block.lower >= block.upper) {
            return error("column upper: {} is not above lower, {}", block.upper, block.lower);
        }
        total_ += block.size;
        if (total_ > kMaxArenaTotal) {
            return error("column size: the sizes up to here add up to more than 2^62");
        }
        out_.trace.blocks.push_back(block);
        return read_group(fields);
    }

    Status read_id(std::string_view text) {
        if (text.empty()) return error("column id: empty; every block needs a name");
        const auto [entry, is_new] = line_of_id_.try_emplace(std::string(text), line_);
        if (!is_new) return error("column id: '{}' is line {}'s", text, entry->second);
        out_.ids.emplace_back(text);
        return {};
    }

    Status read_group(const std::vector<std::string_view>& fields) {
        if (place_[group] == kNone) return {};
        std::int64_t value = kNoGroup;
        if (!fields[place_[group]].empty()) {
            RM_TRY(value, number(fields, group, 0, std::numeric_limits<int>::max()));
        }
        out_.trace.groups.push_back(static_cast<int>(value));
        return {};
    }

    Result<std::int64_t> number(const std::vector<std::string_view>& fields, Column column,
                                std::int64_t least, std::int64_t most) const {
        const std::string_view text = fields[place_[column]];
        const auto value = parse_number<std::int64_t>(text);
        if (value && *value >= least && *value <= most) return *value;
        return error("column {}: '{}' is not a whole number from {} to {}", kNames[column], text,
                     least, most);
    }

    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    std::string_view name_;
    std::size_t line_ = 0;
    std::array<std::size_t, kNames.size()> place_{};  // of each known column in the file
    std::size_t num_columns_ = 0;
    Bytes total_;
    std::unordered_map<std::string, std::size_t> line_of_id_;
    NamedTrace out_;
};

}  // namespace

Result<NamedTrace> parse_arena_csv(std::string_view name, std::string_view text) {
    return Parser(name).parse(text);
}

std::string write_arena_csv(const NamedTrace& named, const std::optional<ArenaPlan>& plan) {
    const bool grouped = !named.trace.groups.empty();
    std::string out = "id,lower,upper,size";
    if (grouped) out += ",group";
    out += plan ? ",offset\n" : "\n";
    for (std::size_t i = 0; i < named.ids.size(); ++i) {
        const ArenaBlock& block = named.trace.blocks[i];
        out += format("{},{},{},{}", named.ids[i], block.lower, block.upper, block.size.value);
        if (grouped) {
            const int id = named.trace.groups[i];
            out += id == kNoGroup ? "," : format(",{}", id);
        }
        if (plan) out += format(",{}", plan->offsets[i].value);
        out += '\n';
    }
    return out;
}

}  // namespace rm
