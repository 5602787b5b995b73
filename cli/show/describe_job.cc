#include "cli/show/describe_job.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/show/job_text.h"
#include "cli/show/placement_text.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/suite/suite_text.h"
#include "spec/report.h"

namespace rm {
namespace {

void line(const Output& out, std::string_view name, const std::string& value) {
    out.stream << format("{:<12}", name) << (value.empty() ? "-" : printable(value)) << '\n';
}

void heading(const Output& out, std::string_view name) {
    out.stream << '\n' << out.paint(name, Color::dim) << '\n';
}

std::string when(const google::protobuf::Timestamp& time, WallTime now) {
    return format("{} ({} ago)", time_text(time), span_text(now - from_proto(time)));
}

// Prepared data are already tokenized, by an unknown tokenizer; for text, the job names the
// tokenizer. Only the ranks know the format that `auto` finds.
std::string tokens_text(const pb::DataSpec& data) {
    if (data.format() == "megatron") return "Megatron ids";
    if (data.format() == "llmc") return "llm.c ids";
    if (data.format() == "mds") return "MDS ids";
    const bool bytes = data.tokenizer() == "bytes";
    const std::string text = bytes ? "byte-level tokens" : "tokenizer " + data.tokenizer();
    return data.format() == "auto" ? text + " if it is text" : text;
}

std::string data_text(const pb::DataSpec& data) {
    if (data.sources().empty()) return format("none ({})", tokens_text(data));
    const std::string sources = join(data.sources(), ", ", [](const pb::DataSource& source) {
        return to_string(DataSource{source.path(), source.proportion()});
    });
    const bool separate = data.documents() == to_string(Documents::separate);
    return format("{} ({}, {} held out{})", sources, tokens_text(data),
                  percent_text(data.holdout()),
                  separate ? format(", separate documents, positions {}", data.positions()) : "");
}

std::string attention_text(const pb::JobSpec& spec) {
    const bool as_compute =
        spec.attention().empty() || spec.attention() == to_string(AttentionNumbers::compute);
    return as_compute ? "" : format(", attention in {}", spec.attention());
}

// The messages that travel as codes.
std::string messages_text(const pb::JobSpec& spec) {
    std::vector<std::string> axes;
    for (const auto& [axis, numbers] : {std::pair{"ulysses", spec.messages().ulysses()},
                                        std::pair{"tensor", spec.messages().tensor()}}) {
        if (numbers == to_string(MessageNumbers::fp8)) axes.emplace_back(axis);
    }
    return axes.empty() ? "" : format(", messages of {} in fp8", join(axes, " and "));
}

std::string fp8_text(const pb::JobSpec& spec) {
    if (spec.precision() != "fp8") return "";
    const pb::Fp8Spec& fp8 = spec.fp8();
    return format(" ({}, gradients {}, {} at each end in bf16)", fp8.recipe(), fp8.gradients(),
                  counted(fp8.bf16_layers(), "layer"));
}

std::string model_text(const pb::JobSpec& spec) {
    const pb::OptimizerSpec& optimizer = spec.optimizer();
    return format("{}, {}{}{}{}{}{}", model_name(spec.model()), spec.precision(), fp8_text(spec),
                  attention_text(spec), messages_text(spec),
                  optimizer.moments() == "bf16" ? ", moments bf16" : "",
                  optimizer.gradients() == "bf16" ? ", gradients bf16" : "");
}

// As requested; the attempts have the resulting mesh.
std::string parallel_text(const pb::JobSpec& spec) {
    if (spec.has_parallel()) return mesh_text(spec.parallel(), spec.zero());
    return spec.zero() > 0 ? format("auto, ZeRO-{}", spec.zero()) : "auto";
}

// The memory settings of the job; the attempts have the resulting policy.
std::string memory_text(const pb::MemorySpec& memory) {
    std::string text;
    const auto say = [&text](std::string_view key, const std::string& value) {
        if (!value.empty() && value != "auto") text += format("{} {}, ", key, value);
    };
    say("tile", memory.tile() > 0 ? format("{}", memory.tile()) : "");
    say("chunk", memory.chunk() > 0 ? format("{}", memory.chunk()) : "");
    say("keep", memory.keep());
    say("alpha", memory.has_alpha() ? format("{}", memory.alpha()) : "");
    say("offload", memory.offload());
    say("windows", memory.windows());
    if (memory.has_keep_every() && memory.keep_every() > 1)
        say("keep every", format("{} layers", memory.keep_every()));
    say("keep precision", memory.keep_precision() == to_string(KeptPrecision::compute)
                              ? ""
                              : memory.keep_precision());
    if (memory.has_prefetch() && memory.prefetch() != MemorySpec().prefetch) {
        say("prefetch", format("{}", memory.prefetch()));
    }
    say("arena", memory.arena() == to_string(ArenaReuse::on) ? "" : memory.arena());
    say("device at most", memory.has_device() ? exact_text({memory.device()}) : "");
    say("host at most", memory.has_host() ? exact_text({memory.host()}) : "");
    return text.empty() ? "auto" : text + "the rest auto";
}

std::string checkpoint_text(const pb::CheckpointSpec& checkpoint) {
    const std::string where =
        checkpoint.dir().empty() ? "in the cluster's own directory" : "in " + checkpoint.dir();
    std::string often = "at the end";
    if (checkpoint.every_steps() > 0) {
        often = checkpoint.every_steps() == 1
                    ? "every step"
                    : format("every {} steps and at the end", checkpoint.every_steps());
    } else if (checkpoint.every_seconds() > 0) {
        often = format("every {} and at the end", Seconds{checkpoint.every_seconds()});
    }
    return format("{}, {}, the newest {} kept", often, where, checkpoint.keep());
}

// Omits the usual values.
void print_failures(const Output& out, const pb::Job& job, WallTime now) {
    const std::string& from = job.spec().checkpoint().from();
    if (!job.continues().empty()) {
        line(out, "continues", format("job {}, from {}", job.continues(), from));
    } else if (!from.empty()) {
        line(out, "starts from", from);
    }
    if (job.spec().priority() != 0) line(out, "priority", format("{}", job.spec().priority()));
    if (job.has_retry_at() && from_proto(job.retry_at()) > now) {
        line(out, "retry", "in " + span_text(from_proto(job.retry_at()) - now));
    }
    if (!job.excluded_devices().empty()) line(out, "excluded", join(job.excluded_devices()));
    if (job.recovered()) line(out, "recovered", "adopted from its workers after a restore");
}

void print_head(const Output& out, const pb::Job& job, WallTime now) {
    line(out, "job", job.id());
    line(out, "name", job.spec().name());
    if (!job.spec().tags().empty()) line(out, "tags", join(job.spec().tags(), ", "));
    if (!job.spec().note().empty()) line(out, "note", job.spec().note());
    out.stream << format("{:<12}", "state")
               << out.paint(state_name(job.state()), state_color(job.state())) << '\n';
    line(out, "owner", format("{} (project {})", job.owner(), job.project()));
    line(out, "submitted", when(job.submitted(), now));
    if (job.has_ended()) {
        line(out, "ended",
             format("{}, after {}", when(job.ended(), now), span_text(*duration_of(job))));
    }
    if (job.has_cost()) line(out, "cost", to_string(from_proto(job.cost())));
    line(out, "model", model_text(job.spec()));
    line(out, "data", data_text(job.spec().data()));
    line(out, "seed", format("{}", job.spec().seed()));
    line(out, "mesh", parallel_text(job.spec()));
    line(out, "memory", memory_text(job.spec().memory()));
    line(out, "checkpoint", checkpoint_text(job.spec().checkpoint()));
    print_failures(out, job, now);
    if (!job.failure().empty()) line(out, "failure", job.failure());
}

void print_blocking(const Output& out, const pb::Job& job) {
    if (job.blocking_reasons().empty()) return;
    heading(out, "pending");
    for (const std::string& reason : job.blocking_reasons())
        out.stream << "  " << printable(reason) << '\n';
}

void print_progress(const Output& out, const pb::Job& job) {
    if (!job.has_last_step()) return;
    heading(out, "progress");
    const pb::StepReport& step = job.last_step();
    out.stream << "  " << step_line(from_proto(step)) << '\n';
    for (const std::string& line : step_constants(from_proto(step)))
        out.stream << "  " << printable(line) << '\n';
    if (has_diverged(from_proto(step)))
        out.stream << "  " << diverged_line(from_proto(step)) << '\n';
    if (step.full_mfu() > 0) {
        out.stream << format("  MFU by the full-attention count: {}, HFU (causal): {}\n",
                             percent_text(step.full_mfu()), percent_text(step.hfu()));
    }
    if (const auto left = time_left(job)) {
        out.stream << format("  {} tokens so far, {} left\n", grouped(step.tokens_total()),
                             span_text(*left));
    }
    if (job.has_last_evaluation()) {
        out.stream << "  " << evaluation_line(from_proto(job.last_evaluation())) << '\n';
    }
}

// Whether the model makes use of a long context: its loss falls with what comes before the target.
void print_positions(const Output& out, const pb::EvaluationReport& evaluation) {
    if (evaluation.by_position_size() < 2) return;
    heading(out, "held-out loss by the tokens before the target");
    Table table({{"FROM", Align::right},
                 {"TARGETS", Align::right},
                 {"NATS", Align::right},
                 {"PERPLEXITY", Align::right}});
    for (const pb::PositionLoss& position : evaluation.by_position()) {
        table.add({grouped(position.from_tokens()), grouped(position.targets()),
                   format("{:.4}", position.loss()), format("{:.2}", std::exp(position.loss()))});
    }
    table.print(out, "  ");
}

void print_suites(const Output& out, const pb::Job& job) {
    for (const pb::SuiteReport& suite : job.last_suites()) {
        heading(out, format("{} at step {}", printable(suite.name()), suite.step()));
        print_suite(out, from_proto(suite), "  ");
    }
}

// Its base, and how it stretches positions: "500000", "auto", "model's, yarn x 16".
std::string stage_rope_text(const pb::StageSpec& stage) {
    std::string text = stage.rope_theta() > 0 ? format("{}", stage.rope_theta()) : "model's";
    if (stage.rope_theta() == kAutoTheta) text = "auto";
    if (!stage.rope().empty() && stage.rope() != to_string(StageRope::model)) {
        text += ", " + stage.rope();
        if (stage.rope_factor() > 0) text += format(" x {}", stage.rope_factor());
    }
    return text;
}

void print_stages(const Output& out, const pb::Job& job) {
    heading(out, "stages");
    int number = 0;
    Table table({{"#", Align::right},
                 {"CONTEXT", Align::right},
                 {"BATCH", Align::right},
                 {"STEPS", Align::right},
                 {"TOKENS", Align::right},
                 {"ROPE-THETA", Align::right},
                 {"LEARNING-RATE"},
                 {"WARMUP", Align::right}});
    for (const pb::StageSpec& stage : job.spec().stages()) {
        const std::int64_t steps = stage_steps(stage);
        table.add({++number, context_text(stage.context()), context_text(stage.batch()),
                   grouped(steps), grouped(steps * stage.batch()), stage_rope_text(stage),
                   format("{} {}", stage.learning_rate(), stage.schedule()), stage.warmup_steps()});
    }
    table.print(out, "  ");
}

void print_attempts(const Output& out, const pb::Job& job, WallTime now) {
    if (job.attempts().empty()) return;
    heading(out, "attempts");
    TableOf table(job.attempts());
    table.right("ATTEMPT", &pb::Attempt::epoch);
    table.left("STATE", ended_as);
    table.left("MESH", [](auto& attempt) { return mesh_text(attempt); });
    table.left("STARTED", started_text);
    table.right("TOOK", [now](auto& attempt) { return took_text(attempt, now); });
    table.right("ENERGY", [](auto& attempt) { return energy_text(attempt.energy_joules()); });
    if (!job.cost().currency().empty()) table.right("COST", attempt_cost_text);
    table.right("STAGES-DONE", &pb::Attempt::stages_done);
    table.left("CHECKPOINT", &pb::Attempt::last_checkpoint_path);
    table.left("REASON", &pb::Attempt::cause);
    table.done().print(out, "  ");
}

void print_alarms(const Output& out, const pb::Job& job) {
    if (job.alarms().empty()) return;
    heading(out, "alarms");
    for (const pb::Alarm& alarm : job.alarms()) {
        out.stream << format("  {} attempt {}: {}\n", time_text(alarm.time()), alarm.epoch(),
                             printable(alarm.text()));
    }
}

void print_mesh(const Output& out, const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    if (attempt == nullptr || attempt->placement().empty()) return;
    heading(out, format("mesh of attempt {}", attempt->epoch()));
    draw_mesh(out, *attempt);
}

void print_memory(const Output& out, const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    if (attempt == nullptr || !attempt->has_memory()) return;
    const Result<MemoryPolicy> policy = from_proto(attempt->memory());
    if (!policy) return;  // a newer controller may use other words
    heading(out, format("memory of attempt {}", attempt->epoch()));
    out.stream << "  " << to_string(*policy) << '\n';
}

int longest_stage_of(const pb::JobSpec& spec) {
    const Result<JobSpec> values = from_proto(spec);
    return values && !values->stages.empty() ? values->longest_stage_index() : -1;
}

// The dry run of the attempt, beside its last step of the stage that it was made of.
void print_prediction(const Output& out, const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    if (attempt == nullptr || !attempt->has_predicted()) return;
    const pb::PlanPrediction& plan = attempt->predicted();
    std::string step = format("a step in {}", Seconds{plan.step_seconds()});
    std::string device = format("{} of each device", Bytes{plan.device_bytes()});
    const bool compares = attempt->last_step().stage() == longest_stage_of(job.spec());
    if (attempt->has_last_step() && compares) {
        const StepReport last = from_proto(attempt->last_step());
        step += format(", the last took {} ({})", Seconds{last.seconds},
                       percent_text(last.seconds / plan.step_seconds() - 1));
        const Bytes taken = last.memory.total;
        device += format(", {} taken ({} B)", taken, taken.value - plan.device_bytes());
    }
    heading(out, format("plan of attempt {}", attempt->epoch()));
    if (plan.correction() > 0) out.stream << "  " << correction_text(plan.correction()) << '\n';
    out.stream << format("  {}; all steps in {}\n  {}; {} of the host\n", step,
                         span_text(Seconds{plan.all_seconds()}), device, Bytes{plan.host_bytes()});
}

// As planned, or as its ranks report it once they are connected.
void print_network(const Output& out, const pb::Job& job) {
    const pb::Attempt* attempt = newest_attempt(job);
    if (attempt == nullptr || attempt->network().empty()) return;
    std::string text = attempt->network();
    for (const auto& [rank, report] : attempt->connections()) {
        if (!report.network().empty()) text = report.network();
    }
    heading(out, format("network of attempt {}", attempt->epoch()));
    out.stream << "  " << printable(text) << '\n';
}

struct KindText {
    std::string_view name;
    Color color;
};

KindText kind_text(pb::Finding::Kind kind) {
    switch (kind) {
        case pb::Finding::BLOCKING:
            return {"pending", Color::yellow};
        case pb::Finding::PROBLEM:
            return {"problem", Color::red};
        default:  // an open enum: a newer controller may send other values
            return {"", Color::none};
    }
}

constexpr std::size_t kKindWidth = 9;
constexpr std::size_t kMostSubject = 16;
constexpr std::size_t kLeastText = 30;

std::size_t subject_width(const pb::ExplainJobReply& reply) {
    std::size_t width = 0;
    for (const pb::Finding& finding : reply.findings()) {
        if (finding.subject().size() <= kMostSubject)
            width = std::max(width, finding.subject().size());
    }
    return width;
}

void print_finding(const Output& out, const pb::Finding& finding, std::size_t subject) {
    const KindText kind = kind_text(finding.kind());
    const std::size_t indent = 2 + kKindWidth + 2 + subject + 2;
    const std::size_t columns = usize(std::max(out.width, 1));
    const std::size_t width =
        out.terminal ? std::max(kLeastText, columns - std::min(columns, indent)) : 0;
    std::string head = "  " + out.paint(kind.name, kind.color);
    head.append(kKindWidth - kind.name.size() + 2, ' ');
    head += printable(finding.subject());
    const std::string blank(indent, ' ');
    if (finding.subject().size() > subject) {  // a node's whole id: the text begins below it
        out.stream << head << '\n';
        head = blank;
    } else {
        head.append(subject - finding.subject().size() + 2, ' ');
    }
    print_hanging(out, head, indent, finding.text(), width);
    print_hanging(out, blank + out.paint("-> ", Color::dim), indent + 3, finding.remedy(),
                  width > 3 ? width - 3 : 0);
}

}  // namespace

void describe_job(const Output& out, const pb::Job& job, WallTime now) {
    print_head(out, job, now);
    print_blocking(out, job);
    print_progress(out, job);
    print_positions(out, job.last_evaluation());
    print_suites(out, job);
    print_alarms(out, job);
    print_stages(out, job);
    print_attempts(out, job, now);
    print_memory(out, job);
    print_prediction(out, job);
    print_network(out, job);
    print_mesh(out, job);
}

void print_explanation(const Output& out, const pb::ExplainJobReply& reply) {
    const pb::Job& job = reply.job();
    out.stream << format("job {} ({}) {}{}\n", job.id(), printable(job.spec().name()),
                         has_ended(job) ? "" : "is ",
                         out.paint(state_name(job.state()), state_color(job.state())));
    if (job.has_last_step() && !has_ended(job)) {
        const pb::StepReport& step = job.last_step();
        for (const std::string& line :
             wrapped(step_line(from_proto(step)),
                     out.terminal ? usize(std::max(out.width - 2, 30)) : 0))
            out.stream << "  " << line << '\n';
    }
    const std::size_t subject = subject_width(reply);
    for (const pb::Finding& finding : reply.findings())
        print_finding(out, finding, subject);
}

}  // namespace rm
