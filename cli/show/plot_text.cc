#include "cli/show/plot_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "cli/show/text.h"

namespace rm {
namespace {

constexpr std::array kLineColors = {Color::cyan,  Color::yellow, Color::magenta,
                                    Color::green, Color::blue,   Color::red};
constexpr int kAxisWidth = 10;  // of the numbers at the left

Color color_of(std::size_t line) {
    return kLineColors[line % kLineColors.size()];
}

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void take(double value) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool is_empty() const { return low > high; }
    // A level curve lies in the middle.
    void widen() {
        if (low < high) return;
        const double by = low == 0 ? 1 : std::abs(low) * 0.05;
        low -= by;
        high += by;
    }
    double share(double value) const { return (value - low) / (high - low); }
    double at(double share) const { return low + share * (high - low); }
};

double scaled(double value, PlotScale scale) {
    if (scale == PlotScale::linear) return value;
    return value > 0 ? std::log10(value) : std::numeric_limits<double>::quiet_NaN();
}
double unscaled(double value, PlotScale scale) {
    return scale == PlotScale::linear ? value : std::pow(10.0, value);
}

struct Frame {
    Range x, y;  // y as scaled
    Frame(const Plot& plot, PlotScale scale) {
        for (const PlotLine& line : plot.lines) {
            for (std::size_t i = 0; i < line.x.size(); ++i) {
                const double value = scaled(line.y[i], scale);
                if (!std::isfinite(value)) continue;
                x.take(line.x[i]);
                y.take(value);
            }
        }
        if (is_empty()) return;
        x.widen();
        y.widen();
    }
    bool is_empty() const { return x.is_empty(); }
};

// A grid of characters of 2 x 4 dots.
class Dots {
public:
    Dots(int columns, int rows)
        : columns_(columns), rows_(rows), cells_(static_cast<std::size_t>(columns * rows)) {}

    int width() const { return 2 * columns_; }
    int height() const { return 4 * rows_; }

    void set(int x, int y, std::size_t line) {
        if (x < 0 || y < 0 || x >= width() || y >= height()) return;
        // Unicode's numbering of the dots: columns of three, then the lowest row.
        constexpr std::array<std::array<int, 4>, 2> kBits = {{{0, 1, 2, 6}, {3, 4, 5, 7}}};
        Cell& cell = cells_[static_cast<std::size_t>(y / 4 * columns_ + x / 2)];
        cell.bits |= 1 << kBits[static_cast<std::size_t>(x % 2)][static_cast<std::size_t>(y % 4)];
        cell.line = line;
    }
    void connect(int x0, int y0, int x1, int y1, std::size_t line) {
        const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
        for (int i = 0; i <= steps; ++i)
            set(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, line);
    }
    std::string row(const Output& out, int row) const {
        std::string text;
        for (int column = 0; column < columns_; ++column) {
            const Cell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
            text += cell.bits == 0 ? " " : out.paint(braille(cell.bits), color_of(cell.line));
        }
        return text;
    }

private:
    struct Cell {
        int bits = 0;
        std::size_t line = 0;
    };
    // U+2800 and up, in UTF-8.
    static std::string braille(int bits) {
        return {static_cast<char>(0xe2), static_cast<char>(0xa0 | bits >> 6),
                static_cast<char>(0x80 | (bits & 0x3f))};
    }

    int columns_, rows_;
    std::vector<Cell> cells_;
};

void draw_line(Dots& dots, const Frame& frame, const PlotLine& line, std::size_t number,
               PlotScale scale) {
    std::optional<std::pair<int, int>> before;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
        const double value = scaled(line.y[i], scale);
        if (!std::isfinite(value)) {
            before.reset();
            continue;
        }
        const int x = static_cast<int>(std::lround(frame.x.share(line.x[i]) * (dots.width() - 1)));
        const double below = 1 - frame.y.share(value);
        const int y = static_cast<int>(std::lround(below * (dots.height() - 1)));
        const auto [from_x, from_y] = before.value_or(std::pair(x, y));
        dots.connect(from_x, from_y, x, y, number);
        before = std::pair(x, y);
    }
}

