// Machines of a cloud, from the controller that looks for them to the person who rents them. The
// cloud is tests/fleet/fake_crusoe.py.
#include "tests/e2e/support/daemons.h"
#include "tests/e2e/support/http_get.h"
#include "tests/fleet/fake_crusoe.h"

namespace rm::e2e {
namespace {

namespace fs = std::filesystem;

class Fleet : public Daemons {
protected:
    Fleet() : Daemons(2) {
        fs::create_directories(path("home/.crusoe"));
        write_file(path("home/.crusoe/config"),
                   format("[default]\naccess_key_id = \"{}\"\nsecret_key = \"{}\"\n"
                          "default_project = \"default\"\napi_endpoint = \"{}\"\n",
                          FakeCrusoe::kKeyId, FakeCrusoe::kSecret, fake_.endpoint()));
        fs::permissions(path("home/.crusoe/config"), fs::perms::owner_read);
        write_file(path("id.pub"), "ssh-ed25519 AAAA me@here\n");
    }
    ~Fleet() override { EXPECT_EQ(files_with_keys(), "") << "keys were written"; }

    void start_with_provider() {
        write_file(path("prices.yaml"),
                   "l40s-48gb.10x:\n  price: {per_device_hour: 1.25, currency: USD, date: "
                   "2026-11-01}\n");
        start_controller({"--http", "127.0.0.1:0", "--provider", "crusoe", "--provider-every",
                          "0.3 s", "--prices", path("prices.yaml")});
    }
    std::string metrics() {
        const Json info = Json::parse(read_file(path("c/controller.json")));
        return http_get(info["http"], "/metrics");
    }
    // Counts nodes with a price, once the provider's list has the shapes of their machines.
    bool have_price(int count) {
        return wait_until(Seconds{20}, [&] {
            const std::string page = metrics();
            int priced = 0;
            for (std::size_t at = 0;
                 (at = page.find("ringmaster_node_price_per_hour{", at)) != page.npos; ++at)
                priced += page.substr(page.find("} ", at), 6) == "} 1.25";
            return priced == count;
        });
    }
    void start_named(const std::string& name) {
        workers_[name] = start({program("ringmaster-worker"), "--state", path(name), "--controller",
                                address_, "--devices", "cpu:1", "--http", "none", "--orphan",
                                "stop", "--slots-on-machine", num_slots_, "--name", name});
    }
    // "w0:unprovisioned w1:gone", of the machines that `nodes` shows.
    std::string machines() {
        std::string text;
        for (const Json& item : Json::parse(there({"nodes", "-o", "json"}).out, nullptr, false)) {
            if (!item.contains("provision")) continue;
            text += format("{}{}:{}", text.empty() ? "" : " ", item.value("name", ""),
                           item.value("state", ""));
        }
        return text;
    }
    bool wait_for_machines(const std::string& wanted) {
        return wait_until(Seconds{20}, [&] { return machines() == wanted; });
    }
    Finished fleet(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "fleet");
        return there(std::move(arguments));
    }
    Finished create(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(),
                         {"create", "--shape", "l40s-48gb.10x", "--ssh-key", path("id.pub")});
        return fleet(std::move(arguments));
    }
    // Files of the daemons and of the command line with a key in them.
    std::string files_with_keys() {
        std::string found;
        std::error_code ignored;  // files come and go
        for (fs::recursive_directory_iterator at(path(""), ignored), end; at != end;
             at.increment(ignored)) {
            const std::string name = at->path().string();
            if (!at->is_regular_file(ignored) || name.find("/.crusoe/") != name.npos) continue;
            const std::string text = read_file(name);
            if (text.find(FakeCrusoe::kSecret) != text.npos ||
                text.find(FakeCrusoe::kKeyId) != text.npos)
                found += name + " ";
        }
        return found;
    }

    FakeCrusoe fake_{path(""), {"--machine", "w0=10.0.0.1", "--machine", "w1=10.0.0.2"}};
};

