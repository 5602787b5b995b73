#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rm {

// How rotary frequencies are stretched, under the names Hugging Face stores (`rope_type`).
enum class RopeType { standard, linear, dynamic, yarn, longrope, llama3 };
constexpr std::array<RopeType, 6> kRopeTypes = {RopeType::standard, RopeType::linear,
                                                RopeType::dynamic,  RopeType::yarn,
                                                RopeType::longrope, RopeType::llama3};
std::string_view to_string(RopeType type);  // default linear dynamic yarn longrope llama3
Result<RopeType> parse_rope_type(std::string_view name);  // `su` is longrope's old name

// Rotary position embedding of a model; engine/model/rope.cc says what a field means to each type.
// Fields that the type does not use keep their defaults.
struct RopeConfig {
    RopeType type = RopeType::standard;
    double theta = 10000;
    double factor = 1;  // linear, dynamic, yarn, longrope, llama3
    // Positions of pretraining (dynamic, yarn, longrope, llama3).
    std::int64_t original_context = 0;
    // Multiplies cos and sin (yarn, longrope); nullopt: derived from `factor`.
    std::optional<double> attention_factor;
    double beta_fast = 32;  // yarn
    double beta_slow = 1;
    double mscale = 0;  // both or none
    double mscale_all_dim = 0;
    bool truncate = true;
    double low_freq_factor = 1;  // llama3
    double high_freq_factor = 4;
    std::vector<double> short_factor;  // longrope, D / 2 each
    std::vector<double> long_factor;
    bool operator==(const RopeConfig&) const = default;
};

// The error names the field as Hugging Face spells it, its value and what would be valid.
Status validate(const RopeConfig& rope, std::int64_t head_dim);

}  // namespace rm