std::string right_aligned(const std::string& text, int width) {
    const int missing = width - static_cast<int>(text.size());
    return std::string(static_cast<std::size_t>(std::max(missing, 0)), ' ') + text;
}

std::string step_text(double step) {
    return grouped(std::llround(step));
}

// First, middle and last step below the curves.
std::string steps_axis(const Frame& frame, int columns) {
    std::string text(static_cast<std::size_t>(columns), ' ');
    const auto put = [&](double share, const std::string& label) {
        const int size = static_cast<int>(label.size());
        const int middle = static_cast<int>(share * (columns - 1)) - size / 2;
        const int at = std::clamp(middle, 0, std::max(columns - size, 0));
        text.replace(static_cast<std::size_t>(at), label.size(), label);
    };
    for (const double share : {0.0, 0.5, 1.0})
        put(share, step_text(frame.x.at(share)));
    return text;
}

std::string legend(const Output& out, const Plot& plot) {
    std::string text;
    for (std::size_t i = 0; i < plot.lines.size(); ++i) {
        const PlotLine& line = plot.lines[i];
        const std::string last = line.y.empty() ? "none" : plot_number(line.y.back(), plot.unit);
        text += i == 0 ? "" : "   ";
        text += out.paint("━━", color_of(i)) + " " + printable(line.label) + " " + last;
    }
    return text;
}

// ---- SVG

constexpr int kSvgWidth = 900, kSvgHeight = 280, kSvgLeft = 90, kSvgRight = 20, kSvgTop = 46,
              kSvgBottom = 40;
// Okabe and Ito's colors, which the color-blind tell apart.
constexpr std::array kSvgColors = {"#0072B2", "#D55E00", "#009E73",
                                   "#CC79A7", "#E69F00", "#56B4E9"};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '<') {
            out += "&lt;";
        } else if (c == '&') {
            out += "&amp;";
        } else {
            out += c;
        }
    }
    return out;
}

std::string svg_text(double x, double y, std::string_view anchor, std::string_view text,
                     std::string_view more = "") {
    return format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", std::lround(x),
                  std::lround(y), anchor, more, escaped(text));
}

// The points of a line, with gaps where it has no numbers.
std::string svg_path(const Frame& frame, const PlotLine& line, PlotScale scale) {
    const double width = kSvgWidth - kSvgLeft - kSvgRight;
    const double height = kSvgHeight - kSvgTop - kSvgBottom;
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
        const double value = scaled(line.y[i], scale);
        if (!std::isfinite(value)) {
            pen_down = false;
            continue;
        }
        const double x = kSvgLeft + frame.x.share(line.x[i]) * width;
        const double y = kSvgTop + (1 - frame.y.share(value)) * height;
        path += format("{}{} {}", pen_down ? "L" : "M", std::round(x * 10) / 10,
                       std::round(y * 10) / 10);
        pen_down = true;
    }
    return path;
}

std::string svg_plot(const Plot& plot, PlotScale scale, int top) {
    const Frame frame(plot, scale);
    std::string out = format("<g transform=\"translate(0 {})\">\n", top);
    out += svg_text(kSvgLeft, 20, "start", plot.title, " font-weight=\"bold\"");
    if (frame.is_empty()) return out + svg_text(kSvgLeft, 60, "start", "no numbers") + "</g>\n";
    const int bottom = kSvgHeight - kSvgBottom;
    for (const double share : {0.0, 0.5, 1.0}) {
        const double y = bottom - share * (bottom - kSvgTop);
        const double x = kSvgLeft + share * (kSvgWidth - kSvgLeft - kSvgRight);
        out += format("<path d=\"M{} {}H{}\" stroke=\"#ddd\"/>\n", kSvgLeft, std::lround(y),
                      kSvgWidth - kSvgRight);
        out += svg_text(kSvgLeft - 8, y + 4, "end",
                        plot_number(unscaled(frame.y.at(share), scale), plot.unit));
        out += svg_text(x, bottom + 18, "middle", step_text(frame.x.at(share)));
    }
    for (std::size_t i = 0; i < plot.lines.size(); ++i) {
        const char* color = kSvgColors[i % kSvgColors.size()];
        out += format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                      svg_path(frame, plot.lines[i], scale), color);
        out += svg_text(kSvgLeft + 200.0 * static_cast<double>(i), 38, "start", plot.lines[i].label,
                        format(" fill=\"{}\"", color));
    }
    return out + "</g>\n";
}

}  // namespace

