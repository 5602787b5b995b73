#include "service/daemon/config_file.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <fstream>

#include "base/random.h"
#include "options/checks.h"
#include "options/usage.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

// A daemon with one option of each kind.
class ConfigFile : public testing::Test {
protected:
    struct Daemon {
        Daemon() {
            add_config_options(app);
            app.add_option("--state", state)->type_name("DIR")->required();
            app.add_option("--listen", listen)->capture_default_str();
            app.add_option("--survey", survey)
                ->capture_default_str()
                ->check(one_of({"auto", "manual"}));
            app.add_option("--after", after)->capture_default_str()->check(number(0));
            app.add_option("--cert", cert);
            app.add_flag("--open", open);
            app.add_option("--restore", restore)->configurable(false);
            app.set_version_flag("--version", "daemon 1");
        }
        CLI::App app{"A daemon", "daemon"};
        std::string state;
        std::vector<std::string> listen = {"127.0.0.1:7070"};
        std::string survey = "auto";
        double after = 20;
        std::string cert;
        bool open = false;
        std::string restore;
    };

    // The words on stderr, or "" when the line and the file are sound.
    std::string parse(const std::string& text, std::vector<std::string> line = {}) {
        std::ofstream(file_) << text;
        line.insert(line.begin(), {"--config", file_});
        return parse_line(std::move(line));
    }
    std::string parse_line(std::vector<std::string> line) {
        daemon_ = std::make_unique<Daemon>();
        std::reverse(line.begin(), line.end());
        try {
            daemon_->app.parse(std::move(line));
        } catch (const CLI::ParseError& error) {
            const UsageEnd end = usage_end(daemon_->app, error);
            out_ = end.out;
            return without_frame(end.err);
        }
        return "";
    }
    // Without "daemon: ", the folder of the file, and the hint below.
    std::string without_frame(std::string words) const {
        words = words.substr(0, words.find("\nRun `"));
        if (words.starts_with("daemon: ")) words = words.substr(8);
        for (std::size_t at = 0; (at = words.find(dir_.path() + "/")) != std::string::npos;)
            words.erase(at, dir_.path().size() + 1);
        return words;
    }

    const TempDir dir_;
    const std::string file_ = dir_.file("d.yaml");
    std::unique_ptr<Daemon> daemon_;
    std::string out_;
};

TEST_F(ConfigFile, GivesEveryKindOfOption) {
    ASSERT_EQ(parse("state: /s\n"
                    "listen: [0.0.0.0:7070, \"unix:/run/a b\"]\n"
                    "survey: manual  # never by itself\n"
                    "after: 1.5\n"
                    "open: true\n"),
              "");
    EXPECT_EQ(daemon_->state, "/s");
    EXPECT_EQ(daemon_->listen, (std::vector<std::string>{"0.0.0.0:7070", "unix:/run/a b"}));
    EXPECT_EQ(daemon_->survey, "manual");
    EXPECT_EQ(daemon_->after, 1.5);
    EXPECT_TRUE(daemon_->open);
    ASSERT_EQ(parse("{state: /s, listen: '[::1]:7070', open: false}"), "");
    EXPECT_EQ(daemon_->listen, std::vector<std::string>{"[::1]:7070"});
    EXPECT_FALSE(daemon_->open);
}

TEST_F(ConfigFile, YieldsToTheCommandLine) {
    ASSERT_EQ(parse("{state: /s, listen: [a:1, b:2], survey: manual, open: false}",
                    {"--listen", "c:3", "--open", "--survey", "auto"}),
              "");
    EXPECT_EQ(daemon_->state, "/s");
    EXPECT_EQ(daemon_->listen, std::vector<std::string>{"c:3"});
    EXPECT_EQ(daemon_->survey, "auto");
    EXPECT_TRUE(daemon_->open);
}

TEST_F(ConfigFile, NamesAllFaultsWithTheirPlaces) {
    EXPECT_EQ(parse("state: /s\n"
                    "# addresses\n"
                    "lisen: [a:1]\n"
                    "survey: never\n"
                    "cert: [a, b]\n"
                    "open: yes\n"
                    "after:\n"
                    "restore: b.db\n"
                    "help: true\n"
                    "listen:\n"
                    "  - {a: 1}\n"
                    "zzzzzz: 1\n"),
              "d.yaml:3:1: unknown key 'lisen'; did you mean 'listen'?\n"
              "d.yaml:4:9: survey: 'never' is not one of auto, manual\n"
              "d.yaml:5:7: cert: a list; it must be a text\n"
              "d.yaml:6:7: open: 'yes' must be true or false\n"
              "d.yaml:7:1: after: no value; it must be a text\n"
              "d.yaml:8:1: 'restore' is no key: it is an option of the command line only\n"
              "d.yaml:9:1: 'help' is no key: it is an option of the command line only\n"
              "d.yaml:11:5: listen: not a single value; it must be a text\n"
              "d.yaml:12:1: unknown key 'zzzzzz'; `daemon --help` lists the options, whose names "
              "are the keys");
}

