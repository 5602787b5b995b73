#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "cli/input/model_input.h"
#include "cli/show/text.h"
#include "engine/generate/continuation.h"

namespace rm {
namespace {

struct SampleOptions : ModelVerbOptions {
    std::string prompt = add("-p,--prompt", prompt, "Text to continue", {.type = "TEXT"});
    std::string file = add("-f,--file", file, "File with the text to continue; - is stdin",
                           {.type = "FILE", .excludes = "--prompt"});
    std::int64_t tokens = add("-n,--tokens", tokens, "The most tokens to add", number_from(1), 128);
    double temperature =
        add("--temperature", temperature, "Of the draw; 0 takes the likeliest token",
            {.type = "T", .check = number(0, 100)}, 0);
    double top_p = add("--top-p", top_p, "Draw from the likeliest tokens with this probability",
                       {.type = "P", .check = number(0.000001, 1)}, 1);
    std::uint64_t seed = add("--seed", seed, "Of the draw", {.type = "N"}, 1);
    bool past_end = add("--past-end", past_end, "Go on after the token that ends a document");
    OutputFormat output = add_output(output, "table|json|yaml");
};

Result<std::string> prompt_text(const SampleOptions& options, Console& console) {
    if (!options.prompt.empty()) return options.prompt;
    if (options.file.empty())
        return invalid_argument("a prompt is missing: --prompt TEXT or --file FILE");
    std::ifstream file;
    if (options.file != "-") {
        file.open(options.file, std::ios::binary);
        if (!file) return make_error(ErrorCode::not_found, "cannot read {}", options.file);
    }
    std::istream& in = options.file == "-" ? console.in.stream : file;
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// The continuation, and how long it took.
struct Sampled {
    std::vector<TokenId> tokens;
    std::string text;
    double prompt_seconds = 0;  // up to the first token
    double seconds = 0;         // of all
};

class Sampling {
public:
    Sampling(const SampleOptions& options, LocalModel& model, VerbContext& context)
        : options_(options), model_(model), console_(context.console) {}

    Result<Sampled> run(const std::vector<TokenId>& prompt, const Signals& signals) {
        note_length(std::ssize(prompt));
        RM_RETURN_IF_ERROR(model_.make_room(std::ssize(prompt) - 1, options_.tokens));
        Generator generator(model_.engine(), model_.meeting());
        TokenSampler sampler({options_.temperature, options_.top_p, options_.seed});
        ContinuationLimits limits{options_.tokens};
        if (!options_.past_end) limits.end = model_.tokenizer().end_of_document();
        StreamedText text(model_.tokenizer());
        Status status;
        sampled_.tokens = continue_prompt(generator, prompt, limits, sampler, [&](TokenId token) {
            if (sampled_.prompt_seconds == 0) sampled_.prompt_seconds = watch_.seconds();
            const auto added = text.add(token);
            if (!added) return status = added.error(), false;
            show(*added);
            return !signals.token().stop_requested();
        });
        RM_RETURN_IF_ERROR(status);
        show(text.finish());
        sampled_.text = text.text();
        sampled_.seconds = watch_.seconds();
        return std::move(sampled_);
    }

private:
    void note_length(std::int64_t prompt) {
        const std::int64_t trained = model_.trained().context;
        if (trained == 0 || prompt + options_.tokens <= trained) return;
        console_.note(format("{} tokens of prompt and up to {} more: the model was trained for {}",
                             grouped(prompt), grouped(options_.tokens), grouped(trained)));
    }
    void show(const std::string& text) {
        if (options_.output == OutputFormat::table)
            console_.out.stream << console_.out.data(text) << std::flush;
    }

    const SampleOptions& options_;
    LocalModel& model_;
    Console& console_;
    Stopwatch watch_;
    Sampled sampled_;
};

std::string rate_text(const Sampled& sampled, std::size_t prompt) {
    const double rest = sampled.seconds - sampled.prompt_seconds;
    const double count = static_cast<double>(sampled.tokens.size()) - 1;
    return format("{} tokens of prompt in {}, {} tokens in {} ({} tokens/s)", grouped(prompt),
                  Seconds{sampled.prompt_seconds}, grouped(sampled.tokens.size()), Seconds{rest},
                  rest > 0 ? format("{:.1}", count / rest) : "-");
}

Result<ExitCode> run_sample(const SampleOptions& options, VerbContext& context) {
    Signals signals;  // before any thread
    context.misused = options.prompt.empty() && options.file.empty();
    RM_TRY(const std::string text, prompt_text(options, context.console));
    RM_TRY(const std::unique_ptr<LocalModel> model, open_model(options, signals, context));
    RM_TRY(const std::vector<TokenId> prompt, prompt_tokens(text, model->tokenizer()));
    RM_TRY(const Sampled sampled, Sampling(options, *model, context).run(prompt, signals));
    if (options.output != OutputFormat::table) {
        const nlohmann::ordered_json out = {{"model", model->path()},
                                            {"promptTokens", prompt.size()},
                                            {"tokens", sampled.tokens},
                                            {"text", sampled.text}};
        constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // broken characters
        print_json(context.console.out.stream, out.dump(-1, ' ', false, kReplace), options.output);
    } else {
        context.console.out.stream << '\n';
    }
    context.console.note(rate_text(sampled, prompt.size()));
    return signals.token().stop_requested() ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

Verb sample_verb() {
    return verb_of(
        "sample", "Continue a text with a trained model, on this machine", run_sample,
        {{"ringmaster sample a1b2c3 --prompt Once", "the newest checkpoint of a job"},
         {"ringmaster sample my-model -f book.txt -n 200 --temperature 0.8 --top-p 0.95", ""}});
}

}  // namespace rm
