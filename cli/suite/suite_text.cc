#include "cli/suite/suite_text.h"

#include <algorithm>

#include "cli/show/text.h"
#include "cli/suite/suite_grid.h"
#include "spec/evaluation/suite_spec.h"

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

bool is_beyond(std::int64_t length, std::int64_t trained) {
    return trained > 0 && length > trained;
}

class GridPrinter {
public:
    GridPrinter(const Output& out, const SuiteReport& report, std::string_view indent)
        : out_(out), grid_(report.cells), means_(suite_means(report)), indent_(indent) {
        for (const std::string& row : grid_.rows())
            width_ = std::max(width_, row.size());
    }

    void print(std::string_view corner, std::int64_t trained) const {
        print_lengths(corner, trained);
        for (std::size_t row = 0; row < grid_.rows().size(); ++row) {
            begin(grid_.rows()[row]);
            each_column([&](std::size_t column) {
                const SuiteCell* cell = grid_.at(row, column);
                return cell == nullptr ? padded("-", kCellWidth) : score_cell(out_, cell->score);
            });
        }
        begin("mean");
        each_column([&](std::size_t column) { return score_cell(out_, means_[column].score); });
        begin("nats");
        each_column([&](std::size_t column) {
            return padded(format("{:.3}", means_[column].loss), kCellWidth);
        });
    }

private:
    void print_lengths(std::string_view corner, std::int64_t trained) const {
        begin(corner);
        each_column([&](std::size_t column) {
            const std::int64_t length = grid_.lengths()[column];
            return padded(context_text(length) + (is_beyond(length, trained) ? "*" : ""),
                          kCellWidth);
        });
    }
    void begin(std::string_view name) const { out_.stream << indent_ << padded(name, width_); }
    template <typename Text>
    void each_column(const Text& text) const {
        for (std::size_t column = 0; column < grid_.lengths().size(); ++column)
            out_.stream << text(column);
        out_.stream << '\n';
    }

    const Output& out_;
    const SuiteGrid grid_;
    const std::vector<SuiteMean> means_;  // by column
    std::string_view indent_;
    std::size_t width_ = kCellWidth;
};

}  // namespace

void print_suite(const Output& out, const SuiteReport& report, std::string_view indent) {
    const std::int64_t trained = report.trained_context;
    const bool ruler = report.suite == to_string(SuiteKind::ruler);
    GridPrinter(out, report, indent).print(ruler ? "TASK" : "DEPTH", trained);
    const auto is_marked = [&](const SuiteCell& cell) { return is_beyond(cell.length, trained); };
    if (std::ranges::any_of(report.cells, is_marked)) {
        out.stream << indent
                   << format("* beyond the trained context of {} tokens\n", grouped(trained));
    }
    if (!ruler) return;
    const std::int64_t effective = report.effective_length;
    out.stream << indent
               << format("effective length ({:.1} % or more): {}\n", 100 * kRulerThreshold,
                         effective > 0 ? context_text(effective) : "none of these");
}

}  // namespace rm
