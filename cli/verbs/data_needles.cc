#include <nlohmann/json.hpp>

#include <fstream>

#include "base/units.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "engine/evaluate/needles.h"

namespace rm {
namespace {

struct NeedleDataOptions : VerbOptions {
    std::string path = add("FILE", path, "JSON Lines to write", required_text());
    std::string total = add("--bytes", total, "Text in all [8M]", {.type = "N"}, "8M");
    std::int64_t from = add("--from", from, "Bytes of the shortest document", number_from(60), 100);
    std::int64_t to = add("--to", to, "Bytes of the longest document", number_from(60), 255);
    std::int64_t digits = add("--digits", digits, "Of a needle's number", number_from(1), 4);
    std::uint64_t seed = add("--seed", seed, "Of the draw", {.type = "N"}, 1);
};

Result<ExitCode> run_data_needles(const NeedleDataOptions& options, VerbContext& context) {
    NeedleDocuments spec{options.from, options.to, 0, static_cast<int>(options.digits),
                         options.seed};
    const auto total = parse_count(options.total, Suffix::decimal);
    if (!total) return within("--bytes", total.error());
    spec.total = *total;
    if (spec.from > spec.to) {
        return invalid_argument("--from {} is more than --to {}", spec.from, spec.to);
    }
    std::ofstream file(options.path, std::ios::binary);
    std::int64_t documents = 0;
    write_needle_documents(spec, [&](std::string_view text) {
        file << nlohmann::json{{"text", text}}.dump() << '\n';
        ++documents;
    });
    if (!file.flush()) return make_error(ErrorCode::unavailable, "cannot write {}", options.path);
    context.console.out.stream << format("{}: {}\n", options.path, counted(documents, "document"));
    return ExitCode::ok;
}

}  // namespace

Verb data_needles_verb() {
    return verb_of("needles", "Write synthetic documents that teach a small model to retrieve",
                   run_data_needles,
                   {{"ringmaster data needles needles.jsonl --to 511 --bytes 12M", ""}});
}

}  // namespace rm
