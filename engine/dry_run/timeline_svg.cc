#include <algorithm>

#include "engine/dry_run/timeline.h"

namespace rm {
namespace {

// Pixels.
constexpr double kLeft = 150, kWidth = 760, kRight = 30;
constexpr double kTop = 82, kDevice = 240, kHost = 100, kGap = 46, kLane = 24;
constexpr std::size_t kParts = 760;  // of the time: one for each pixel

constexpr std::string_view kKindColors[] = {"#4269d0", "#97bbf5", "#9498a0", "#c9ccd1",
                                            "#a463f2", "#9c6b4e", "#6cc5b0"};
constexpr std::string_view kArenaColor = "#efb118", kHostColor = "#3ca951";
constexpr std::string_view kStreamColors[] = {"#ff725c", "#4269d0", "#3ca951", "#3ca951",
                                              "#a463f2"};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else {
            out += c;
        }
    }
    return out;
}

class Svg {
public:
    Svg(double width, double height) {
        out_ = format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" width=\"{:.0}\" "
            "height=\"{:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n",
            width, height, width, height);
        rect(0, 0, width, height, "#ffffff");
    }
    void rect(double x, double y, double width, double height, std::string_view color) {
        out_ +=
            format("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\n",
                   x, y, width, height, color);
    }
    enum class Anchor { start, end };
    void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start) {
        out_ += format("<text x=\"{:.1}\" y=\"{:.1}\"{}>{}</text>\n", x, y,
                       anchor == Anchor::end ? " text-anchor=\"end\"" : "", escaped(text));
    }
    void line(double x1, double y1, double x2, double y2) {
        out_ +=
            format("<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#555\" stroke-width=\"1\"/>\n",
                   x1, y1, x2, y2);
    }
    // Steps of one pixel each, `heights` above `base`.
    void area(double base, const std::vector<double>& heights, std::string_view color) {
        out_ += format("<path d=\"M{:.0} {:.1}", kLeft, base);
        double last = -1;
        for (std::size_t i = 0; i < heights.size(); ++i) {
            if (heights[i] == last) continue;
            const double x = kLeft + static_cast<double>(i);
            if (last >= 0) out_ += format("H{:.0}", x);
            out_ += format("V{:.1}", base - heights[i]);
            last = heights[i];
        }
        out_ += format("H{:.0}V{:.1}Z\" fill=\"{}\"/>\n", kLeft + kWidth, base, color);
    }
    std::string end() { return out_ + "</svg>\n"; }

private:
    std::string out_;
};

// Draws an axis of bytes, `most` at its top, and its baseline.
void draw_axis(Svg& svg, double base, double height, Bytes most, std::string_view title) {
    svg.line(kLeft, base - height, kLeft, base);
    svg.line(kLeft, base, kLeft + kWidth, base);
    svg.text(kLeft - 8, base - height + 10, to_string(most), Svg::Anchor::end);
    svg.text(kLeft - 8, base, "0", Svg::Anchor::end);
    svg.text(kLeft - 8, base - height / 2, title, Svg::Anchor::end);
}

class Legend {
public:
    explicit Legend(Svg& svg) : svg_(svg) {}
    void add(const std::string& name, std::string_view color) {
        const double width = 30 + 6.6 * static_cast<double>(name.size());
        if (x_ + width > kLeft + kWidth + kRight) {
            x_ = kLeft;
            y_ += 18;
        }
        svg_.rect(x_, y_, 11, 11, color);
        svg_.text(x_ + 15, y_ + 10, name);
        x_ += width;
    }

private:
    Svg& svg_;
    double x_ = kLeft, y_ = 36;
};

std::vector<double> scaled(const std::vector<Bytes>& bytes, double per_byte) {
    std::vector<double> heights;
    for (const Bytes& at : bytes)
        heights.push_back(static_cast<double>(at.value) * per_byte);
    return heights;
}

