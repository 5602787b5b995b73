#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace rm {

enum class Align { left, right };

struct Column {
    std::string name;
    Align align = Align::left;
    int spare = 0;  // on a terminal too narrow for all, columns of the highest number go first
};

inline void keep_all(std::vector<Column>& columns) {
    for (Column& column : columns)
        column.spare = 0;
}

struct Cell {
    std::string text;
    Color color = Color::none;

    Cell(std::string text_) : text(std::move(text_)) {}  // NOLINT(google-explicit-constructor)
    Cell(const char* text_) : text(text_) {}             // NOLINT(google-explicit-constructor)
    Cell(std::string text_, Color color_) : text(std::move(text_)), color(color_) {}
};

// Rows under named columns, each as wide as its widest cell, two blanks between them and none at
// the end of a line. A terminal that is too narrow omits the columns that can be spared, and a last
// line names them. Empty cells print as '-'.
class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<Cell> row);  // one cell per column
    void print(const Output& out, std::string_view indent = "") const;
    void print_csv(std::ostream& out) const;  // RFC 4180 but for plain \n; names first

private:
    std::vector<std::size_t> widths() const;
    std::vector<bool> kept_columns(const std::vector<std::size_t>& widths, std::size_t room) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace rm
