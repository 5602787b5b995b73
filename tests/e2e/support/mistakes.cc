#include "tests/e2e/support/mistakes.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace rm::e2e {
namespace {

struct Table {
    int rows = 0;
    int good = 0;
    std::set<std::string> said;
};

Table& table() {
    static Table table;
    return table;
}

std::string one_line(std::string text, std::size_t width) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text.size() > width ? text.substr(0, width - 3) + "..." : text;
}

// Finds words that no answer may contain: raw words of a library, positions in our source.
std::string leak_in(const std::string& answer) {
    for (const char* leak :
         {"A subcommand is required", "were not expected", "was not expected", "was not exp",
          "json.exception", ".cc:", "179769313486", "grpc", "GRPC", "E0000",
          "failed to connect to all addresses", "JOB_STATE_", "UNKNOWN:", "ssl_transport"}) {
        if (answer.find(leak) != std::string::npos) return leak;
    }
    return "";
}

}  // namespace

void expect_cured(const Mistake& mistake, const Finished& finished) {
    const std::string answer = finished.err + finished.out;
    std::string missing;
    for (const std::string& part : mistake.cure) {
        if (answer.find(part) == std::string::npos) missing += " [" + part + "]";
    }
    const std::string leak = leak_in(answer);
    const bool good = missing.empty() && leak.empty() && finished.code == mistake.code;
    table().said.insert(mistake.said);
    table().good += good ? 1 : 0;
    std::printf("%3d  %-34s %s  %s\n", ++table().rows, one_line(mistake.said, 34).c_str(),
                good ? "++" : "--", one_line(answer, 150).c_str());
    EXPECT_TRUE(good) << mistake.said << ": exit code " << finished.code << ", wanted "
                      << mistake.code << "; missing:" << missing << "; leaks: " << leak << "\n"
                      << answer;
}

const std::vector<std::vector<std::string>>& first_mistakes() {
    static const std::vector<std::vector<std::string>> mistakes = {
        // Verbs and options.
        {"sumbit"},
        {"list", "ps", "get jobs", "describe"},
        {"help", "help submit"},
        {"--version"},
        {"data prep"},
        {"--folow", "--verbose", "--set of nothing"},
        {"cancel A B"},
        {"show without id"},
        {"show ''"},
        {"unknown id"},
        {"a job's name"},
        {"drain HOST"},
        {"--rank 99"},
        {"--rank -1"},
        {"--attempt 7"},
        {"-o xml"},
        {"--since yesterday"},
        {"--state dead"},
        {"a job file that is missing", "a directory as job file"},
        // Addresses and certificates.
        {"controller down"},
        {"wrong port of a remote"},
        {"localhost"},
        {"http://"},
        {"remote without TLS"},
        {"--ca nofile"},
        {"wrong authority"},
        {"no credential", "wrong token"},
        {"plain on a TLS port"},
        {"other name in the certificate"},
        {"key of another certificate"},
        {"role too low"},
        {"--state nodir", "--context prod"},
        // Files and directories of a cluster.
        {"backup into a missing folder"},
        {"backup over a file"},
        {"restore while in use"},
        {"up on a used state"},
        {"up --listen 0.0.0.0"},
        {"controller --survey-every 6"},
        {"port in use"},
        // Keys and values of a job file.
        {"key nmae"},
        {"key contxt"},
        {"lr"},
        {"cp", "epochs", "wandb"},
        {"gpus"},
        {"key twice"},
        {"a tab"},
        {"a colon is missing"},
        {"context 8KB", "context 8KiB"},
        {"context 8k"},
        {"context -1024"},
        {"context 0"},
        {"1,024 in braces"},
        {"context 1_024", "context 4096.5"},
        {"batch 1000, context 1024"},
        {"evaluate every 10", "evaluate every 10m"},
        {"learning_rate 1e-3x", "learning_rate -0.1"},
        {"learning_rate 5", "show of it", "explain of it"},
        {"preset llama-3-8b"},
        {"fp8: {bf16_layers: 2}", "precision: fp16"},
        {"data path missing"},
        {"model directory missing"},
        {"a name of the Hub"},
        {"tokenizer gpt2"},
        {"model too large"},
        {"parallel: {ring: 64}"},
        {"parallel: {tensor: 3}"},
        {"evaluate: 10 steps"},
        {"no stages"},
        {"name my job!"},
        {"an empty file", "a byte that is not UTF-8"},
        {"retry: {lost_after: 30}", "memory: {device: 40G}"},
        {"three errors in one file"},
        // Other programs.
        {"job.yaml to ring-train"},
        {"ring-bench bogus"},
        {"ring-bench --threads -1"},
        {"controller --rank-log-cap 64MB"},
        {"worker --root x=/nowhere"},
        {"worker's data address is loopback"}};
    return mistakes;
}

void expect_a_row_for_each() {
    std::size_t with_rows = 0;
    for (const std::vector<std::string>& rows : first_mistakes()) {
        const bool all = std::all_of(rows.begin(), rows.end(), [](const std::string& row) {
            return table().said.count(row) > 0;
        });
        EXPECT_TRUE(all) << "a row of the mistake '" << rows.front() << "' is missing";
        with_rows += all ? 1 : 0;
    }
    std::printf("%d rows, %d name the cure; %zu of the %zu first mistakes have their rows\n",
                table().rows, table().good, with_rows, first_mistakes().size());
}

std::string job_with(const std::string& key, const std::string& line) {
    std::string text;
    for (const auto& [name, usual] : std::vector<std::pair<std::string, std::string>>{
             {"name", "name: demo\n"},
             {"model", "model: {preset: micro}\n"},
             {"data", "data: {path: text}\n"},
             {"stages",
              "stages:\n  - {context: 1K, batch: 1K, tokens: 10K, learning_rate: 1e-3}\n"},
             {"extra", ""}}) {
        text += name == key ? line + "\n" : usual;
    }
    return text;
}

std::string job_with_stage(const std::string& fields) {
    return job_with("stages", "stages:\n  - {" + fields + "}");
}

}  // namespace rm::e2e