TEST_F(Fleet, MachinesGetWorkersAndGo) {
    start_with_provider();
    ASSERT_TRUE(wait_for_machines("w0:unprovisioned w1:unprovisioned")) << machines();
    const Finished wide = there({"nodes", "-o", "wide"});
    EXPECT_NE(wide.out.find("ansible-playbook ringmaster.cluster.site --limit w1"), wide.out.npos)
        << wide.out;
    const std::string arguments = read_file(format("/proc/{}/cmdline", controller_->pid()));
    EXPECT_EQ(arguments.find(FakeCrusoe::kSecret), arguments.npos);

    start_named("w0");
    ASSERT_TRUE(wait_for_machines("w1:unprovisioned")) << machines();
    ASSERT_TRUE(have_price(1)) << metrics();
    submit_job({.stages = "  - {context: 256, batch: 512, tokens: 51200000, "
                          "learning_rate: 1e-3}\n"});
    EXPECT_TRUE(wait_until(Seconds{20}, [&] {
        return there({"explain", job_, "-o", "json"})
                   .out.find("1 machine of the provider (crusoe) has no worker: w1") !=
               std::string::npos;
    })) << there({"explain", job_}).out;

    start_named("w1");
    ASSERT_TRUE(wait_until(Seconds{60}, [&] { return job().value("state", "") == "running"; }))
        << job().dump(2);
    EXPECT_EQ(machines(), "");
    EXPECT_TRUE(have_price(2)) << metrics();
    EXPECT_NE(metrics().find(format("ringmaster_run_cost{{currency=\"USD\",run=\"{}\"}}", job_)),
              std::string::npos)
        << "its plan has the rates of its machines' shape: " << metrics();
    const Finished busy = fleet({"delete", "w1", "--yes"});
    EXPECT_EQ(busy.code, 4) << busy.err;
    EXPECT_NE(busy.err.find(job_), busy.err.npos) << busy.err;
    EXPECT_EQ(fake_.count("DELETE"), 0);
    EXPECT_EQ(there({"cancel", "--now", job_}).code, 0);
    ASSERT_TRUE(wait_until(Seconds{30}, [&] { return job().value("state", "") == "cancelled"; }));
    const Finished deleted = fleet({"delete", "w1", "--yes"});
    EXPECT_EQ(deleted.code, 0) << deleted.err;
    EXPECT_EQ(deleted.out, "w1\n");
    ASSERT_TRUE(wait_for_machines("w1:gone")) << machines();
    EXPECT_NE(metrics().find("ringmaster_machines{state=\"gone\"} 1"), std::string::npos);

    fake_.control({{"faults", std::vector<std::string>(100, "500")}});
    EXPECT_TRUE(wait_until(Seconds{20}, [&] {
        return there({"nodes"}).err.find("does not answer: Crusoe answered 500") !=
               std::string::npos;
    })) << controller_->err();
    EXPECT_EQ(machines(), "w1:gone") << "what it knew stays";
}

TEST_F(Fleet, CreationShowsTheCostAndSaysWhatBecameOfEach) {
    const Finished nobody = create({"--count", "3"});
    EXPECT_EQ(nobody.code, 4) << nobody.err;
    EXPECT_NE(nobody.err.find("--yes"), nobody.err.npos);
    EXPECT_EQ(fake_.count("POST"), 0);

    const Finished made = create({"--count", "3", "--name", "ring", "--price", "14.5", "--yes"});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(made.out, "ring-1\nring-2\nring-3\n");
    EXPECT_NE(made.err.find("43.50 USD per hour"), made.err.npos) << made.err;
    EXPECT_NE(made.err.find("ring-2: running, 10.9.0."), made.err.npos) << made.err;

    const Finished taken = create({"--count", "2", "--name", "ring", "--yes"});
    EXPECT_EQ(taken.code, 4) << taken.err;
    EXPECT_NE(taken.err.find("ring-1, ring-2"), taken.err.npos) << taken.err;
    EXPECT_EQ(fake_.count("POST"), 1);

    fake_.control({{"stock", 1}});
    const Finished some = create({"--count", "2", "--name", "more", "--yes"});
    EXPECT_EQ(some.code, 1) << some.err;
    EXPECT_EQ(some.out, "more-1\n");
    EXPECT_NE(some.err.find("more-2: not created (out_of_stock: "), some.err.npos) << some.err;
    EXPECT_NE(some.err.find("1 of 2 machines were created"), some.err.npos) << some.err;
    const Finished none = create({"--name", "none", "--yes"});
    EXPECT_EQ(none.code, 4) << none.err;
    EXPECT_EQ(none.out, "");
    const Finished odd =
        fleet({"create", "--shape", "l40s-48gb.3x", "--ssh-key", path("id.pub"), "--yes"});
    EXPECT_EQ(odd.code, 3) << odd.err;
    EXPECT_NE(odd.err.find("l40s-48gb.4x"), odd.err.npos) << odd.err;
}

