#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <sstream>

#include "base/format.h"
#include "tests/e2e/support/e2e_test.h"
#include "tests/e2e/support/http_get.h"

// Machines become nodes with an address, a token and a fingerprint, as an operator does it.
namespace rm::e2e {
namespace {

void expect_in(const std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

class Joining : public E2eTest {
protected:
    Joining() {
        init_ = init();
        EXPECT_EQ(init_.code, 0) << init_.err;
        fingerprint_ = init_.out.substr(init_.out.find("sha256:"));
        fingerprint_.erase(fingerprint_.find_last_not_of('\n') + 1);
    }
    ~Joining() override {
        for (auto& [name, worker] : workers_) {
            worker->signal(SIGTERM);
            EXPECT_EQ(worker->wait(Seconds{30}), 0) << name << worker->err();
        }
        stop_controller();
    }

    Finished init() {
        return cli({"init", "--name", "lab", "--san", "localhost", "--san", "127.0.0.1",
                    "--config-dir", path("etc"), "--state", path("controller"), "--user",
                    ::getpwuid(::geteuid())->pw_name});
    }
    // The keys of controller.yaml as flags; others in the place of addresses.
    std::vector<std::string> flags() const {
        std::vector<std::string> flags;
        std::istringstream lines(read_file(path("etc/controller.yaml")));
        for (std::string line; std::getline(lines, line);) {
            const auto colon = line.find(": ");
            if (line.starts_with('#') || colon == line.npos) continue;
            const std::string key = line.substr(0, colon);
            const auto begin = line.find('"') + 1;
            if (key == "listen" || key == "http") continue;
            flags.insert(flags.end(), {"--" + key, line.substr(begin, line.rfind('"') - begin)});
        }
        return flags;
    }
    void start_controller(const std::string& days = "30", const std::string& port = "0") {
        std::vector<std::string> argv = {
            program("ringmaster-controller"), "--listen", "127.0.0.1:" + port, "--http", "none",
            "--node-certificate-days",        days};
        for (const std::string& flag : flags())
            argv.push_back(flag);
        controller_ = start(argv);
        const std::string info = path("controller/controller.json");
        ASSERT_TRUE(wait_until(Seconds{20}, [&] { return !read_file(info).empty(); }))
            << controller_->err();
        const std::string bound = Json::parse(read_file(info))["grpc"][0];
        port_ = bound.substr(bound.rfind(':') + 1);
        address_ = "localhost:" + port_;
    }
    void stop_controller() {
        if (!controller_) return;
        controller_->signal(SIGTERM);
        EXPECT_EQ(controller_->wait(Seconds{30}), 0) << controller_->err();
        EXPECT_EQ(controller_->err().find(" error ringmaster"), std::string::npos)
            << controller_->err();
        controller_.reset();
    }

    Finished admin(std::vector<std::string> arguments, Seconds limit = Seconds{60}) {
        arguments.insert(arguments.begin(),
                         {"--address", address_, "--ca", path("etc/ca.crt"), "--cert",
                          path("etc/admin.crt"), "--key", path("etc/admin.key")});
        return cli(std::move(arguments), limit);
    }
    std::string ok(std::vector<std::string> arguments, Seconds limit = Seconds{60}) {
        const Finished run = admin(std::move(arguments), limit);
        EXPECT_EQ(run.code, 0) << run.err;
        return run.out;
    }
    // In the file NAME.token; returns its id.
    std::string make_token(const std::string& name, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {"token", "create", "--role",
                                              "join",  "-o",     path(name + ".token")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Finished made = admin(arguments);
        EXPECT_EQ(made.code, 0) << made.err;
        expect_in(made.err, {"--controller " + address_, "--ca-fingerprint " + fingerprint_});
        return made.err.substr(6, 10);
    }
    std::unique_ptr<Process> worker(const std::string& name, const std::string& token,
                                    const std::string& fingerprint) {
        return start({program("ringmaster-worker"), "--state", path(name), "--controller", address_,
                      "--name", name, "--devices", "cpu:2", "--http", "127.0.0.1:0", "--orphan",
                      "stop", "--join-token", path(token + ".token"), "--ca-fingerprint",
                      fingerprint});
    }
    Process& join(const std::string& name, const std::string& token) {
        workers_[name] = worker(name, token, fingerprint_);
        return *workers_[name];
    }
    // The worker's program ends with the code for "denied" and says why.
    void expect_denied(const std::string& name, const std::string& token,
                       const std::string& fingerprint,
                       std::initializer_list<std::string_view> words) {
        const auto refused = worker(name, token, fingerprint);
        EXPECT_EQ(refused->wait(Seconds{20}), 7) << refused->err();
        expect_in(refused->err(), words);
        EXPECT_FALSE(std::filesystem::exists(path(name + "/pki/worker.crt")));
    }
    std::string node_named(const std::string& name) {
        std::string id;
        wait_until(Seconds{30}, [&] {
            for (const Json& node : Json::parse(ok({"nodes", "-o", "json"}))) {
                if (node["inventory"]["hostname"] == name && node["sessionUp"]) id = node["id"];
            }
            return !id.empty();
        });
        return id;
    }
    static bool says(const Process& process, const std::string& words, Seconds limit = {30}) {
        return wait_until(limit, [&] { return process.err().find(words) != std::string::npos; });
    }
    static std::size_t renewals(const Process& process) {
        const std::string log = process.err();
        std::size_t count = 0;
        for (std::size_t at = 0; (at = log.find("certificate_renewed", at)) != log.npos; ++at)
            ++count;
        return count;
    }
    // In seconds since 1970, as /metrics of a worker says it.
    double expiry(const std::string& name) const {
        const Json info = Json::parse(read_file(path(name + "/worker.json")), nullptr, false);
        const std::string page = http_get(info.value("http", ""), "/metrics");
        const auto line = page.find("\nringmaster_node_certificate_expiry_timestamp_seconds{");
        if (line == page.npos) return 0;
        return std::stod(page.substr(page.find("} ", line) + 2));
    }
    Json refusals() { return Json::parse(ok({"audit", "--refused", "-o", "json"})); }
    Json job(const std::string& id) { return Json::parse(ok({"show", id, "-o", "json"})); }
    int mode(const std::string& file) const {
        struct stat facts {};
        EXPECT_EQ(::stat(path(file).c_str(), &facts), 0) << file;
        return static_cast<int>(facts.st_mode & 0777);
    }
    // Step and loss of every report of a job.
    static std::string losses(const std::string& csv) {
        std::string text;
        std::istringstream lines(csv);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream row(line);
            std::string job, rank, step, time, loss;
            for (std::string* field : {&job, &rank, &step, &time, &loss})
                std::getline(row, *field, ',');
            // Old points are kept as floats.
            if (step != "step") text += format("{} {}\n", step, std::stof(loss));
        }
        return text;
    }

    Finished init_;
    std::string fingerprint_;
    std::string address_;
    std::string port_;
    std::map<std::string, std::unique_ptr<Process>> workers_;
    std::unique_ptr<Process> controller_;
};

TEST_F(Joining, InitMakesEverythingOnceForItsReadersAlone) {
    expect_in(init_.out, {"ringmaster-worker --state", "--controller localhost:7070 --join-token"});
    for (const char* secret : {"etc/pki/ca.key", "etc/nodes.key", "etc/controller.key",
                               "etc/admin.key", "etc/tokens.yaml", "etc/deny-list"})
        EXPECT_EQ(mode(secret), 0600) << secret << ": the caller is the controller's user";
    for (const char* open : {"etc/ca.crt", "etc/controller.crt", "etc/controller.yaml"})
        EXPECT_EQ(mode(open), 0644) << open;
    EXPECT_EQ(mode("controller"), 0700);
    expect_in(read_file(path("home/.config/ringmaster/config.yaml")),
              {"current: \"lab\"", "address: \"localhost:7070\"", "admin.key"});
    const std::string key = read_file(path("etc/controller.key"));
    const Finished again = init();
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, init_.out);
    expect_in(again.err, {"everything is there: nothing was changed"});
    EXPECT_EQ(read_file(path("etc/controller.key")), key);
    // The tools of docs/security.md work on the same files.
    EXPECT_EQ(cli({"pki", "token", "--dir", path("etc/pki"), "--role", "viewer", "--name", "vera",
                   "-o", path("vera.token")})
                  .code,
              0);
    expect_in(read_file(path("etc/tokens.yaml")), {"vera"});
    const Finished nobody = cli({"init", "--name", "x", "--san", "x", "--config-dir", path("y"),
                                 "--state", path("z"), "--user", "no-such-user"});
    EXPECT_EQ(nobody.code, 3);
    expect_in(nobody.err, {"no user 'no-such-user'", "--user"});
}

TEST_F(Joining, AWorkerJoinsTrainsAndRenewsItsCertificateDuringARunWhoseLossesDoNotChange) {
    start_controller("0.0002");  // 17 s; the job takes longer than two thirds of that
    make_token("one");
    Process& joined = join("rack1", "one");
    const std::string node = node_named("rack1");
    EXPECT_EQ(node.substr(0, 6), "rack1-") << joined.err();
    EXPECT_EQ(mode("rack1/pki/worker.key"), 0600);
    const std::string first = read_file(path("rack1/pki/worker.key"));
    const double ends = expiry("rack1");
    EXPECT_NEAR(ends, static_cast<double>(std::time(nullptr)), 20);
    const std::string stages =
        "  - {context: 256, batch: 512, tokens: 2048000, learning_rate: 2e-3}\n";
    std::string id = ok({"submit", write_job({.stages = stages})});
    id.pop_back();
    ASSERT_TRUE(wait_until(Seconds{30}, [&] { return job(id)["state"] == "running"; }));
    const std::size_t before = renewals(joined);
    EXPECT_EQ(admin({"wait", id}, Seconds{400}).code, 0);
    EXPECT_GT(renewals(joined), before) << joined.err();
    EXPECT_NE(read_file(path("rack1/pki/worker.key")), first);
    EXPECT_GT(expiry("rack1"), ends + 4);
    const Json ended = job(id);
    EXPECT_EQ(ended["attempts"].size(), 1u);
    const std::string curve = losses(ok({"plot", id, "--quantity", "loss", "-o", "csv"}));

    const auto alone = up(path("alone"), {"--workers", "1", "--devices-per-worker", "2"});
    ASSERT_TRUE(alone);
    const std::string same = submit(path("alone"), path("job.yaml"));
    EXPECT_EQ(at(path("alone"), {"wait", same}).code, 0);
    EXPECT_EQ(losses(at(path("alone"), {"plot", same, "--quantity", "loss", "-o", "csv"}).out),
              curve);
    EXPECT_EQ(std::count(curve.begin(), curve.end(), '\n'), 4000);
    stop(*alone);

    // Another start needs no token; one beyond the first certificate's time shows the renewed one.
    joined.signal(SIGTERM);
    EXPECT_EQ(joined.wait(Seconds{30}), 0);
    std::filesystem::remove(path("one.token"));
    Process& again = join("rack1", "one");
    EXPECT_TRUE(says(again, "session_up")) << again.err();
    EXPECT_EQ(node_named("rack1"), node);
    EXPECT_EQ(refusals().size(), 0u) << refusals().dump(2);
}

TEST_F(Joining, EveryTokenThatIsNotGoodEndsTheProgramWithItsReasonAndARow) {
    start_controller();
    make_token("once");
    const std::string brief = make_token("brief", {"--expires", "1s"});
    const std::string taken = make_token("taken", {"--uses", "9"});
    ok({"token", "revoke", taken});
    join("rack1", "once");
    ASSERT_FALSE(node_named("rack1").empty()) << workers_["rack1"]->err();
    ok({"pki", "token", "--dir", path("etc/pki"), "--role", "admin", "--name", "ann", "-o",
        path("ann.token")});
    expect_denied("a", "once", fingerprint_, {"this machine cannot join", "is used up: 1 of 1"});
    sleep(Seconds{1});  // the time of "brief" is over, however fast the rest was
    expect_denied("b", "brief", fingerprint_, {"expired at"});
    expect_denied("c", "taken", fingerprint_, {"was revoked at"});
    expect_denied("d", "ann", fingerprint_, {"takes a join token alone; 'ann' has the role admin"});
    EXPECT_EQ(refusals().size(), 4u);
    ok({"pki", "init", "--dir", path("other")});
    expect_denied("e", "once", "sha256:" + std::string(64, '0'),
                  {"none of the 2 certificates", "the last one has " + fingerprint_});
    const Json rows = refusals();
    ASSERT_EQ(rows.size(), 4u) << "the wrong authority gets no call: " << rows.dump(2);
    const char* reasons[] = {"takes a join token alone", "was revoked", "expired", "used up"};
    for (std::size_t i = 0; i < 4; ++i) {
        expect_in(rows[i]["reason"], {reasons[i]});
        expect_in(rows[i]["method"], {"JoinService/Join"});
    }
    EXPECT_EQ(rows[1]["principal"], "join token " + taken);
    expect_in(rows[1]["peer"], {"127.0.0.1:"});
    expect_in(ok({"token", "ls"}), {brief, "expired", "revoked", "used up", "1/1", "admin"});
    EXPECT_EQ(admin({"--token-file", path("brief.token"), "ls"}).code, 7);
}

TEST_F(Joining, AWorkerWaitsForAControllerThatIsNotThereYet) {
    start_controller();
    make_token("one");
    stop_controller();
    Process& waiting = join("rack1", "one");
    ASSERT_TRUE(says(waiting, "join_waits")) << waiting.err();
    start_controller("30", port_);
    EXPECT_TRUE(says(waiting, "session_up")) << waiting.err();
    // A stop while it waits is no failure.
    stop_controller();
    std::filesystem::copy(path("one.token"), path("two.token"));
    const auto never = worker("rack2", "two", fingerprint_);
    ASSERT_TRUE(says(*never, "join_waits")) << never->err();
    never->signal(SIGTERM);
    EXPECT_EQ(never->wait(Seconds{10}), 0) << never->err();
    start_controller("30", port_);
}

TEST_F(Joining, ACopyOfANodeIsRefusedAndARemovedNodesJobGoesOnElsewhere) {
    start_controller();
    make_token("two", {"--uses", "3"});
    join("rack1", "two");
    const std::string first = node_named("rack1");
    ASSERT_FALSE(first.empty()) << workers_["rack1"]->err();

    std::filesystem::create_directories(path("thief"));
    std::filesystem::copy(path("rack1/pki"), path("thief/pki"),
                          std::filesystem::copy_options::recursive);
    Process& thief = join("thief", "two");
    EXPECT_TRUE(says(thief, "has a live session from")) << thief.err();
    const Json stolen = refusals();
    ASSERT_EQ(stolen.size(), 1u) << stolen.dump(2);
    EXPECT_EQ(stolen[0]["principal"], first);
    expect_in(stolen[0]["reason"], {"(rack1)", "(thief)", "must not share"});
    thief.signal(SIGTERM);
    EXPECT_EQ(thief.wait(Seconds{30}), 0);
    workers_.erase("thief");

    std::string id = ok({"submit", write_job({.stages = "  - {context: 256, batch: 512, tokens: "
                                                        "1280000, learning_rate: 2e-3}\n"})});
    id.pop_back();
    ASSERT_TRUE(wait_until(Seconds{30}, [&] { return job(id)["state"] == "running"; }));
    join("rack2", "two");
    ASSERT_FALSE(node_named("rack2").empty()) << workers_["rack2"]->err();
    expect_in(admin({"node", "remove", "rack1", "--reason", "sold", "--yes"}).err,
              {"is removed", "another node"});
    EXPECT_EQ(admin({"wait", id}, Seconds{300}).code, 0);
    const Json ended = job(id);
    ASSERT_EQ(ended["attempts"].size(), 2u) << ended.dump(2);
    expect_in(ended["attempts"][0]["cause"].dump(), {"gone with node " + first, "sold"});
    EXPECT_TRUE(says(*workers_["rack1"], "is revoked: the node was removed"))
        << workers_["rack1"]->err();
    const Json rows = refusals();
    expect_in(rows.dump(), {"is revoked: the node was removed"});
    for (const Json& node : Json::parse(ok({"nodes", "-o", "json"})))
        EXPECT_EQ(node.value("removed", false), node["id"] == first);
}

}  // namespace
}  // namespace rm::e2e
