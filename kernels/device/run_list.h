#pragma once

// Runs (base/layout.h) as a kernel takes them: by value, with its other parameters.
namespace rm::device {

// In 32 bits, with its place among the local tokens. Never empty, never padding.
struct TokenRun {
    int document = 0;
    int first = 0;  // position
    int length = 0;
    int token = 0;  // of the first, in local order
};
// Two lists and the other arguments of an op fit the 4 KB of kernel parameters.
constexpr int kMaxRuns = 112;
struct RunList {
    int count = 0;
    TokenRun runs[kMaxRuns];
};

}  // namespace rm::device
