// Runs docs/two_machines.md command by command, on machines as separate as real ones: each has a
// network namespace and a host name. Then makes every mistake that it lists.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/e2e/support/e2e_test.h"
#include "tests/lab/lab.h"

namespace rm::lab {
namespace {

using e2e::Finished;
using e2e::Process;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::string_view kHosts = "racks:\n  - {name: room, hosts: [desk, node-a, node-b]}\n";

// A block of the document, and the instruction in the comment before it.
struct Block {
    std::string what;  // "run on desk", "start on node-a", "file job.yaml"
    std::string text;
};

std::vector<Block> read_blocks() {
    std::ifstream file(RM_DOCUMENT);
    std::vector<Block> blocks;
    std::string what;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("<!-- ")) {
            what = line.substr(5, line.size() - 9);
        } else if (line.starts_with("```")) {
            inside = !inside && !what.empty();
            if (inside) blocks.push_back({what, ""});
            what.clear();
        } else if (inside) {
            blocks.back().text += line + '\n';
        }
    }
    return blocks;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
}

class TwoMachines : public e2e::E2eTest {
protected:
    void SetUp() override {
        if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
        lab_ = std::make_unique<Lab>(parse_topology(std::string(kHosts), "room").value());
        std::filesystem::create_directories(path("srv/shared"));
        std::filesystem::copy(path("text"), path("srv/shared/text"));
        for (const Block& block : read_blocks())
            follow(block);
    }
    ~TwoMachines() override {
        for (const char* name : {"node-a", "node-b", "desk"})
            end(name);
    }

    // Replaces the document's addresses and directory with those of the test.
    std::string here(std::string text) const {
        replace_all(text, "10.77.0.1:", lab_->address("desk") + ":");
        replace_all(text, "--san 10.77.0.1 ", "--san " + lab_->address("desk") + " ");
        replace_all(text, "/srv/", path("srv/"));
        return text;
    }
    // A shell on a machine: a host name and a network of its own, in the test's directory.
    std::vector<std::string> shell(const std::string& host, const std::string& script) const {
        const std::string setup =
            format("echo {} > /proc/sys/kernel/hostname; cd {}; PATH={}:$PATH; ", host, path(""),
                   std::filesystem::path(program("ringmaster")).parent_path().string());
        return lab_->inside(host, {"/usr/bin/unshare", "--uts", "/bin/sh", "-ec", setup + script});
    }
    Finished run_on(const std::string& host, const std::string& script) {
        return run(shell(host, here(script)), Seconds{120});
    }
    void start_on(const std::string& host, const std::string& command) {
        daemons_[host] = start(shell(host, "exec " + here(command)));
    }
    void end(const std::string& host) {
        const auto found = daemons_.find(host);
        if (found == daemons_.end()) return;
        found->second->signal(SIGTERM);
        EXPECT_TRUE(found->second->wait(Seconds{30}).has_value()) << found->second->err();
        daemons_.erase(found);
    }
    void follow(const Block& block) {
        const std::string name = block.what.substr(block.what.rfind(' ') + 1);
        if (block.what.starts_with("file ")) {
            e2e::write_file(path(name), block.text);
        } else if (block.what.starts_with("start on ")) {
            commands_[name] = block.text;
            start_on(name, block.text);
        } else {
            if (block.text.find(" submit ") != std::string::npos) {
                submit_ = block.text;
                ASSERT_TRUE(has_sessions(2)) << daemons_["node-a"]->err();
            }
            last_ = run_on(name, block.text);
            ASSERT_EQ(last_.code, 0) << block.text << last_.out << last_.err;
        }
    }
    // `ringmaster ...` as the document calls it.
    Finished ringmaster(const std::string& arguments) {
        const std::string call = submit_.empty() ? "ringmaster --address 10.77.0.1:7070 --ca "
                                                   "pki/ca.crt --cert root.crt --key root.key "
                                                 : submit_.substr(0, submit_.find("submit"));
        return run_on("desk", call + arguments);
    }
    bool has_sessions(int wanted) {
        return e2e::wait_until(Seconds{30}, [&] {
            const auto nodes = e2e::Json::parse(ringmaster("nodes -o json").out, nullptr, false);
            if (!nodes.is_array()) return false;
            return std::count_if(nodes.begin(), nodes.end(), [](const e2e::Json& node) {
                       return node.value("sessionUp", false);
                   }) == wanted;
        });
    }
    enum class Roots { as_documented, dropped };
    // Restarts the worker of a machine with more options.
    void restart(const std::string& host, const std::string& more,
                 Roots roots = Roots::as_documented) {
        end(host);
        ASSERT_TRUE(has_sessions(1));
        std::string command = commands_.at(host);
        if (roots == Roots::dropped) command = command.substr(0, command.find("--root"));
        while (!command.empty() && command.back() == '\n')
            command.pop_back();
        start_on(host, command + " " + more);
        ASSERT_TRUE(has_sessions(2)) << daemons_[host]->err();
    }
    // Submits a job file of the document, and returns what explain says once it contains `part`.
    std::string explained(const std::string& part, const std::string& file = "job.yaml",
                          Seconds limit = Seconds{60}) {
        const Finished submitted = ringmaster("submit " + file);
        EXPECT_EQ(submitted.code, 0) << submitted.err;
        const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
        std::string text;
        const bool said = e2e::wait_until(limit, [&] {
            text = ringmaster("explain " + id).out;
            return text.find(part) != std::string::npos;
        });
        EXPECT_TRUE(said) << part << "\nis not in\n" << text;
        ringmaster("cancel " + id);
        return text;
    }

