#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/text/text_corpus.h"
#include "engine/data/tokens/megatron_writer.h"
#include "engine/data/tokens/text_tokens.h"
#include "tests/support/temp_dir.h"

namespace rm {

inline void write_text(const std::string& path, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    ASSERT_TRUE(file.flush()) << path;
}

// A Megatron set of one document, for a vocabulary of 1000.
inline void write_megatron(const std::string& prefix, const std::vector<TokenId>& tokens) {
    auto writer = MegatronWriter::create(prefix, 1000);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add_document(tokens));
    ASSERT_TRUE(writer->finish());
}

// The text files of a directory with their bytes as tokens.
inline std::unique_ptr<ByteSource> byte_source(const std::string& path) {
    auto corpus = TextCorpus::open(path);
    EXPECT_TRUE(corpus) << corpus.error().message;
    return ByteSource::open(std::make_unique<TextCorpus>(std::move(*corpus))).value();
}

inline std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace rm
