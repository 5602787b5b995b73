#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

// Runs every input in corpus/ once: targets abort and sanitizers report as under libFuzzer.
#define RM_FUZZ_TARGET(name) extern "C" int rm_fuzz_##name(const std::uint8_t*, std::size_t);
#include "fuzz_targets.inc"
#undef RM_FUZZ_TARGET

namespace rm {
namespace {

struct FuzzTarget {
    std::string name;
    int (*run)(const std::uint8_t*, std::size_t);
};

void PrintTo(const FuzzTarget& target, std::ostream* out) {
    *out << target.name;
}

class FuzzCorpus : public testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzCorpus, IsRead) {
    const std::filesystem::path corpus = std::filesystem::path(RM_CORPUS) / GetParam().name;
    int inputs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
        SCOPED_TRACE(entry.path());
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ(GetParam().run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
                  0);
        ++inputs;
    }
    EXPECT_GE(inputs, 3) << "valid and nearly valid files in " << corpus;
}

const FuzzTarget kTargets[] = {
#define RM_FUZZ_TARGET(name) {#name, rm_fuzz_##name},
#include "fuzz_targets.inc"
#undef RM_FUZZ_TARGET
};

INSTANTIATE_TEST_SUITE_P(Readers, FuzzCorpus, testing::ValuesIn(kTargets),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm
