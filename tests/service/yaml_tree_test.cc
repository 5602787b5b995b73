#include "service/job_file/yaml_tree.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

std::string error_of(std::string_view text) {
    const auto parsed = parse_yaml(text, "f.yaml");
    return parsed ? "no error" : parsed.error().message;
}

TEST(YamlTree, KeepsTextsPlacesAndOrder) {
    const auto root = parse_yaml("b: no\na:\n  - 063M\n  - {x: \"1\\n2\", y: }\n", "f.yaml");
    ASSERT_TRUE(root) << root.error().message;
    ASSERT_EQ(root->entries.size(), 2u);
    EXPECT_EQ(root->entries[0].key, "b");
    EXPECT_EQ(root->entries[0].value.text, "no");
    EXPECT_EQ(root->entries[0].value.place.column, 4);
    const YamlNode& list = root->entries[1].value;
    ASSERT_EQ(list.items.size(), 2u);
    EXPECT_EQ(list.items[0].text, "063M");
    EXPECT_EQ(list.items[0].place.line, 3);
    EXPECT_EQ(list.items[0].place.column, 5);
    EXPECT_EQ(list.items[1].find("x")->value.text, "1\n2");
    EXPECT_EQ(list.items[1].find("y")->value.kind, YamlNode::Kind::null);
    EXPECT_EQ(list.items[1].find("z"), nullptr);
}

TEST(YamlTree, AnEmptyTextIsNothing) {
    for (const std::string_view text : {"", "\n\n", "# only a comment\n"}) {
        const auto root = parse_yaml(text, "f.yaml");
        ASSERT_TRUE(root) << root.error().message;
        EXPECT_EQ(root->kind, YamlNode::Kind::null);
    }
}

TEST(YamlTree, RefusesDuplicateKeysAndNamesBothPlaces) {
    EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"),
              "f.yaml:3:1: a: the key is already given at line 1, column 1; keep one");
    EXPECT_EQ(error_of("l: [{x: 1, x: 1}]"),
              "f.yaml:1:12: x: the key is already given at line 1, column 6; keep one");
}

TEST(YamlTree, RefusesWhatASettingHasNoUseFor) {
    EXPECT_EQ(error_of("a: &x 1\nb: 2\n"), "f.yaml:1:4: anchors are not read; remove the '&' word");
    EXPECT_EQ(error_of("a: {b: 1}\n<<: 2\n"),
              "f.yaml:2:1: merge keys are not read; write the values again");
    EXPECT_NE(error_of("a: *x\n").find("f.yaml:1:4: "), std::string::npos);
    EXPECT_EQ(error_of("a: !!int 1\n"),
              "f.yaml:1:4: tags are not read; remove 'tag:yaml.org,2002:int'");
    EXPECT_EQ(error_of("a: !mine {}\n"), "f.yaml:1:4: tags are not read; remove '!mine'");
    EXPECT_EQ(error_of("a: 1\n---\nb: 1\n"), "f.yaml:2:1: a second document begins here; keep one");
    EXPECT_EQ(error_of("? {a: 1}\n: 2\n"), "f.yaml:1:3: a key must be a word");
    EXPECT_EQ(error_of("? \n: 2\n").substr(0, 7), "f.yaml:");
}

TEST(YamlTree, LimitsDepthAndSize) {
    const std::string open(16, '[');
    const std::string close(16, ']');
    EXPECT_EQ(error_of(open + close), "no error");
    EXPECT_EQ(error_of("[" + open + close + "]"), "f.yaml:1:17: nested deeper than 16 levels");
    EXPECT_NE(error_of(std::string(1 << 19, '[')), "no error");
    EXPECT_EQ(error_of("a: " + std::string(1 << 20, 'x')),
              "f.yaml:1:1: the file has 1.0 MiB; at most 1.0 MiB are read");
}

TEST(YamlTree, RefusesWhatIsNotUtf8) {
    EXPECT_EQ(error_of("a: \xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8d"), "no error");
    EXPECT_EQ(error_of("a: x\nb: \xc3\xa9\xff\n"), "f.yaml:2:5: this byte is not UTF-8 text");
    for (const std::string_view bad :
         {"\x80", "\xc0\xaf", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf0\x80\x80\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
        EXPECT_EQ(error_of(bad), "f.yaml:1:1: this byte is not UTF-8 text");
    }
    EXPECT_EQ(error_of(std::string_view("a\0b", 3)), "f.yaml:1:2: this byte is not UTF-8 text");
    EXPECT_EQ(error_of("a: \"x\\0y\""), "f.yaml:1:4: the text has a zero byte in it");
}

TEST(YamlTree, SaysWhereTheSyntaxBreaks) {
    EXPECT_EQ(error_of("a: 1\nb: [1, 2\n").substr(0, 7), "f.yaml:");
    EXPECT_EQ(error_of("a: 1\n  b: 2\n").substr(0, 9), "f.yaml:2:");
    EXPECT_EQ(error_of("a: \"x").substr(0, 7), "f.yaml:");
    EXPECT_EQ(error_of("\ta: 1\n").substr(0, 7), "f.yaml:");
}

}  // namespace
}  // namespace rm
