// Token ids must equal those of an independent implementation, @huggingface/tokenizers, on real
// text and on random strings, with vocabularies trained here. The texts avoid known differences:
// JavaScript's \s lacks U+0085 and has U+FEFF, and its package does not fold U+017F to s.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>

#include "engine/tokenizer/tokenizer_json.h"
#include "tests/support/bpe_trainer.h"
#include "tests/support/real_text.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using test::PreTokenizerCut;

constexpr std::int64_t kRealBytes = 20'000'000;
constexpr int kNumRandom = 10'000;
constexpr std::uint64_t kSeed = 20240801;

struct Command {
    int status = 0;
    std::string output;
};

Command run(const std::string& command, const TempDir& dir) {
    Command result;
    result.status = std::system((command + " >" + dir.file("out") + " 2>&1").c_str());
    std::ifstream file(dir.file("out"));
    result.output = {std::istreambuf_iterator<char>(file), {}};
    return result;
}

// Installs the package once per build folder, exactly as package-lock.json has it.
std::string installed_package(const TempDir& dir) {
    const std::string where = RM_NODE_DIR;
    const std::string package = where + "/node_modules/@huggingface/tokenizers/package.json";
    for (const char* name : {"package.json", "package-lock.json", "compare.mjs"}) {
        std::filesystem::create_directories(where);
        std::filesystem::copy_file(std::string(RM_TEST_SOURCE_DIR) + "/" + name, where + "/" + name,
                                   std::filesystem::copy_options::overwrite_existing);
    }
    if (std::filesystem::exists(package)) return {};
    const Command install =
        run("cd '" + where + "' && timeout 120 npm ci --no-audit --no-fund", dir);
    if (install.status == 0 && std::filesystem::exists(package)) return {};
    return "npm ci: " + install.output;
}

bool implementations_differ(const std::string& text) {
    for (const char* character : {"\xC2\x85", "\xEF\xBB\xBF", "\xC5\xBF"}) {
        if (text.find(character) != std::string::npos) return true;
    }
    return false;
}

const std::vector<std::string>& texts() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> list = test::real_text(kRealBytes);
        std::erase_if(list, implementations_differ);
        const std::vector<std::string> random = test::random_texts(kSeed, kNumRandom);
        list.insert(list.end(), random.begin(), random.end());
        return list;
    }();
    return all;
}

// Both implementations encode every eighth real text (at night all) and all random ones.
std::vector<std::string> compared_texts() {
    const std::vector<std::string>& all = texts();
    if (std::getenv("RM_NIGHTLY") != nullptr) return all;
    const std::size_t num_real = all.size() - static_cast<std::size_t>(kNumRandom);
    std::vector<std::string> chosen;
    for (std::size_t i = 0; i < num_real; i += 8)
        chosen.push_back(all[i]);
    chosen.insert(chosen.end(), all.begin() + static_cast<std::ptrdiff_t>(num_real), all.end());
    return chosen;
}

std::string training_text() {
    std::string text;
    const std::vector<std::string>& all = texts();
    for (std::size_t i = 0; i < all.size() && text.size() < 3'000'000; i += 5)
        text += all[i];
    return text;
}

class Equality : public testing::Test {
protected:
    void SetUp() override {
        if (run("node --version", dir_).status != 0) GTEST_SKIP() << "there is no node";
        const std::string problem = installed_package(dir_);
        if (!problem.empty()) GTEST_SKIP() << problem;
    }

    void compare(const test::TrainerOptions& options) {
        const std::string file = test::train_tokenizer(training_text(), options);
        const auto tokenizer = parse_tokenizer({.name = "trained", .tokenizer = file});
        ASSERT_TRUE(tokenizer) << tokenizer.error().message;
        const std::vector<std::string> compared_here = compared_texts();
        nlohmann::json ids = nlohmann::json::array();
        std::int64_t bytes = 0;
        const auto start = std::chrono::steady_clock::now();
        const auto encoder = (*tokenizer)->make_encoder();
        for (const std::string& text : compared_here) {
            const auto prefix = (*tokenizer)->prefix();
            std::vector<TokenId> list(prefix.begin(), prefix.end());
            ASSERT_TRUE(encoder->encode(text, list));
            bytes += static_cast<std::int64_t>(text.size());
            ids.push_back(std::move(list));
        }
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        dir_.write("tokenizer.json", file);
        dir_.write("texts.json", nlohmann::json(compared_here).dump());
        dir_.write("ids.json", ids.dump());
        const Command compared =
            run("timeout 400 node '" RM_NODE_DIR "/compare.mjs' '" + dir_.path() + "'", dir_);
        EXPECT_EQ(compared.status, 0) << "seed " << kSeed << "\n" << compared.output;
        std::cout << compared.output << "ours "
                  << format("{:.1} MB/s", static_cast<double>(bytes) / seconds.count() / 1e6)
                  << std::endl;
    }

    TempDir dir_;
};

TEST_F(Equality, WithLlama3sPattern) {
    compare({.cut = PreTokenizerCut::llama3,
             .num_merges = 8000,
             .ignore_merges = true,
             .pairs_as_lists = true,
             .begin_of_text = true});
}

TEST_F(Equality, WithGpt2sPattern) {
    compare({.cut = PreTokenizerCut::gpt2, .num_merges = 8000});
}

TEST(RealText, IsTwentyMegabytesInManyScripts) {
    std::int64_t bytes = 0, beyond_ascii = 0;
    for (const std::string& text : texts()) {
        bytes += static_cast<std::int64_t>(text.size());
        for (const char c : text)
            beyond_ascii += (c & 0x80) != 0 ? 1 : 0;
    }
    std::cout << format("{} texts, {} bytes, {} beyond ASCII\n", texts().size(), bytes,
                        beyond_ascii);
    if (bytes < kRealBytes * 9 / 10) GTEST_SKIP() << "this machine has only " << bytes << " bytes";
    EXPECT_GT(beyond_ascii, 100'000);
}

}  // namespace
}  // namespace rm