PlotLine line_of(const pb::Curve& curve, const std::string& label) {
    return {label,
            {curve.steps().begin(), curve.steps().end()},
            {curve.values().begin(), curve.values().end()}};
}

std::string plot_number(double value, std::string_view unit) {
    if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
    if (unit == "bytes") return to_string(Bytes{std::llround(value)});
    if (unit == "seconds" && value >= 0) return to_string(Seconds{value});
    if (std::abs(value) >= 1000) return compact_count(value);
    const double size = std::abs(value);
    if (size == 0) return "0";
    if (size < 1e-3) {
        const int exponent = static_cast<int>(std::floor(std::log10(size)));
        return format("{:.2}e{}", value / std::pow(10.0, exponent), exponent);
    }
    return size < 0.1 ? format("{:.4f}", value) : format("{:.3f}", value);
}

std::vector<std::string> draw_plot(const Output& out, const Plot& plot, const PlotSize& size,
                                   PlotScale scale) {
    std::vector<std::string> drawn{printable(plot.title)};
    const Frame frame(plot, scale);
    if (frame.is_empty()) {
        drawn.push_back("  no numbers yet");
        return drawn;
    }
    const int columns = std::max(size.width - kAxisWidth - 2, 8);
    Dots dots(columns, size.height);
    for (std::size_t i = 0; i < plot.lines.size(); ++i)
        draw_line(dots, frame, plot.lines[i], i, scale);
    for (int row = 0; row < size.height; ++row) {
        const bool is_tick = row == 0 || row == size.height - 1 || row == size.height / 2;
        const double share = 1 - static_cast<double>(row) / std::max(size.height - 1, 1);
        const std::string tick =
            is_tick ? plot_number(unscaled(frame.y.at(share), scale), plot.unit) : "";
        drawn.push_back(right_aligned(tick, kAxisWidth) + (is_tick ? " ┤" : " │") +
                        dots.row(out, row));
    }
    const std::string indent(kAxisWidth + 2, ' ');
    drawn.push_back(indent + steps_axis(frame, columns));
    drawn.push_back(indent + legend(out, plot));
    return drawn;
}

std::string plots_svg(std::span<const Plot> plots, PlotScale scale) {
    const int height = kSvgHeight * static_cast<int>(plots.size());
    std::string out = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        kSvgWidth, height);
    for (std::size_t i = 0; i < plots.size(); ++i)
        out += svg_plot(plots[i], scale, kSvgHeight * static_cast<int>(i));
    return out + "</svg>\n";
}

std::string sparkline(std::span<const double> values, int width) {
    const auto room = static_cast<std::size_t>(std::max(width, 0));
    if (values.size() > room) values = values.subspan(values.size() - room);
    Range range;
    for (const double value : values)
        range.take(value);
    if (range.is_empty()) return "";
    range.widen();
    std::string text;
    for (const double value : values) {
        const int eighth = static_cast<int>(std::lround(range.share(value) * 7));
        // U+2581 to U+2588, in UTF-8.
        const char block[] = {static_cast<char>(0xe2), static_cast<char>(0x96),
                              static_cast<char>(0x81 + eighth), 0};
        text += std::isfinite(value) ? block : " ";
    }
    return text;
}

}  // namespace rm
