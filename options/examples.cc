#include "options/examples.h"

#include <algorithm>

namespace rm {

std::string examples_text(std::span<const Example> examples) {
    std::size_t width = 0;
    for (const Example& example : examples)
        width = std::max(width, example.command.size());
    std::string text;
    for (const Example& example : examples) {
        text += text.empty() ? "Examples:\n  " : "\n  ";
        text += example.command;
        if (example.what.empty()) continue;
        text += std::string(width - example.command.size() + 3, ' ') + std::string(example.what);
    }
    return text;
}

}  // namespace rm
