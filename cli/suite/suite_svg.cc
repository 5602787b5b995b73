#include "cli/suite/suite_svg.h"

#include <algorithm>
#include <cmath>

#include "base/usize.h"
#include "cli/show/text.h"
#include "cli/suite/suite_grid.h"
#include "spec/evaluation/suite_spec.h"

namespace rm {
namespace {

constexpr int kCellWidth = 74, kCellHeight = 34, kLeft = 124, kTop = 44, kBottom = 62;

// From red through yellow to green, light enough for black digits.
std::string color_of(double score) {
    const auto mix = [&](int low, int middle, int high) {
        const double share = score < 0.5 ? score * 2 : score * 2 - 1;
        const int from = score < 0.5 ? low : middle, to = score < 0.5 ? middle : high;
        return static_cast<int>(std::lround(from + (to - from) * share));
    };
    return format("rgb({},{},{})", mix(244, 255, 120), mix(109, 224, 198), mix(100, 120, 121));
}

std::string label(int x, int y, std::string_view anchor, std::string_view text) {
    return format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

int at(std::size_t index, int size) {
    return static_cast<int>(index) * size;
}

class GridPicture {
public:
    explicit GridPicture(const SuiteGrid& grid) : grid_(grid) {}

    std::string draw(const std::string& title, std::int64_t trained) const {
        std::string out = format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            std::max(kLeft + at(grid_.lengths().size(), kCellWidth) + 16, 420), bottom() + kBottom);
        out += label(8, 20, "start", title);
        for (std::size_t row = 0; row < grid_.rows().size(); ++row)
            out += draw_row(row);
        for (std::size_t column = 0; column < grid_.lengths().size(); ++column) {
            out += label(kLeft + at(column, kCellWidth) + kCellWidth / 2, bottom() + 18, "middle",
                         context_text(grid_.lengths()[column]));
        }
        return out + draw_trained(trained) + draw_axes() + "</svg>\n";
    }

private:
    int bottom() const { return kTop + at(grid_.rows().size(), kCellHeight); }

    std::string draw_row(std::size_t row) const {
        const int y = kTop + at(row, kCellHeight);
        std::string out = label(kLeft - 8, y + kCellHeight / 2 + 4, "end", grid_.rows()[row]);
        for (std::size_t column = 0; column < grid_.lengths().size(); ++column) {
            const SuiteCell* cell = grid_.at(row, column);
            if (cell == nullptr) continue;
            const int x = kLeft + at(column, kCellWidth);
            out += format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x,
                          y, kCellWidth - 2, kCellHeight - 2, color_of(cell->score));
            out += label(x + kCellWidth / 2 - 1, y + kCellHeight / 2 + 4, "middle",
                         format("{:.0} %", 100 * cell->score));
        }
        return out;
    }
    // A line behind the last length within the trained context.
    std::string draw_trained(std::int64_t trained) const {
        const auto within = std::ranges::count_if(
            grid_.lengths(), [&](std::int64_t length) { return length <= trained; });
        if (trained == 0 || within == 0 || within == std::ssize(grid_.lengths())) return "";
        const int x = kLeft + at(usize(within), kCellWidth) - 1;
        return format("<path d=\"M{} {}V{}\" stroke=\"black\" stroke-width=\"2\"/>\n", x, kTop - 6,
                      bottom() + 4) +
               label(x, kTop - 10, "middle", format("trained: {}", context_text(trained)));
    }
    std::string draw_axes() const {
        return label(kLeft, bottom() + 40, "start", "across: tokens of the text") +
               label(kLeft, bottom() + 55, "start", "in each field: right answers");
    }

    const SuiteGrid& grid_;
};

}  // namespace

std::string suite_svg(const SuiteReport& report) {
    const bool ruler = report.suite == to_string(SuiteKind::ruler);
    const SuiteGrid grid(report.cells);
    return GridPicture(grid).draw(ruler ? "RULER" : "needle in a haystack", report.trained_context);
}

}  // namespace rm
