#include "tests/support/real_text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/random.h"
#include "engine/tokenizer/utf8.h"

namespace rm::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 100'000;

std::vector<fs::path> files_below(const fs::path& root, std::string_view ending) {
    std::vector<fs::path> files;
    std::error_code failure;
    fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied,
                                        failure);
    for (; !failure && at != fs::recursive_directory_iterator(); at.increment(failure)) {
        if (at->is_regular_file() && at->path().string().ends_with(ending))
            files.push_back(at->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::uint32_t number_at(const std::string& file, std::size_t at) {
    std::uint32_t number = 0;
    if (at + 4 <= file.size()) std::memcpy(&number, file.data() + at, 4);
    return number;
}

// The translations of a compiled message catalogue (GNU gettext's .mo, little endian).
std::string messages_of(const std::string& file) {
    if (number_at(file, 0) != 0x950412de) return {};
    const std::uint32_t count = number_at(file, 8);
    const std::size_t table = number_at(file, 16);
    std::string text;
    for (std::size_t i = 0; i < count && text.size() < kMostBytes; ++i) {
        const std::size_t bytes = number_at(file, table + 8 * i);
        const std::size_t begin = number_at(file, table + 8 * i + 4);
        if (begin + bytes > file.size()) return {};
        text += file.substr(begin, bytes) + "\n";
    }
    return text;
}

// Adds documents until `bytes` have come from here, taking files spread over the list.
void take(std::vector<std::string>& documents, const fs::path& root, std::string_view ending,
          std::int64_t bytes) {
    const std::vector<fs::path> files = files_below(root, ending);
    const std::size_t stride = 7;
    for (std::size_t first = 0; first < stride; ++first) {
        for (std::size_t i = first; i < files.size(); i += stride) {
            if (bytes <= 0) return;
            std::string text = read(files[i]);
            if (ending == ".mo") text = messages_of(text);
            if (text.size() > kMostBytes) text.resize(kMostBytes);
            while (!text.empty() && find_invalid_utf8(text) != text.size())
                text.resize(find_invalid_utf8(text));
            if (text.empty()) continue;
            bytes -= static_cast<std::int64_t>(text.size());
            documents.push_back(std::move(text));
        }
    }
}

constexpr std::string_view kPieces[] = {"the",
                                        " of",
                                        "Ring",
                                        "'s",
                                        "'S",
                                        "'Ll",
                                        "'re",
                                        "'d",
                                        "don't",
                                        " ",
                                        "  ",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "\n\n ",
                                        "123",
                                        "4567",
                                        "3.14",
                                        "!?",
                                        "...",
                                        "->",
                                        "_",
                                        "<|",
                                        "|>",
                                        "<|end_of_text|>",
                                        "<|begin_of_text|>",
                                        "<|end_of_text",
                                        "\xC3\xA9\xC3\xBC",
                                        "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E",
                                        "\xED\x95\x9C\xEA\xB5\xAD",
                                        "\xD8\xB9\xD8\xB1\xD8\xA8\xD9\x8A",
                                        "\xE0\xA4\xB9\xE0\xA4\xBF",
                                        "\xD7\x90\xD7\x91",
                                        "\xCE\xB1\xCE\xB2",
                                        "\xD0\x9F\xD1\x80\xD0\xB8",
                                        "\xE2\x85\xA7",
                                        "\xC2\xBD",
                                        "\xD9\xA3",
                                        "\xC2\xA0",
                                        "\xE2\x80\x83",
                                        "\xE3\x80\x80",
                                        "\xE1\xA0\x8E",
                                        "\xE2\x80\x8B",
                                        "\xE2\x80\xA8",
                                        "\xF0\x9F\x98\x80",
                                        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7",
                                        "e\xCC\x81",
                                        "\xF0\x9D\x94\x98",
                                        "\xEF\xAC\x81",
                                        std::string_view("\0", 1),
                                        "\x7F"};

// Blocks that Unicode filled long ago, so that old and new tables agree on them.
constexpr std::pair<char32_t, char32_t> kBlocks[] = {
    {0x20, 0x7E},     {0xA0, 0x17E},    {0x391, 0x3A1},     {0x410, 0x44F},    {0x5D0, 0x5EA},
    {0x621, 0x63A},   {0x905, 0x939},   {0xE01, 0xE30},     {0x10D0, 0x10F0},  {0x1E00, 0x1EFF},
    {0x2010, 0x2027}, {0x2030, 0x205E}, {0x2190, 0x22FF},   {0x2460, 0x24FF},  {0x3041, 0x3096},
    {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3}, {0x10400, 0x1044F}, {0x1F600, 0x1F64F}};

}  // namespace

std::vector<std::string> real_text(std::int64_t bytes) {
    std::vector<std::string> documents;
    take(documents, "/usr/share/locale", ".mo", bytes * 3 / 10);
    take(documents, "/usr/share/common-licenses", "", bytes / 50);
    take(documents, "/usr/share/perl", "", bytes / 10);
    take(documents, "/usr/include/c++", "", bytes / 10);
    take(documents, "/usr/share/vim", "", bytes / 10);
    std::int64_t taken = 0;
    for (const std::string& document : documents)
        taken += static_cast<std::int64_t>(document.size());
    take(documents, "/usr/share/doc", ".html", bytes - taken);
    return documents;
}

std::vector<std::string> random_texts(std::uint64_t seed, int count) {
    Rng rng(seed);
    std::vector<std::string> texts(static_cast<std::size_t>(count));
    for (std::string& text : texts) {
        for (std::uint64_t n = 1 + rng.below(40); n > 0; --n) {
            if (rng.below(2) == 0) {
                text += kPieces[rng.below(std::size(kPieces))];
            } else {
                const auto& [first, last] = kBlocks[rng.below(std::size(kBlocks))];
                append_utf8(text, first + static_cast<char32_t>(rng.below(last - first + 1)));
            }
        }
    }
    return texts;
}

}  // namespace rm::test