    std::unique_ptr<Lab> lab_;
    std::map<std::string, std::unique_ptr<Process>> daemons_;
    std::map<std::string, std::string> commands_;  // by machine, as the document has them
    std::string submit_;
    Finished last_;
};

TEST_F(TwoMachines, TrainByTheDocumentAlone) {
    EXPECT_THAT(last_.err, HasSubstr("succeeded"));
    EXPECT_FALSE(std::filesystem::is_empty(path("srv/shared/runs")));
    const std::string nodes = ringmaster("nodes -o json").out;
    EXPECT_THAT(nodes,
                AllOf(HasSubstr(lab_->address("node-a")), HasSubstr(lab_->address("node-b"))))
        << "each announces the address from which it reaches the controller";
}

TEST_F(TwoMachines, EveryMistakeOfAddressPortRootAndDirectoryIsNamed) {
    restart("node-b", "--data-address 127.0.0.1");
    EXPECT_THAT(explained("announces 127.0.0.1"),
                AllOf(HasSubstr("node-b"), HasSubstr("--data-address")));

    // The probe server has the only one.
    restart("node-b", "--ports 7080");
    EXPECT_THAT(explained("no port of 7080 is left"), HasSubstr("--ports"));

    restart("node-b", "--root shared=" + path("nowhere"), Roots::dropped);
    EXPECT_THAT(daemons_["node-b"]->err() + daemons_["node-b"]->out(), HasSubstr("root_unusable"));
    EXPECT_THAT(explained("shared:text"), HasSubstr("node-b"));

    std::filesystem::create_directories(path("other"));
    std::filesystem::copy(path("text"), path("other/text"));
    restart("node-b", "--root shared=" + path("other"), Roots::dropped);
    explained("is not one directory");

    restart("node-a", "", Roots::dropped);
    restart("node-b", "", Roots::dropped);
    std::string bare = e2e::read_file(path("job.yaml"));
    bare = bare.substr(0, bare.find("checkpoint:"));
    replace_all(bare, "shared:text", path("text"));
    e2e::write_file(path("bare.yaml"), bare);
    EXPECT_THAT(explained("the job names no checkpoint.dir", "bare.yaml"),
                AllOf(HasSubstr("node-a"), HasSubstr("node-b")));

    const Finished doctor = run_on("node-b",
                                   "ringmaster --address 10.77.0.1:7079 --ca pki/ca.crt "
                                   "--cert root.crt --key root.key doctor");
    EXPECT_NE(doctor.code, 0);
    EXPECT_THAT(doctor.out + doctor.err, HasSubstr(lab_->address("desk") + ":7079"));
}

// The test waits for the minute that the document names.
TEST_F(TwoMachines, AFirewallBetweenThemIsNamed) {
    for (const char* host : {"node-a", "node-b"})
        lab_->block_ports(host, 7080, 7199);
    const std::string text = explained(
        "no answer within 1m00s; a firewall between the two must let TCP ports 7080-7199 "
        "through, both ways",
        "job.yaml", Seconds{180});
    EXPECT_THAT(text, HasSubstr("could not connect to rank"));
    EXPECT_THAT(text, AnyOf(HasSubstr(lab_->address("node-a") + ":"),
                            HasSubstr(lab_->address("node-b") + ":")));
    const Finished survey = ringmaster("survey --wait");
    EXPECT_THAT(survey.err,
                AllOf(HasSubstr("probe server " + lab_->address("node-b") + ":7080: no answer "),
                      HasSubstr("a firewall between the two must let this port through")));
}

}  // namespace
}  // namespace rm::lab
