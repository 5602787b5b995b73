#include "tests/e2e/support/mistakes.h"

#include <sstream>

#include "tests/e2e/support/secure_cluster.h"

// Checks that the answers to common mistakes name the cure: verbs, options, job files, addresses,
// certificates, paths, daemons, against the real programs. The tests print the table and its number
// of rows; the last one fails while one of the 78 mistakes that people made at their first use of
// the programs (first_mistakes()) has no row.
namespace rm::e2e {
namespace {

class Mistakes : public LocalClusterTest {
protected:
    void check(const std::vector<Mistake>& mistakes) {
        for (const Mistake& mistake : mistakes) {
            if (!mistake.file.empty()) write_file(path("job.yaml"), mistake.file);
            expect_cured(mistake, here(mistake.words));
        }
    }

    void check_program(const std::vector<Mistake>& mistakes) {
        for (Mistake mistake : mistakes) {
            std::vector<std::string> argv = mistake.words;
            argv[0] = program(argv[0]);
            expect_cured(mistake, run(argv));
        }
    }

    Mistake job(const std::string& said, const std::string& text,
                const std::vector<std::string>& cure) {
        return {said, {"submit", path("job.yaml")}, cure, 2, text};
    }
};

TEST_F(Mistakes, OfVerbsNameTheVerb) {
    check({
        {"sumbit", {"sumbit", "job.yaml"}, {"'sumbit' is not a command", "`ringmaster submit`"}},
        {"list", {"list"}, {"use `ringmaster ls`"}},
        {"ps", {"ps"}, {"use `ringmaster ls`"}},
        {"get jobs", {"get", "jobs"}, {"use `ringmaster ls`"}},
        {"get nodes", {"get", "nodes"}, {"use `ringmaster nodes`"}},
        {"describe", {"describe", "abc"}, {"use `ringmaster show`"}},
        {"kill", {"kill", "abc"}, {"use `ringmaster cancel`"}},
        {"frobnicate", {"frobnicate"}, {"'frobnicate' is not a command", "--help"}},
        {"nothing at all", {}, {"needs a command", "submit", "ls"}},
        {"help", {"help"}, {"submit", "Jobs", "Examples"}, 0},
        {"help submit", {"help", "submit"}, {"FILE", "--set", "--follow"}, 0},
        {"--version", {"--version"}, {"ringmaster 0.", "protocol"}, 0},
        {"data prep", {"data", "prep"}, {"did you mean `ringmaster data prepare`?"}},
        {"pki", {"pki"}, {"needs a command: init, issue, revoke, token"}},
    });
}

TEST_F(Mistakes, OfOptionsNameTheOption) {
    const std::string job = write_job({});
    check({
        {"--folow", {"submit", job, "--folow"}, {"no option --folow", "did you mean --follow?"}},
        {"--verbose", {"submit", job, "--verbose"}, {"no option --verbose", "submit --help"}},
        {"--set without a value", {"submit", job, "--set"}, {"--set needs a value"}},
        {"--set of nothing", {"submit", job, "--set", "x"}, {"KEY=VALUE", "stages.0."}},
        {"--set of an unknown key",
         {"submit", job, "--set", "stages.0.contxt=4K"},
         {"--set stages.0.contxt=4K: stages[0].contxt", "did you mean 'context'?"}},
        {"--set of a wrong value",
         {"submit", job, "--set", "stages.0.learning_rate=fast"},
         {"--set stages.0.learning_rate=fast: ", "0.1 or 2e-5"}},
        {"--set of a stage that is not there",
         {"submit", job, "--set", "stages.3.context=4K"},
         {"stages has no item '3'", "0 to 0"}},
        {"show without id", {"show"}, {"ID is missing; usage: ringmaster show ID"}},
        {"show ''", {"show", ""}, {"ID: the value is empty"}},
        {"show of two ids, one unknown", {"show", "zzzzzz", "yyyyyy"}, {"no job 'zzzzzz'"}, 3},
        {"cancel of unknown ids", {"cancel", "zzzzzz", "yyyyyy"}, {"'zzzzzz'", "'yyyyyy'"}, 3},
        {"explain of two ids", {"explain", "a", "b"}, {"'b' is one argument too many", "ID"}},
        {"unknown id", {"show", "zzzzzz"}, {"there is no job 'zzzzzz'"}, 3},
        {"drain of an unknown node", {"drain", "nowhere", "-y"}, {"no node 'nowhere'"}, 3},
        {"--rank -1", {"logs", "a", "--rank", "-1"}, {"--rank: '-1'", "of 0 or more"}},
        {"--rank x", {"logs", "a", "--rank", "x"}, {"--rank: 'x'", "whole number"}},
        {"--rank and --all-ranks",
         {"logs", "a", "--rank", "1", "--all-ranks"},
         {"exclude each other"}},
        {"--attempt 0", {"logs", "a", "--attempt", "0"}, {"--attempt: '0'", "of 1 or more"}},
        {"-o xml", {"ls", "-o", "xml"}, {"'xml' is not one of table|wide"}},
        {"explain -o name", {"explain", "a", "-o", "name"}, {"no 'name'", "table|json|yaml"}},
        {"restore -o json",
         {"restore", "b.db", "--state", "x", "-o", "json"},
         {"'ringmaster restore' has no option -o", "one format only"}},
        {"--since yesterday", {"history", "--since", "yesterday"}, {"30m, 2h or 3d"}, 2},
        {"--state dead", {"history", "--state", "dead"}, {"pending, starting"}, 2},
        {"--workers 0", {"up", "--workers", "0"}, {"'0'", "from 1 to 64"}},
        {"--interval 0", {"top", "--interval", "0"}, {"from 0.2 to 3600"}},
        {"wait --timeout soon", {"wait", "a", "--timeout", "soon"}, {"--timeout: ", "30 min"}},
        {"a directory as job file", {"submit", path("")}, {"is a directory", "job file"}},
        {"a job file that is missing", {"submit", path("no.yaml")}, {"no.yaml", "No such file"}},
    });
}

TEST_F(Mistakes, OfNamesAndAttemptsNameWhatThereIs) {
    const std::string id = submit(
        state_,
        write_job(
            {.name = "night",
             .stages = "  - {context: 256, batch: 512, tokens: 512M, learning_rate: 1e-3}\n"}));
    ASSERT_TRUE(wait_for_step(state_, id, 1));
    check({
        {"a job's name", {"show", "night"}, {id, "night"}, 0},
        {"--rank 99", {"logs", "night", "--rank", "99"}, {"ranks 0 to 1, not 99"}, 3},
        {"--attempt 7",
         {"logs", "night", "--attempt", "7"},
         {"no attempt 7", "only attempt is"},
         3},
        {"drain HOST", {"drain", "worker-1", "--keep-running", "-y"}, {"worker-1", "drained"}, 0},
        {"and back", {"resume", "worker-1"}, {"worker-1", "in service"}, 0},
        {"nodes NAME", {"nodes", "worker-1"}, {"worker-1"}, 0},
        {"continue of a live job", {"continue", "night"}, {id}, 4},
    });
    const std::string second = submit(state_, write_job({.name = "night"}));
    check({
        {"a name of two live jobs",
         {"cancel", "night"},
         {"2 jobs named 'night' are live", id, second},
         4},
        {"cancel A B", {"cancel", id, second, "--now"}, {id, second}, 0},
        {"wait A B", {"wait", id, second}, {id + " cancelled", second + " cancelled"}, 5},
        {"a name of ended jobs", {"show", "night"}, {second}, 0},
    });
}

TEST_F(Mistakes, OfKeysNameTheKey) {
    check({
        job("key nmae", job_with("name", "nmae: demo"), {"job.yaml:1:1: nmae", "'name'?"}),
        job("key contxt", job_with_stage("contxt: 1K, batch: 1K, tokens: 1K, learning_rate: 1e-3"),
            {"stages[0].contxt", "'context'?"}),
        job("lr", job_with_stage("context: 1K, batch: 1K, tokens: 1K, lr: 1e-3"),
            {"`learning_rate`"}),
        job("cp", job_with("extra", "parallel: {cp: 2}"), {"parallel.cp", "{ring: N}"}),
        job("tp", job_with("extra", "tp: 2"), {"{tensor: N}"}),
        job("dp", job_with("extra", "dp: 2"), {"{data: N}"}),
        job("sp", job_with("extra", "sp: 2"), {"{ring: N}"}),
        job("steps", job_with_stage("context: 1K, batch: 1K, steps: 10"),
            {"`tokens`: steps times"}),
        job("epochs", job_with("extra", "epochs: 3"), {"`tokens`: epochs times"}),
        job("gpus", job_with("extra", "gpus: 2"), {"resources: {devices: N}"}),
        job("wandb", job_with("extra", "wandb: true"), {"wandb", "history"}),
        job("gradient_accumulation", job_with("extra", "gradient_accumulation: 4"), {"`batch`"}),
        job("micro_batch", job_with_stage("context: 1K, micro_batch: 1"), {"`batch`"}),
        job("key twice", job_with("extra", "name: again"), {"already given at line 1", "keep one"}),
        job("no stages", "name: a\nmodel: {preset: micro}\ndata: {path: text}\n",
            {"required key 'stages' is missing"}),
        job("three errors in one file",
            "nmae: demo\nmodel: {preset: micro}\ndata: {path: text}\nseed: x\n"
            "stages:\n  - {context: 1K, batch: 1K, tokens: 1K, learning_rate: fast}\n",
            {"job.yaml:1:1: nmae", "job.yaml:4:7: seed", "job.yaml:6:", "learning_rate"}),
    });
}

TEST_F(Mistakes, OfYamlNameThePlace) {
    check({
        job("a tab", "name: a\nstages:\n\t- {context: 1K}\n",
            {"job.yaml:3:1: ", "a tab", "blanks"}),
        job("a colon is missing", "name demo\nmodel: {preset: micro}\n",
            {"job.yaml:1:1: ", "no colon"}),
        job("a bracket is missing", "name: a\nmodel: {preset: micro\n", {"'{' has no '}'"}),
        job("1,024 in braces",
            job_with_stage("context: 1,024, batch: 1K, tokens: 1K, learning_rate: 1e-3"),
            {"comma", "without commas"}),
        job("an empty file", "\n", {"expected a mapping (`name: ...`)"}),
        job("a byte that is not UTF-8", "name: \xff\n", {"not UTF-8"}),
    });
}

TEST_F(Mistakes, OfValuesNameOnesThatAreRight) {
    const auto context = [this](const std::string& value, const std::vector<std::string>& cure) {
        return job(
            "context " + value,
            job_with_stage("context: " + value + ", batch: 1K, tokens: 1K, learning_rate: 1e-3"),
            cure);
    };
    const auto extra = [this](const std::string& line, const std::vector<std::string>& cure) {
        return job(line, job_with("extra", line), cure);
    };
    const auto rate = [this](const std::string& value, const std::vector<std::string>& cure) {
        return job("learning_rate " + value,
                   job_with_stage("context: 1K, batch: 1K, tokens: 1K, learning_rate: " + value),
                   cure);
    };
    check({
        context("8KB", {"8192, 64K or 2M"}),
        context("8KiB", {"8192, 64K or 2M"}),
        context("-1024", {"8192, 64K or 2M"}),
        context("0", {"positive"}),
        context("1_024", {"8192, 64K or 2M"}),
        context("4096.5", {"8192, 64K or 2M"}),
        job("batch 1000, context 1024",
            job_with_stage("context: 1024, batch: 1000, tokens: 1M, learning_rate: 1e-3"),
            {"1024"}),
        extra("checkpoint: {every: 10}", {"'10 steps'"}),
        job("evaluate every 10", job_with("extra", "evaluate: {every: 10}"), {"'10 steps'"}),
        job("evaluate every 10m", job_with("extra", "evaluate: {every: 10m}"), {"'10 steps'"}),
        rate("1e-3x", {"0.1 or 2e-5"}),
        rate("-0.1", {"positive"}),
        job("preset llama-3-8b", job_with("model", "model: {preset: llama-3-8b}"), {"llama3-8b"}),
        extra("fp8: {bf16_layers: 2}", {"precision is fp32", "leave fp8 out"}),
        extra("precision: fp16", {"fp32, bf16 or fp8"}),
        extra("evaluate: 10 steps", {"expected a mapping (`every: ...`)"}),
        job("name my job!", job_with("name", "name: my job!"), {"1 to 63 letters"}),
        extra("retry: {lost_after: 30}", {"30 min"}),
        extra("memory: {device: 40G}", {"40GiB"}),
        extra("parallel: {tensor: 0}", {"parallel.tensor: 0 must be 1 or more"}),
        extra("parallel: {tensor: 3}", {"job.yaml:6:11: parallel: ", "2 or 4"}),
        extra("parallel: {ring: 4, inner_ring: 3}", {"parallel.inner_ring: 3", "2 or 4"}),
        extra("parallel: {ring: 64}", {"1024 is too short", "padded to 2048", "waste: 2048"}),
    });
}

TEST_F(Mistakes, OfInputsNameWhatIsNotThere) {
    check({
        job("data path missing", job_with("data", "data: {path: " + path("none") + "}"),
            {"data.path: " + path("none") + " does not exist on this machine"}),
        job("model directory missing", job_with("model", "model: {from: " + path("none") + "}"),
            {"model.from: " + path("none") + " does not exist"}),
        job("a name of the Hub", job_with("model", "model: {from: meta-llama/Llama-3.1-8B}"),
            {"'meta-llama/Llama-3.1-8B' is not a directory", "huggingface-cli download"}),
        job("tokenizer gpt2",
            job_with("data", "data: {path: " + path("text") + ", tokenizer: gpt2}"),
            {"data.tokenizer: 'gpt2' is neither", "`bytes`", "tokenizer.json"}),
        {"model too large",
         {"submit", write_job({.model = "{preset: llama3-70b}"}, "large.yaml")},
         {"llama3-70b", "no device of this cluster has more than", "or a smaller model"},
         4},
        {"context 8k",
         {"submit", path("job.yaml"), "-o", "json"},
         {"\"context\": 8192"},
         0,
         "name: eight\nmodel: {preset: micro}\ndata: {path: " + path("text") +
             "}\nparallel: {ring: 2}\nstages:\n  - {context: 8k, batch: 8k, tokens: 8k}\n"},
    });
}

TEST_F(Mistakes, OfALearningRateAreToldByTheRun) {
    const std::string steep =
        write_job({.name = "steep",
                   .stages = "  - {context: 256, batch: 512, tokens: 20K, learning_rate: 5}\n"});
    const std::vector<std::string> cure = {"the run has diverged: the loss of step",
                                           "learning rate"};
    check({{"learning_rate 5", {"submit", steep, "--follow"}, cure, 0},
           {"show of it", {"show", "steep"}, cure, 0},
           {"explain of it", {"explain", "steep"}, cure, 0}});
}

TEST_F(Mistakes, OfAddressesAndFilesNameTheOption) {
    const auto away = [this](const std::vector<std::string>& words) {
        std::vector<std::string> argv = {program("ringmaster")};
        argv.insert(argv.end(), words.begin(), words.end());
        return argv;
    };
    write_file(path("there"), "");
    const std::vector<Mistake> mistakes = {
        {"controller down",
         {"ls", "--address", "127.0.0.1:1"},
         {"cannot reach", "127.0.0.1:1", "connection refused", "ringmaster up"},
         1},
        {"localhost", {"ls", "--address", "localhost"}, {"localhost", "host:port"}, 2},
        {"http://", {"ls", "--address", "http://127.0.0.1:7070"}, {"host:port"}, 2},
        {"remote without TLS",
         {"ls", "--address", "10.0.0.1:7070"},
         {"not a loopback address, so TLS is required", "docs/security.md"},
         2},
        {"--ca nofile",
         {"ls", "--address", "127.0.0.1:1", "--ca", path("no.crt")},
         {"--ca: ", "no.crt", "No such file"},
         3},
        {"--state nodir", {"ls", "--state", path("nodir")}, {"ringmaster.json"}, 3},
        {"--context prod", {"ls", "--context", "prod"}, {"context 'prod'", "config file"}, 3},
        {"backup over a file",
         {"backup", path("there"), "--state", state_},
         {"exists", "--force"},
         4},
        {"backup into a missing folder",
         {"backup", path("no/b.db"), "--state", state_},
         {"cannot write"},
         1},
        {"restore while in use",
         {"restore", path("there"), "--state", state_ + "/controller"},
         {"in use by process"},
         1},
        {"up on a used state", {"up", "--state", state_}, {"in use by process"}, 4},
        {"up --listen 0.0.0.0",
         {"up", "--state", path("x"), "--listen", "0.0.0.0:0"},
         {"not a loopback address, so TLS is required"},
         2},
    };
    for (const Mistake& mistake : mistakes)
        expect_cured(mistake, run(away(mistake.words)));
}

TEST_F(Mistakes, OfTheOtherProgramsAreUsageErrors) {
    const std::string state = path("c");
    write_file(path("job.yaml"), job_with("", ""));
    check_program({
        {"controller --bogus",
         {"ringmaster-controller", "--state", state, "--bogus"},
         {"ringmaster-controller: ", "no option --bogus"}},
        {"controller without --state", {"ringmaster-controller"}, {"--state is missing"}},
        {"controller --survey never",
         {"ringmaster-controller", "--state", state, "--survey", "never"},
         {"'never' is not one of auto, manual"}},
        {"controller --survey-every 6",
         {"ringmaster-controller", "--state", state, "--survey-every", "6"},
         {"--survey-every: ", "30 min"}},
        {"controller --max-bypass 1",
         {"ringmaster-controller", "--state", state, "--max-bypass", "1"},
         {"--max-bypass: ", "30 min"}},
        {"controller --rank-log-cap 64MB",
         {"ringmaster-controller", "--state", state, "--rank-log-cap", "64MB"},
         {"--rank-log-cap '64MB' is not a size", "64MiB"}},
        {"controller --version",
         {"ringmaster-controller", "--version"},
         {"ringmaster-controller 0."},
         0},
        {"worker without --controller",
         {"ringmaster-worker", "--state", state},
         {"ringmaster-worker: ", "--controller is missing"}},
        {"worker --name",
         {"ringmaster-worker", "--state", state, "--controller", "unix:/x", "--name", "a b"},
         {"--name: 'a b'", "1 to 63 letters"}},
        {"worker --version", {"ringmaster-worker", "--version"}, {"ringmaster-worker 0."}, 0},
        {"ring-train --help", {"ring-train", "--help"}, {"CONFIG", "--dry-run"}, 0},
        {"ring-train --version", {"ring-train", "--version"}, {"ring-train 0."}, 0},
        {"ring-train --devise",
         {"ring-train", "x.json", "--devise", "cpu"},
         {"did you mean --device?"}},
        {"ring-train of a missing file", {"ring-train", path("no.json")}, {"no.json"}},
        {"job.yaml to ring-train", {"ring-train", path("job.yaml")}, {"job.yaml", "not JSON"}},
        {"ring-arena --help", {"ring-arena", "--help"}, {"TRACE", "--capacity"}, 0},
        {"ring-arena --version", {"ring-arena", "--version"}, {"ring-arena 0."}, 0},
        {"ring-arena --threads -1",
         {"ring-arena", "t.csv", "--threads", "-1"},
         {"--threads: '-1'", "from 1 to 64"}},
        {"ring-bench --help", {"ring-bench", "--help"}, {"usage: ring-bench", "tokenize"}, 0},
        {"ring-bench tokenize --help", {"ring-bench", "tokenize", "--help"}, {"--tokenizer"}, 0},
        {"ring-bench --version", {"ring-bench", "--version"}, {"ring-bench 0."}, 0},
        {"ring-bench bogus", {"ring-bench", "bogus"}, {"'bogus' is not a command"}},
        {"ring-bench gem", {"ring-bench", "gem"}, {"did you mean `ring-bench gemm`?"}},
        {"ring-bench gemm f32",
         {"ring-bench", "gemm", "f32"},
         {"'f32' is not expected", "options begin with --"}},
        {"ring-bench --threads -1",
         {"ring-bench", "gemm", "--threads", "-1"},
         {"--threads '-1' is not a whole number"}},
    });
}

class MistakesOfTls : public SecureCluster {
protected:
    void check(const std::string& context, const std::vector<Mistake>& mistakes) {
        for (const Mistake& mistake : mistakes)
            expect_cured(mistake, as(context, mistake.words));
    }
    // The lines of a daemon's log with this event.
    static Finished logged(const Process& daemon, const std::string& event) {
        EXPECT_TRUE(says(daemon, event)) << daemon.err();
        std::istringstream log(daemon.err());
        std::string lines;
        for (std::string line; std::getline(log, line);) {
            if (line.find(event) != std::string::npos) lines += line + "\n";
        }
        return {0, "", lines};
    }
};

TEST_F(MistakesOfTls, NameTheFileOrTheOption) {
    ok({"pki", "init", "--dir", path("other")});
    write_file(path("wrong.token"), "rm_0000\n");
    std::filesystem::permissions(path("wrong.token"), std::filesystem::perms(0600));
    const std::string ca = path("pki/ca.crt");
    check("nobody",
          {{"no credential", {"ls"}, {"no credential", "certificate", "token file"}, 7},
           {"wrong token",
            {"ls", "--token-file", path("wrong.token")},
            {"the token is not known"},
            7},
           {"key of another certificate",
            {"ls", "--cert", path("admin.crt"), "--key", path("worker.key")},
            {"the key in " + path("worker.key"), "is not that of the certificate", "admin.crt"},
            2}});
    check("vera",
          {{"wrong authority",
            {"ls", "--ca", path("other/ca.crt")},
            {path("other/ca.crt") + " did not sign the certificate of the controller"},
            4},
           {"other name in the certificate",
            {"ls", "--server-name", "elsewhere.lab"},
            {"is not for 'elsewhere.lab'", "--server-name", "--san"},
            4},
           {"role too low", {"audit"}, {"'vera' has the role viewer", "needs the role admin"}, 7}});
    expect_cured({"plain on a TLS port", {}, {address_, "speaks TLS", "--ca FILE"}, 4},
                 cli({"--address", address_, "ls"}));
    // connect() takes 0.0.0.0 for this machine; we do not take it for a loopback address.
    expect_cured({"wrong port of a remote",
                  {},
                  {"0.0.0.0:1", "connection refused", "is it running, and is the port right?"},
                  1},
                 cli({"--address", "0.0.0.0:1", "--ca", ca, "ls"}));
}

TEST_F(MistakesOfTls, OfDaemonsAreToldAtTheirStart) {
    expect_cured({"port in use", {}, {"cannot listen on " + address_, "another address"}, 1},
                 run({program("ringmaster-controller"), "--state", path("second"), "--listen",
                      address_, "--http", "none"}));
    const Process& worker =
        start_worker({"--ca", path("pki/ca.crt"), "--cert", path("worker.crt"), "--key",
                      path("worker.key"), "--root", "x=/nowhere", "--data-address", "127.0.0.1"},
                     "10.255.255.1:7070");
    expect_cured({"worker --root x=/nowhere",
                  {},
                  {"root=x", "/nowhere", "No such file or directory", "no job uses this root"},
                  0},
                 logged(worker, "root_unusable"));
    expect_cured({"worker's data address is loopback",
                  {},
                  {"127.0.0.1 is a loopback address", "10.255.255.1:7070", "--data-address"},
                  0},
                 logged(worker, "data_address_unreachable"));
}

TEST(MistakesInAll, HaveARowForEachOfTheFirst) {
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    if (all.test_to_run_count() < all.total_test_count())
        GTEST_SKIP() << "the rows of the tests that are left out are missing";
    expect_a_row_for_each();
}

}  // namespace
}  // namespace rm::e2e
