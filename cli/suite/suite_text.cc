#include "cli/suite/suite_text.h"

#include <algorithm>

#include "cli/show/text.h"

namespace rm {
namespace {

constexpr std::size_t kCellWidth = 8;

Color color_of(double score) {
    if (score >= 0.95) return Color::green;
    return score >= 0.5 ? Color::yellow : Color::red;
}

std::string padded(std::string_view text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + std::string(text);
}

std::string score_cell(const Output& out, double score) {
    const std::string text = format("{:.0} %", 100 * score);
    return padded("", kCellWidth - std::min(kCellWidth, text.size())) +
           out.paint(text, color_of(score));
}

}  // namespace

void print_grid(const Output& out, const SuiteGrid& grid, std::string_view corner,
                std::int64_t trained) {
    std::size_t width = kCellWidth;
    for (const std::string& row : grid.rows())
        width = std::max(width, row.size());
    const std::size_t columns = grid.lengths().size();
    bool beyond = false;
    out.stream << padded(corner, width);
    for (const std::int64_t length : grid.lengths()) {
        const bool marked = trained > 0 && length > trained;
        beyond |= marked;
        out.stream << padded(context_text(length) + (marked ? "*" : ""), kCellWidth);
    }
    out.stream << '\n';
    for (std::size_t row = 0; row < grid.rows().size(); ++row) {
        out.stream << padded(grid.rows()[row], width);
        for (std::size_t column = 0; column < columns; ++column) {
            const SuiteCell* cell = grid.at(row, column);
            out.stream << (cell == nullptr ? padded("-", kCellWidth)
                                           : score_cell(out, cell->score));
        }
        out.stream << '\n';
    }
    out.stream << padded("mean", width);
    for (std::size_t column = 0; column < columns; ++column)
        out.stream << score_cell(out, grid.mean(column).score);
    out.stream << '\n' << padded("nats", width);
    for (std::size_t column = 0; column < columns; ++column)
        out.stream << padded(format("{:.3}", grid.mean(column).loss), kCellWidth);
    out.stream << '\n';
    if (beyond)
        out.stream << format("* beyond the trained context of {} tokens\n", grouped(trained));
}

}  // namespace rm
