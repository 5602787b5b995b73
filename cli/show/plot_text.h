#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/screen/console.h"
#include "ringmaster/v1/job.pb.h"

// Curves drawn in a terminal, and as SVG. Pure.
namespace rm {

struct PlotLine {
    std::string label;  // of the legend
    std::vector<double> x;
    std::vector<double> y;  // not finite: a gap
};
PlotLine line_of(const pb::Curve& curve, const std::string& label);
struct Plot {
    std::string title;  // "loss (nats)"
    std::string unit;   // of the values
    std::vector<PlotLine> lines;
};

enum class PlotScale { linear, logarithmic };

struct PlotSize {
    int width = 80;   // columns, axis included
    int height = 12;  // rows of the curves
};

// Lines of Braille dots, two by four in a character, with an axis at the left and below. Where
// lines cross, the later one gives the color.
std::vector<std::string> draw_plot(const Output& out, const Plot& plot, const PlotSize& size,
                                   PlotScale scale);

// A picture of all plots, one below the other, which needs nothing but itself.
std::string plots_svg(std::span<const Plot> plots, PlotScale scale);

// The last `width` values as blocks of eighths, the lowest of them low and the highest high.
std::string sparkline(std::span<const double> values, int width);

// A number of a unit, short: 2.81, 41.2 GiB, 318k, 3.2 s.
std::string plot_number(double value, std::string_view unit);

}  // namespace rm
