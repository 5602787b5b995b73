#pragma once

#include <string>

namespace rm {

// A document of ours as the body of a page of the manual: its headings as sections, `code` and
// **words** bold, links by their text, a table as a list of its first column. The title, with one
// #, is left out. It knows the Markdown that docs/ are written in and no more.
std::string man_of_markdown(const std::string& markdown);

}  // namespace rm
