#pragma once

#include <string>

namespace rm {

// One of our documents as the body of a manual page: its headings as sections, `code` and **words**
// bold, links by their text, a table as a list of its first column. Omits the title, with one #.
// Supports only the Markdown that docs/ use.
std::string man_of_markdown(const std::string& markdown);

}  // namespace rm
