#include "cli/show/table.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "cli/show/text.h"

namespace rm {
namespace {

// Code points, not bytes: names and causes may hold UTF-8. Wide characters count as one.
std::size_t display_width(std::string_view text) {
    return usize(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

std::string shown(const Cell& cell) {
    if (cell.text.empty()) return "-";
    std::string text = cell.text;  // shown without line breaks
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::replace(text.begin(), text.end(), '\t', ' ');
    return printable(text);
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

struct LineWriter {
    const Output& out;
    std::string line;
    std::size_t pending = 0;  // blanks that are written only when text follows

    void put(const std::string& text, Color color, Align align, std::size_t width) {
        const std::size_t padding = width - std::min(width, display_width(text));
        if (align == Align::right) pending += padding;
        line.append(pending, ' ');
        line += out.paint(text, color);
        pending = (align == Align::left ? padding : 0) + 2;
    }
};

}  // namespace

void Table::add(std::vector<Cell> row) {
    RM_CHECK(row.size() == columns_.size(), "a row of {} cells in a table of {} columns",
             row.size(), columns_.size());
    rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
    std::vector<std::size_t> widths;
    for (const Column& column : columns_)
        widths.push_back(display_width(printable(column.name)));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(shown(row[i])));
        }
    }
    return widths;
}

std::vector<bool> Table::kept_columns(const std::vector<std::size_t>& widths,
                                      std::size_t room) const {
    std::vector<bool> kept(columns_.size(), true);
    std::size_t needed = 2 * columns_.size() - std::min<std::size_t>(2, 2 * columns_.size());
    for (const std::size_t width : widths)
        needed += width;
    while (needed > room) {
        std::size_t last = columns_.size();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool spared = kept[i] && columns_[i].spare > 0;
            if (spared && (last == columns_.size() || columns_[i].spare > columns_[last].spare))
                last = i;
        }
        if (last == columns_.size()) break;
        kept[last] = false;
        needed -= widths[last] + 2;
    }
    return kept;
}

void Table::print(const Output& out, std::string_view indent) const {
    const std::vector<std::size_t> width = widths();
    const auto room = usize(std::max(1, out.width)) - 1;
    const std::vector<bool> kept = out.terminal
                                       ? kept_columns(width, room - std::min(room, indent.size()))
                                       : std::vector<bool>(columns_.size(), true);
    const auto print_line = [&](const auto& cell_of) {
        LineWriter writer{out, std::string(indent)};
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const auto [text, color] = cell_of(i);
            if (kept[i]) writer.put(text, color, columns_[i].align, width[i]);
        }
        out.stream << writer.line << '\n';
    };
    print_line([&](std::size_t i) { return std::pair(printable(columns_[i].name), Color::dim); });
    for (const auto& row : rows_)
        print_line([&](std::size_t i) { return std::pair(shown(row[i]), row[i].color); });
    std::string left_out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (!kept[i]) left_out += (left_out.empty() ? "" : ", ") + columns_[i].name;
    }
    if (!left_out.empty()) {
        out.stream << indent
                   << out.paint("(too narrow for " + printable(left_out) + ")", Color::dim) << '\n';
    }
}

void Table::print_csv(std::ostream& out) const {
    out << join(columns_, ",", [](const Column& column) { return csv_field(column.name); }) << '\n';
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << (i == 0 ? "" : ",") << csv_field(row[i].text);
        out << '\n';
    }
}

}  // namespace rm
