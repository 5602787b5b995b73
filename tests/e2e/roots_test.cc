#include <sched.h>
#include <sys/mount.h>

#include <csignal>
#include <cstring>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

namespace fs = std::filesystem;

// A controller and two workers of one device each; each test chooses their roots.
class Roots : public E2eTest {
protected:
    void SetUp() override {
        for (const char* directory : {"a", "b", "data-a", "data-b"})
            fs::create_directories(path(directory));
        for (const char* side : {"data-a", "data-b"})
            fs::copy(path("text"), path(side) + "/text", fs::copy_options::recursive);
        controller_ = start({program("ringmaster-controller"), "--state", path("controller"),
                             "--listen", "unix:" + socket_, "--http", "none"});
        ASSERT_TRUE(wait_until(Seconds{30}, [&] { return fs::exists(socket_); }));
    }
    void TearDown() override {
        for (const auto& worker : workers_)
            end(*worker);
        if (controller_) end(*controller_);
    }

    void end(Process& daemon) {
        daemon.signal(SIGTERM);
        EXPECT_TRUE(daemon.wait(Seconds{40})) << daemon.err();
    }
    void add_worker(const std::string& name, const std::vector<std::string>& roots) {
        std::vector<std::string> argv = {program("ringmaster-worker"),
                                         "--state",
                                         path(name),
                                         "--controller",
                                         "unix:" + socket_,
                                         "--http",
                                         "none",
                                         "--orphan",
                                         "stop",
                                         "--slots-on-machine",
                                         "2"};
        for (const std::string& root : roots)
            argv.insert(argv.end(), {"--root", root});
        workers_.push_back(start(argv));
        const std::size_t wanted = workers_.size();
        ASSERT_TRUE(wait_until(Seconds{60}, [&] { return nodes().size() == wanted; }))
            << workers_.back()->err();
    }
    Finished here(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", "unix:" + socket_});
        return cli(std::move(arguments));
    }
    Json nodes() { return Json::parse(here({"nodes", "-o", "json"}).out, nullptr, false); }
    std::string id_of(std::size_t worker) {
        const std::string text = read_file(path(format("w{}/worker.json", worker)));
        return Json::parse(text).value("node_id", "");
    }
    // Submits the job; returns its id once its reasons contain `part`, or empty after a failure.
    std::string blocked(const JobText& job, const std::string& part) {
        const Finished submitted = here({"submit", write_job(job)});
        EXPECT_EQ(submitted.code, 0) << submitted.err;
        const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
        const bool said = wait_until(Seconds{20}, [&] {
            why_ = here({"explain", id, "-o", "json"}).out;
            return why_.find(part) != std::string::npos;
        });
        EXPECT_TRUE(said) << part << "\nis not in\n" << why_;
        EXPECT_EQ(here({"cancel", id}).code, 0);
        return said ? id : "";
    }
    void expect_why(std::initializer_list<std::string> parts) {
        for (const std::string& part : parts)
            EXPECT_NE(why_.find(part), std::string::npos) << part << "\nis not in\n" << why_;
    }

    const std::string socket_ = path("c.sock");
    std::unique_ptr<Process> controller_;
    std::vector<std::unique_ptr<Process>> workers_;
    std::string why_;
};

JobText rooted(const std::string& data) {
    return {.data = '"' + data + '"', .extra = "checkpoint: {dir: \"ckpt:runs\"}\n"};
}

TEST_F(Roots, OfTwoDirectoriesHoldNoJobOverBothAndOfOneDirectoryDo) {
    const std::string text = "text=" + path("text");
    add_worker("w0", {"ckpt=" + path("a"), text});
    add_worker("w1", {"ckpt=" + path("b"), text});
    blocked(rooted("text:"), "is not one directory");
    expect_why({"checkpoint.dir ckpt:runs", id_of(0), id_of(1), "mount one file system"});

    end(*workers_.back());
    workers_.pop_back();
    fs::remove(path("b"));
    fs::create_directory_symlink(path("a"), path("b"));
    workers_.push_back(
        start({program("ringmaster-worker"), "--state", path("w1"), "--controller",
               "unix:" + socket_, "--http", "none", "--orphan", "stop", "--slots-on-machine", "2",
               "--root", "ckpt=" + path("b"), "--root", text}));
    const Finished run = here({"submit", write_job(rooted("text:")), "--follow"});
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    const std::string id = run.out.substr(0, run.out.find('\n'));
    EXPECT_TRUE(fs::exists(path("a/runs/" + id))) << "the checkpoints are where the root is";
    const Json roots = nodes().at(0).at("roots");
    EXPECT_EQ(roots.at(0).at("sharedWith").size(), 1u) << roots.dump(2);
    for (const auto& entry : fs::directory_iterator(path("a")))
        EXPECT_EQ(entry.path().filename().string().find("nonce"), std::string::npos);
    EXPECT_NE(here({"nodes", "-o", "wide"}).out.find("shared by 2"), std::string::npos);
}

TEST_F(Roots, AFileThatDiffersOnOneNodeIsNamedWithBothNodes) {
    write_file(path("data-b/text/3.txt"), "another text of the same name");
    add_worker("w0", {"ckpt=" + path("a"), "data=" + path("data-a")});
    add_worker("w1", {"ckpt=" + path("a"), "data=" + path("data-b")});
    blocked(rooted("data:text"), "differs between");
    expect_why({"data.path data:text", id_of(0), id_of(1), "copy it from one to the other"});
    fs::remove_all(path("data-b/text"));
    blocked(rooted("data:text"), "No such file or directory");
    expect_why({"node " + id_of(1)});
}

TEST_F(Roots, APathThatLeavesTheRootsIsRefused) {
    fs::create_directory_symlink(path("home"), path("data-a/link"));
    add_worker("w0", {"ckpt=" + path("a"), "data=" + path("data-a")});
    JobText job = rooted("data:link");
    job.parallel = "{ring: 1}";
    blocked(job, "leads to ");
    expect_why({"lies below no root"});
    job.data = path("text");
    blocked(job, "lies below no root");
}

// A file system of 256 KiB that only this test's thread and the processes it starts see.
TEST_F(Roots, TooLittleSpaceForTheCheckpointsBlocksTheJob) {
    const std::string small = path("a");
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=256k") != 0) {
        GTEST_SKIP() << "no private mount here: " << std::strerror(errno);
    }
    add_worker("w0", {"ckpt=" + small, "text=" + path("text")});
    JobText job = rooted("text:");
    job.parallel = "{ring: 1}";
    blocked(job, "3 checkpoints of ");
    expect_why({"checkpoint.dir ckpt:runs has ", " free", "make room"});
    end(*workers_.back());
    workers_.clear();
    ::umount(small.c_str());
}

}  // namespace
}  // namespace rm::e2e
