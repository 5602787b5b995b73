#include "engine/generate/continuation.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

std::string streamed(const std::string& bytes, std::vector<std::string>* pieces = nullptr) {
    const ByteTokenizer tokenizer;
    StreamedText text(tokenizer);
    std::string all;
    for (const char byte : bytes) {
        const std::string added = text.add(static_cast<unsigned char>(byte)).value();
        if (pieces != nullptr) pieces->push_back(added);
        all += added;
    }
    all += text.finish();
    EXPECT_EQ(text.text(), all);
    return all;
}

TEST(StreamedText, HoldsACharacterBackUntilItIsComplete) {
    std::vector<std::string> pieces;
    EXPECT_EQ(streamed("a\u00e9\u20ac\U0001F600z", &pieces), "a\u00e9\u20ac\U0001F600z");
    const std::vector<std::string> expected = {"a", "", "\u00e9", "",           "", "\u20ac",
                                               "",  "", "",       "\U0001F600", "z"};
    EXPECT_EQ(pieces, expected);
}

TEST(StreamedText, LosesNoByteOfWhatIsNoText) {
    const std::string broken = "\xff\xc3(\x80\x80\x80\x80ok\xe2\x82";
    EXPECT_EQ(streamed(broken), broken);
}

TEST(StreamedText, GoesOnBeyondItsWindow) {
    std::string text;
    for (int i = 0; i < 500; ++i)
        text += format("{} \u00e4", i);
    EXPECT_EQ(streamed(text), text);
}

TEST(StreamedText, LeavesSpecialTokensOut) {
    const ByteTokenizer tokenizer;
    StreamedText text(tokenizer);
    EXPECT_EQ(text.add('a').value(), "a");
    EXPECT_EQ(text.add(ByteTokenizer::kEndOfDocument).value(), "");
    EXPECT_EQ(text.add('b').value(), "b");
    EXPECT_FALSE(text.add(1000).ok());
}

}  // namespace
}  // namespace rm
