#include "cli/table.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

// Code points, not bytes: names and causes may hold UTF-8. Wide characters count as one.
std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

std::string shown(const Cell& cell) {
    if (cell.text.empty()) return "-";
    std::string text = cell.text;  // a line of a table stays a line
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return text;
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
        widths.push_back(display_width(column.name));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(shown(row[i])));
        }
    }
    return widths;
}

void Table::print(const Output& out, std::string_view indent) const {
    const std::vector<std::size_t> width = widths();
    LineWriter head{out, std::string(indent)};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        head.put(columns_[i].name, Color::dim, columns_[i].align, width[i]);
    }
    out.stream << head.line << '\n';
    for (const auto& row : rows_) {
        LineWriter writer{out, std::string(indent)};
        for (std::size_t i = 0; i < row.size(); ++i) {
            writer.put(shown(row[i]), row[i].color, columns_[i].align, width[i]);
        }
        out.stream << writer.line << '\n';
    }
}

void Table::print_csv(std::ostream& out) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        out << (i == 0 ? "" : ",") << csv_field(columns_[i].name);
    }
    out << '\n';
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << (i == 0 ? "" : ",") << csv_field(row[i].text);
        out << '\n';
    }
}

}  // namespace rm
