#include <gtest/gtest.h>

#include <map>

#include "cli/verb.h"

namespace rm {
namespace {

// The parser keeps the options that an option excludes in the order of their addresses. With two
// of them, `ringmaster plan --help` read one way in one process and another way in the next.
void count_exclusions(const Verb& verb, std::map<std::string, int>& most) {
    for (const Verb& below : verb.below)
        count_exclusions(below, most);
    if (!verb.make) return;
    const auto command = verb.make();
    std::map<std::string, int> exclusions;
    for (const VerbOption& option : command->options().list()) {
        if (option.rules.excludes.empty()) continue;
        ++exclusions[option.names.substr(option.names.rfind(',') + 1)];
        ++exclusions[option.rules.excludes];
    }
    for (const auto& [names, count] : exclusions)
        most[verb.name + " " + names] = count;
}

TEST(Regress0138, NoOptionExcludesTwo) {
    std::map<std::string, int> exclusions;
    for (const VerbGroup& group : verb_table()) {
        for (const Verb& verb : group.verbs)
            count_exclusions(verb, exclusions);
    }
    ASSERT_FALSE(exclusions.empty());
    for (const auto& [option, count] : exclusions)
        EXPECT_EQ(count, 1) << option;
}

}  // namespace
}  // namespace rm
