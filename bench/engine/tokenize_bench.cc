#include <nlohmann/json.hpp>

#include <atomic>
#include <iostream>
#include <thread>

#include "base/units.h"
#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "engine/data/data_format.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench tokenize --tokenizer PATH|bytes --text PATH [--threads N] [--repeats N] "
    "[--json]\n"
    "Encodes up to 64 MiB of the text (files or JSON Lines), held in memory, with caches that "
    "start\n"
    "empty. Per core counts the processor's own time, which others on the machine do not take.\n";
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

struct Arguments {
    std::string tokenizer;
    std::string text;
    int num_threads = 1;
    int repeats = 7;
    Output output = Output::table;
};

// Medians of the repeats.
struct Figures {
    std::int64_t bytes = 0;
    std::int64_t tokens = 0;
    double seconds = 0;
    double core_seconds = 0;
};

Result<std::vector<std::string>> load_text(const std::string& path) {
    RM_TRY(const FoundData found, find_data(path, "auto"));
    RM_TRY(const std::unique_ptr<TextSource> source, open_text(found));
    std::vector<std::string> texts;
    std::int64_t bytes = 0;
    const auto reader = source->make_reader();
    for (std::int64_t i = 0; i < source->num_documents() && bytes < kMostBytes; ++i) {
        RM_TRY(std::string text, reader->load(i));
        bytes += std::ssize(text);
        texts.push_back(std::move(text));
    }
    return texts;
}

// Shared by all threads: each takes the next text until there is none.
struct Totals {
    std::atomic<std::size_t> next{0};
    std::atomic<std::int64_t> tokens{0};
    std::atomic<double> core_seconds{0};
};

void encode_share(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  Totals& totals) {
    const double start = thread_seconds();
    const auto encoder = tokenizer.make_encoder();
    std::vector<TokenId> ids;
    for (std::size_t i = 0; (i = totals.next++) < texts.size();) {
        ids.clear();
        RM_CHECK(encoder->encode(texts[i], ids), "text {} cannot be encoded", i);
        totals.tokens += std::ssize(ids);
    }
    totals.core_seconds += thread_seconds() - start;
}

Figures measure(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                const Arguments& arguments) {
    Figures figures;
    for (const std::string& text : texts)
        figures.bytes += std::ssize(text);
    std::vector<double> seconds, core_seconds;
    for (int turn = 0; turn < arguments.repeats; ++turn) {
        Totals totals;
        const double start = now({});
        std::vector<std::thread> threads;
        for (int i = 0; i < arguments.num_threads; ++i)
            threads.emplace_back([&] { encode_share(tokenizer, texts, totals); });
        for (std::thread& thread : threads)
            thread.join();
        seconds.push_back(now({}) - start);
        core_seconds.push_back(totals.core_seconds);
        figures.tokens = totals.tokens;
    }
    figures.seconds = median(seconds);
    figures.core_seconds = median(core_seconds);
    return figures;
}

void print(const Figures& figures, const Arguments& arguments) {
    const auto bytes = static_cast<double>(figures.bytes);
    if (arguments.output == Output::json) {
        const nlohmann::ordered_json json = {
            {"threads", arguments.num_threads},
            {"bytes", figures.bytes},
            {"tokens", figures.tokens},
            {"seconds", figures.seconds},
            {"bytes_per_second", bytes / figures.seconds},
            {"bytes_per_core_second", bytes / figures.core_seconds}};
        std::cout << json.dump(2) << "\n";
        return;
    }
    std::cout << format(
        "{} in {} tokens ({:.2} bytes each), {} threads: {:.1} MB/s, {:.1} MB/s per "
        "core\n",
        Bytes{figures.bytes}, figures.tokens, bytes / static_cast<double>(figures.tokens),
        arguments.num_threads, bytes / figures.seconds / 1e6, bytes / figures.core_seconds / 1e6);
}

Result<int> run(const Arguments& arguments) {
    RM_TRY(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(arguments.tokenizer));
    RM_TRY(const std::vector<std::string> texts, load_text(arguments.text));
    print(measure(*tokenizer, texts, arguments), arguments);
    return 0;
}

}  // namespace

int run_tokenize(std::span<char*> words) {
    Arguments a;
    const Command command{.program = "ring-bench tokenize",
                          .usage = kUsage,
                          .flags = {alone("--json", a.output, Output::json),
                                    {"--tokenizer", text(a.tokenizer)},
                                    {"--text", text(a.text)},
                                    {"--threads", number(a.num_threads, 1, 4096)},
                                    {"--repeats", number(a.repeats, 1, 4096)}},
                          .check = [&]() -> Status {
                              if (!a.tokenizer.empty() && !a.text.empty()) return {};
                              return invalid_argument("--tokenizer and --text are needed");
                          }};
    return run_command(words, command, [&] { return run(a); });
}

}  // namespace rm::bench
