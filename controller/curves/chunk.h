#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rm {

// Values of one quantity of one rank, by ascending step.
struct CurveLine {
    std::vector<std::int64_t> steps;
    std::vector<double> values;

    std::size_t size() const { return steps.size(); }
    void add(std::int64_t step, double value) {
        steps.push_back(step);
        values.push_back(value);
    }
    bool operator==(const CurveLine&) const = default;
};

// One number of a step, by the name that curves have for it: "loss", "phase/attention",
// "memory/weights", "axis_wait/ring".
struct CurveSample {
    std::string quantity;
    double value = 0;
};
struct StepSamples {
    std::int64_t step = 0;
    std::vector<CurveSample> samples;
};
// The samples of a report of a rank, from the bytes it is kept as; nothing: they are no report.
using StepSampler = std::function<std::optional<StepSamples>(std::string_view report, int rank)>;

// How a chunk keeps its values: whole numbers exactly, or real ones to 24 bits.
enum class ChunkValues { whole, real };

// A part of a line as the bytes that telemetry.db keeps: a byte for the form of the values, then a
// zstd frame of the steps, by their first one or their distances, and of the values. Reals lie
// byte by byte in four planes, since their leading bytes hardly differ.
std::string encode_chunk(const CurveLine& line, ChunkValues values);
// Appends what encode_chunk() was given. DATA_LOSS: these are no such bytes.
Status decode_chunk(std::string_view bytes, CurveLine& line);

}  // namespace rm