TEST_F(Fleet, AfterALostAnswerItLooksAndSendsNothingAgain) {
    fake_.control({{"faults", {"POST drop-after"}}});
    const Finished lost = create({"--count", "2", "--name", "ring", "--yes"});
    EXPECT_EQ(lost.code, 0) << lost.err;
    EXPECT_EQ(lost.out, "ring-1\nring-2\n");
    EXPECT_NE(lost.err.find("nothing is sent again"), lost.err.npos) << lost.err;
    fake_.control({{"faults", {"POST 500"}}});
    const Finished never = create({"--name", "never", "--yes", "--timeout", "1 s"});
    EXPECT_EQ(never.code, 4) << never.err;
    EXPECT_EQ(fake_.count("POST"), 2);
    fake_.control({{"faults", {"DELETE drop-after"}}});
    const Finished gone = fleet({"delete", "ring-1", "--yes"});
    EXPECT_EQ(gone.code, 0) << gone.err;
    EXPECT_EQ(gone.out, "ring-1\n");
}

TEST_F(Fleet, DeletesNothingWhenOneNameIsUnknownOrAUserSaysNo) {
    const Finished unknown = fleet({"delete", "w0", "w7", "--yes"});
    EXPECT_EQ(unknown.code, 3) << unknown.err;
    EXPECT_NE(unknown.err.find("'w7'"), unknown.err.npos) << unknown.err;
    const Finished no = on_terminal(
        path("c"), {"fleet", "delete", "w0", "--crusoe-config", path("home/.crusoe/config")},
        {{"\\[y/N\\]", "n\n"}});
    EXPECT_EQ(no.code, 130) << no.out;
    EXPECT_EQ(fake_.count("DELETE"), 0);
    EXPECT_EQ(fleet({"ls", "-o", "name"}).out, "w0\nw1\n");
    const Finished shapes = fleet({"shapes"});
    EXPECT_NE(shapes.out.find("l40s-48gb.10x"), shapes.out.npos) << shapes.out << shapes.err;
}

TEST_F(Fleet, TheJoinLineGoesIntoTheMachinesScript) {
    write_file(path("token"), "rm_" + std::string(64, '7') + "\n");
    fs::permissions(path("token"), fs::perms::owner_read);
    const Finished made =
        create({"--name", "ring", "--yes", "--join-token", path("token"), "--controller",
                "10.0.0.9:7070", "--ca-fingerprint", "sha256:" + std::string(64, 'a')});
    EXPECT_EQ(made.code, 0) << made.err;
    const std::string script =
        fake_.control({})["bodies"][0]["instance_template"]["startup_script"];
    EXPECT_NE(script.find("rm_7777"), script.npos);
    EXPECT_EQ((made.out + made.err).find("rm_7777"), std::string::npos);
    write_file(path("join.sh"), script);
    EXPECT_EQ(run({"/bin/bash", "-n", path("join.sh")}).code, 0) << "it is a script";
}

TEST_F(Fleet, AControllerWithoutAKeySaysWhereItLooks) {
    fs::remove(path("home/.crusoe/config"));
    const Finished refused = run({program("ringmaster-controller"), "--state", path("c"),
                                  "--listen", address_, "--provider", "crusoe"});
    EXPECT_NE(refused.code, 0);
    EXPECT_NE(refused.err.find("CRUSOE_ACCESS_KEY_ID"), refused.err.npos) << refused.err;
}

}  // namespace
}  // namespace rm::e2e
