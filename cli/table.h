#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace rm {

enum class Align { left, right };

struct Column {
    std::string name;
    Align align = Align::left;
};

struct Cell {
    std::string text;
    Color color = Color::none;

    Cell(std::string text_) : text(std::move(text_)) {}  // NOLINT(google-explicit-constructor)
    Cell(const char* text_) : text(text_) {}             // NOLINT(google-explicit-constructor)
    Cell(std::string text_, Color color_) : text(std::move(text_)), color(color_) {}
};

// Rows under named columns, each as wide as its widest cell, two blanks between them and none at
// the end of a line, so that the lines are the same on a terminal and in a pipe. Empty cells print
// as '-'.
class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<Cell> row);  // one cell per column
    void print(const Output& out, std::string_view indent = "") const;
    void print_csv(std::ostream& out) const;  // RFC 4180 but for plain \n; names first

private:
    std::vector<std::size_t> widths() const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace rm
