#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/command_line.h"

namespace rm {
namespace {

const std::string kGolden = RM_SOURCE_DIR "/tests/golden/command_line/help.txt";

std::string help_of(const std::string& command) {
    std::istringstream stream(command + " --help");
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    std::vector<const char*> argv;
    for (const std::string& word : words)
        argv.push_back(word.c_str());
    return std::get<CommandLineEnd>(parse_command_line(static_cast<int>(argv.size()), argv.data()))
        .out;
}

// A page's name has a hyphen where the command has a blank; one verb has a hyphen of its own.
std::string command_of(std::string page) {
    const std::string own = "export-curves";
    const std::size_t kept = page.find(own);
    std::replace(page.begin(), page.end(), '-', ' ');
    if (kept != std::string::npos) page.replace(kept, own.size(), own);
    return page;
}

std::string every_help() {
    std::string text;
    for (const ManPage& page : command_line_pages()) {
        if (page.number != 1) continue;
        const std::string command = command_of(page.name);
        text += "$ " + command + " --help\n" + help_of(command);
    }
    return text;
}

// With RM_UPDATE_GOLDEN in the environment, the test writes the file instead, for an intended
// change. `git diff` then shows what users will see.
TEST(Help, OfEveryCommandIsWordForWordWhatItWas) {
    const std::string text = every_help();
    if (std::getenv("RM_UPDATE_GOLDEN") != nullptr) std::ofstream(kGolden) << text;
    std::ifstream file(kGolden);
    const std::string golden{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(golden.empty()) << kGolden;
    EXPECT_EQ(text, golden) << "if this is meant, run the test again with RM_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace rm
