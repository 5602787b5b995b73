#pragma once

#include <string>
#include <vector>

#include "service/man_page.h"

namespace CLI {
class App;
}

namespace rm {

// ringmaster(1), a page for each verb, ringmaster-ls(1) or ringmaster-data-prepare(1), and
// ringmaster-job(5).
std::vector<ManPage> man_pages(const CLI::App& app, const std::string& version);

}  // namespace rm
