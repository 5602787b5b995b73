#include "cli/suite/suite_grid.h"

#include <algorithm>

#include "base/format.h"
#include "base/usize.h"

namespace rm {
namespace {

std::string row_of(const SuiteCell& cell) {
    return cell.depth < 0 ? cell.task : format("{:.0} %", 100 * cell.depth);
}

template <typename T>
std::size_t place(std::vector<T>& list, const T& value) {
    const auto found = std::ranges::find(list, value);
    if (found != list.end()) return usize(found - list.begin());
    list.push_back(value);
    return list.size() - 1;
}

}  // namespace

SuiteGrid::SuiteGrid(const std::vector<SuiteCell>& cells) {
    for (const SuiteCell& cell : cells)
        place(lengths_, cell.length);
    std::ranges::sort(lengths_);
    for (const SuiteCell& cell : cells)
        cells_[{place(rows_, row_of(cell)), place(lengths_, cell.length)}] = cell;
}

const SuiteCell* SuiteGrid::at(std::size_t row, std::size_t column) const {
    const auto found = cells_.find({row, column});
    return found == cells_.end() ? nullptr : &found->second;
}

}  // namespace rm
