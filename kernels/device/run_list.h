#pragma once

// Runs (base/layout.h) as a kernel takes them: by value, with its other parameters.
namespace rm::device {

// In 32 bits, with its place among the local tokens. Never empty, never padding. A block finds its
// tile by `first_tile`, and looks at the runs [see_begin, see_end) of the other side's list only:
// with packed documents that is one of many.
struct TokenRun {
    int document = 0;
    int first = 0;  // position
    int length = 0;
    int token = 0;       // of the first, in local order
    int first_tile = 0;  // where the list is cut in tiles
    short see_begin = 0, see_end = 0;
};
// Two lists and the other arguments of an op fit the 4 KB of kernel parameters.
constexpr int kMaxRuns = 80;
struct RunList {
    int count = 0;
    TokenRun runs[kMaxRuns];
};

}  // namespace rm::device
