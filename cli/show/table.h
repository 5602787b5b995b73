#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/format.h"
#include "cli/screen/console.h"

namespace rm {

enum class Align { left, right };

struct Column {
    std::string name;
    Align align = Align::left;
    int spare = 0;  // on a terminal too narrow for all, columns of the highest number go first
};

struct Cell {
    std::string text;
    Color color = Color::none;

    Cell(std::string text_) : text(std::move(text_)) {}  // NOLINT(google-explicit-constructor)
    Cell(const char* text_) : text(text_) {}             // NOLINT(google-explicit-constructor)
    template <typename Number>
    requires std::is_arithmetic_v<Number> Cell(Number number)
        : text(format("{}", number)) {}  // NOLINT(google-explicit-constructor)
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

enum class Detail { usual, wide };

// A table described column by column: a function or a member of a row gives each cell.
// A wide table keeps all columns.
template <typename Rows>
class TableOf {
public:
    explicit TableOf(const Rows& rows, Detail detail = Detail::usual)
        : rows_(rows), detail_(detail), cells_(usize(rows.size())) {}

    template <typename CellOf>
    void left(std::string name, const CellOf& cell_of, int spare = 0) {
        add({std::move(name), Align::left, spare}, cell_of);
    }
    template <typename CellOf>
    void right(std::string name, const CellOf& cell_of, int spare = 0) {
        add({std::move(name), Align::right, spare}, cell_of);
    }

    Table done() {
        Table table(std::move(columns_));
        for (std::vector<Cell>& row : cells_)
            table.add(std::move(row));
        return table;
    }

private:
    template <typename CellOf>
    void add(Column column, const CellOf& cell_of) {
        if (detail_ == Detail::wide) column.spare = 0;
        columns_.push_back(std::move(column));
        auto cells = cells_.begin();
        for (const auto& row : rows_)
            (cells++)->push_back(std::invoke(cell_of, row));
    }

    const Rows& rows_;
    const Detail detail_;
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> cells_;  // by row
};

// Makes cells of a part of a row, to which `part` points: empty where it is null.
template <typename Part>
auto cells_of(const Part& part) {
    return [part](const auto& cell_of) {
        return [part, cell_of](const auto& row) {
            const auto* found = std::invoke(part, row);
            return found == nullptr ? Cell("") : Cell(std::invoke(cell_of, *found));
        };
    };
}

}  // namespace rm
