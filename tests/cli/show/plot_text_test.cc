#include "cli/show/plot_text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace rm {
namespace {

using testing::HasSubstr;

const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Drawn {
    std::ostringstream stream;
    Output out{stream, false, false, 40};
    std::vector<std::string> lines(const Plot& plot, PlotScale scale = PlotScale::linear,
                                   int height = 5) {
        return draw_plot(out, plot, {.width = 22, .height = height}, scale);
    }
};

Plot falling() {
    Plot plot{"loss (nats)", "nats", {{"a1b2c3", {}, {}}}};
    for (int step = 1; step <= 20; ++step) {
        plot.lines[0].x.push_back(step);
        plot.lines[0].y.push_back(5.0 - 0.2 * (step - 1));
    }
    return plot;
}

// Columns of a line of UTF-8 text.
std::size_t columns(const std::string& line) {
    std::size_t count = 0;
    for (const char c : line)
        count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return count;
}

TEST(Plot, DrawsAFallingLineFromTopLeftToBottomRight) {
    Drawn drawn;
    EXPECT_EQ(drawn.lines(falling()), (std::vector<std::string>{
                                          "loss (nats)",
                                          "     5.000 ┤⠑⢄        ",
                                          "           │  ⠑⢄      ",
                                          "     3.100 ┤    ⠑⢄    ",
                                          "           │      ⠑⢄  ",
                                          "     1.200 ┤        ⠑⢄",
                                          "            1  11   20",
                                          "            ━━ a1b2c3 1.200",
                                      }));
}

TEST(Plot, FitsItsWidth) {
    std::ostringstream stream;
    const Output out{stream, false, false, 120};
    for (const int width : {30, 80, 200}) {
        const auto lines = draw_plot(out, falling(), {.width = width}, PlotScale::linear);
        for (std::size_t i = 1; i + 1 < lines.size(); ++i)
            EXPECT_LE(columns(lines[i]), static_cast<std::size_t>(width)) << lines[i];
    }
}

TEST(Plot, LeavesAGapWhereThereIsNoNumber) {
    Drawn drawn;
    Plot plot{"loss", "", {{"a", {1, 2, 3, 4, 5}, {1, 1, kNan, 2, 2}}}};
    const auto lines = drawn.lines(plot);
    EXPECT_EQ(lines[1], "     2.000 ┤       ⠉⠉⠉");
    EXPECT_EQ(lines[5], "     1.000 ┤⣀⣀⣀       ");
    plot.lines[0].y.assign(5, kNan);
    EXPECT_EQ(drawn.lines(plot)[1], "  no numbers yet");
}

TEST(Plot, DrawsALevelLineInTheMiddle) {
    Drawn drawn;
    const auto lines = drawn.lines({"x", "", {{"a", {1, 2}, {7, 7}}}});
    EXPECT_THAT(lines[3], HasSubstr("⠤")) << lines[3];
}

TEST(Plot, ScalesLogarithmically) {
    Drawn drawn;
    const Plot plot{"loss", "", {{"a", {1, 2, 3, 4}, {1000, 10, 1, -5}}}};
    const auto lines = drawn.lines(plot, PlotScale::logarithmic);
    EXPECT_THAT(lines[1], HasSubstr("1.0k ┤"));
    EXPECT_THAT(lines[5], HasSubstr("1.000 ┤")) << "numbers without a logarithm are left out";
}

TEST(Plot, TellsLinesApartByColor) {
    std::ostringstream stream;
    const Output out{stream, true, true, 80};
    Plot plot = falling();
    plot.lines.push_back({"d4e5f6", {1, 20}, {5, 5}});
    const auto lines = draw_plot(out, plot, {}, PlotScale::linear);
    EXPECT_THAT(lines.back(), HasSubstr("\x1b[36m━━\x1b[0m a1b2c3"));
    EXPECT_THAT(lines.back(), HasSubstr("\x1b[33m━━\x1b[0m d4e5f6 5.000"));
}

TEST(Plot, MakesAnSvgThatNeedsNothingElse) {
    Plot plot = falling();
    plot.lines[0].label = "<script>";
    const std::string svg = plots_svg(std::vector{plot, plot}, PlotScale::linear);
    EXPECT_TRUE(svg.starts_with("<svg xmlns="));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_THAT(svg, HasSubstr("&lt;script>"));
    EXPECT_THAT(svg, testing::Not(HasSubstr("<script>")));
    EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 900 560\""));
    EXPECT_THAT(svg, HasSubstr("M90 46L"));
}

TEST(Sparkline, ShowsTheLastValues) {
    EXPECT_EQ(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
    EXPECT_EQ(sparkline(std::vector<double>{9, 9, 0, 7}, 2), "▁█");
    EXPECT_EQ(sparkline(std::vector<double>{1, kNan, 2}, 8), "▁ █");
    EXPECT_EQ(sparkline({}, 8), "");
}

TEST(PlotNumber, IsShort) {
    EXPECT_EQ(plot_number(2.81342, "nats"), "2.813");
    EXPECT_EQ(plot_number(318'204, "tokens/s"), "318k");
    EXPECT_EQ(plot_number(44.0 * (1 << 30), "bytes"), "44.0 GiB");
    EXPECT_EQ(plot_number(2e-5, ""), "2.00e-5");
    EXPECT_EQ(plot_number(0.461, ""), "0.461");
    EXPECT_EQ(plot_number(kNan, ""), "NaN");
}

}  // namespace
}  // namespace rm