double draw_device(Svg& svg, Legend& legend, const StepTimeline& timeline) {
    const std::vector<Bytes> arena = most_by_part(timeline.device, timeline.length, kParts);
    const Bytes peak = *std::max_element(arena.begin(), arena.end());
    const Bytes most = timeline.state.total + peak;
    const double per_byte = kDevice / static_cast<double>(std::max<std::int64_t>(1, most.value));
    const double bottom = kTop + kDevice;
    double base = bottom;
    std::size_t color = 0;
    for (const auto& [kind, bytes] : timeline.state.by_kind) {
        if (memory_name(kind).on_host) continue;
        const double height = static_cast<double>(bytes.value) * per_byte;
        svg.rect(kLeft, base - height, kWidth, height, kKindColors[color]);
        legend.add(format("{} {}", kind, bytes), kKindColors[color]);
        color = (color + 1) % std::size(kKindColors);
        base -= height;
    }
    svg.area(base, scaled(arena, per_byte), kArenaColor);
    legend.add(format("arena, at most {}", peak), kArenaColor);
    draw_axis(svg, bottom, kDevice, most, "device");
    return bottom;
}

// Draws no panel where nothing is kept on the host.
double draw_host(Svg& svg, Legend& legend, const StepTimeline& timeline, double top) {
    const std::vector<Bytes> arena = most_by_part(timeline.host, timeline.length, kParts);
    const Bytes peak = *std::max_element(arena.begin(), arena.end());
    if (peak.value == 0) return top;
    const double bottom = top + kGap + kHost;
    svg.area(bottom, scaled(arena, kHost / static_cast<double>(peak.value)), kHostColor);
    legend.add(format("host, at most {}", peak), kHostColor);
    draw_axis(svg, bottom, kHost, peak, "host");
    return bottom;
}

// Joins times that are closer than half a pixel.
std::vector<StepTimeline::Busy> joined(const std::vector<StepTimeline::Busy>& busy,
                                       double resolution) {
    std::vector<StepTimeline::Busy> all;
    for (const StepTimeline::Busy& next : busy) {
        if (!all.empty() && next.begin - all.back().end < resolution) {
            all.back().end = std::max(all.back().end, next.end);
        } else {
            all.push_back(next);
        }
    }
    return all;
}

void draw_lane(Svg& svg, const StepTimeline::Stream& stream, double length, double y,
               std::string_view color) {
    const double scale = kWidth / length;
    svg.text(kLeft - 8, y + 13, stream.name, Svg::Anchor::end);
    for (const StepTimeline::Busy& busy : joined(stream.busy, 0.5 / scale))
        svg.rect(kLeft + busy.begin * scale, y, std::max(0.3, (busy.end - busy.begin) * scale),
                 kLane - 7, color);
}

}  // namespace

std::string to_svg(const StepTimeline& timeline, const std::string& title) {
    const bool has_host = !timeline.host.empty();
    const auto num_lanes = static_cast<double>(timeline.timed ? timeline.streams.size() : 0);
    const double height =
        kTop + kDevice + (has_host ? kGap + kHost : 0) + kGap + num_lanes * kLane + 12;
    Svg svg(kLeft + kWidth + kRight, height);
    svg.text(kLeft, 22, title);
    Legend legend(svg);
    double y = draw_device(svg, legend, timeline);
    y = draw_host(svg, legend, timeline, y);
    svg.text(kLeft, y + 16, "0");
    svg.text(kLeft + kWidth, y + 16,
             timeline.timed ? to_string(Seconds{timeline.length}) : "requests of buffers",
             Svg::Anchor::end);
    y += kGap - 18;
    for (std::size_t i = 0; timeline.timed && i < timeline.streams.size(); ++i) {
        draw_lane(svg, timeline.streams[i], timeline.length, y,
                  kStreamColors[i % std::size(kStreamColors)]);
        y += kLane;
    }
    return svg.end();
}

}  // namespace rm