TEST_F(ConfigFile, RefusesADuplicateKeyAndWhatIsNoMap) {
    EXPECT_EQ(parse("state: /s\nsurvey: auto\nstate: /t\n"),
              "d.yaml:3:1: state: the key is already given at line 1, column 1; keep one");
    EXPECT_EQ(parse("- state\n"), "d.yaml:1:1: expected keys with values, such as `state: DIR`");
    EXPECT_EQ(parse("state: [/s]\nlisten: []\n"),
              "d.yaml:1:8: state: a list; it must be a text\n"
              "d.yaml:2:9: listen: an empty list; leave out the key instead");
}

TEST_F(ConfigFile, SaysThatItCannotBeRead) {
    EXPECT_EQ(parse_line({"--config", "/nowhere/d.yaml", "--state", "/s"}),
              "'/nowhere/d.yaml' is not a file that this user can read");
    EXPECT_EQ(parse_line({"--config", dir_.path(), "--state", "/s"}),
              "'" + dir_.path() + "' is not a file that this user can read");
    EXPECT_EQ(parse("state: /s", {"--config", "x"}), "--config is given more than once; keep one");
}

TEST_F(ConfigFile, HelpAndVersionGoBeforeItsFaults) {
    EXPECT_EQ(parse("lisen: 1", {"--version"}), "");
    EXPECT_EQ(out_, "daemon 1\n");
    EXPECT_EQ(parse("lisen: 1", {"--help"}), "");
    EXPECT_NE(out_.find("--config FILE"), std::string::npos) << out_;
}

TEST_F(ConfigFile, AnEmptyFileIsSoundAndRequiresWhatTheLineRequires) {
    EXPECT_EQ(parse("# nothing yet\n", {"--state", "/s"}), "");
    EXPECT_EQ(parse(""), "--state is missing; usage: daemon --state DIR");
}

TEST_F(ConfigFile, PrintsWhatItReadsAgain) {
    ASSERT_EQ(parse("{state: '/s: #1', cert: 'null', open: true, survey: manual}",
                    {"--listen", "[::1]:7", "--listen", "a, b", "--print-config"}),
              "");
    const auto first = config_to_print(daemon_->app);
    ASSERT_TRUE(first);
    EXPECT_EQ(*first,
              "state: \"/s: #1\"\n"
              "listen: [\"[::1]:7\", \"a, b\"]\n"
              "survey: manual\n"
              "after: 20\n"
              "cert: \"null\"\n"
              "open: true\n");
    ASSERT_EQ(parse(*first, {"--print-config"}), "");
    EXPECT_EQ(config_to_print(daemon_->app), first);
    EXPECT_EQ(daemon_->listen, (std::vector<std::string>{"[::1]:7", "a, b"}));
    EXPECT_EQ(daemon_->cert, "null");
}

// An accepted file means the same once it is printed and read again, whatever is in it.
TEST_F(ConfigFile, ReadsWhatItPrintsOfAnyDamagedFile) {
    constexpr char kBytes[] = "\n :-,[]{}'\"#&*!|>%@`~\\\t\0ab0\xff";
    const std::string whole =
        "state: /s\nlisten:\n  - 0.0.0.0:7070\n  - 'unix:/a b'\n"
        "survey: manual\nafter: 1.5\ncert: \"a\\tb\"\nopen: true\n";
    const std::uint64_t seed = 24;
    Rng rng(seed);
    int accepted = 0;
    for (int i = 0; i < 1000; ++i) {
        std::string text = whole;
        for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes)
            text[rng.below(text.size())] = kBytes[rng.below(sizeof kBytes - 1)];
        if (!parse(text, {"--print-config"}).empty()) continue;
        ++accepted;
        const std::string first = *config_to_print(daemon_->app);
        ASSERT_EQ(parse(first, {"--print-config"}), "") << text << "\nprinted:\n" << first;
        ASSERT_EQ(*config_to_print(daemon_->app), first) << text << "\nseed " << seed;
    }
    EXPECT_GT(accepted, 50);
    EXPECT_LT(accepted, 950);
}

TEST_F(ConfigFile, PrintsUsualValuesAndNothingUnasked) {
    ASSERT_EQ(parse_line({"--state", "/s", "--print-config"}), "");
    EXPECT_EQ(config_to_print(daemon_->app),
              "state: /s\nlisten: [127.0.0.1:7070]\nsurvey: auto\nafter: 20\nopen: false\n");
    ASSERT_EQ(parse("state: /s"), "");
    EXPECT_EQ(config_to_print(daemon_->app), std::nullopt);
}

}  // namespace
}  // namespace rm::test
