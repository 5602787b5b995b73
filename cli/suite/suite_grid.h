#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec/report.h"

namespace rm {

// Cells of a suite by length (columns, ascending) and by depth or task (rows, as they came).
class SuiteGrid {
public:
    explicit SuiteGrid(const std::vector<SuiteCell>& cells);

    const std::vector<std::string>& rows() const { return rows_; }
    const std::vector<std::int64_t>& lengths() const { return lengths_; }
    // Null: the run ended before it.
    const SuiteCell* at(std::size_t row, std::size_t column) const;

private:
    std::vector<std::string> rows_;
    std::vector<std::int64_t> lengths_;
    std::map<std::pair<std::size_t, std::size_t>, SuiteCell> cells_;
};

}  // namespace rm
