#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/layout.h"
#include "kernels/device/run_list.h"

// The runs of an attention call as its launches take them.
namespace rm::cuda {

// Without padding and empty runs, in order, cut in lists that kernel parameters hold. Kernels cut
// tiles from the start of a run, so a call in several launches computes the same tiles. Positions
// and tokens must fit 32 bits: a CheckError names the op and the run.
std::vector<device::RunList> run_lists(std::string_view op, std::span<const Run> runs);

// Likewise, in lists of at most `max_tiles` tiles of `rows` tokens: a longer run is cut between two
// of its tiles.
std::vector<device::RunList> tile_lists(std::string_view op, std::span<const Run> runs, int rows,
                                        int max_tiles);

// Likewise, in lists whose first and last tokens are fewer than `max_tokens` apart, padding between
// them counted; a multiple of `rows`.
std::vector<device::RunList> span_lists(std::string_view op, std::span<const Run> runs, int rows,
                                        int max_tokens);

// Numbers the tiles of `rows` tokens, cut from the start of each run; gives how many they are.
int number_tiles(device::RunList& list, int rows);

// Tells every run which runs of the other side see it or are seen by it. False: none does.
bool link(device::RunList& queries, device::RunList& keys);

}  // namespace rm::cuda
