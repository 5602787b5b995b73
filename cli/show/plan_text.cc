#include "cli/show/plan_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/text.h"
#include "base/words.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "planner/search/shortage.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPassed = 6;  // shown

// The share of a step that compute waits for messages, or for the host.
double exposed(const Prediction& prediction, bool for_host) {
    double waited = 0;
    for (const auto& [word, seconds] : prediction.phases) {
        const auto [name, is_exposed] = step_phase(word);
        const bool host = name == "offload" || name == "update";
        if (is_exposed && host == for_host) waited += seconds;
    }
    return waited / prediction.step.value;
}

std::string kept_text(const MemoryPolicy& memory) {
    std::string text(to_string(memory.keep));
    if (memory.keep_every > 1) text += format(" /{}", memory.keep_every);
    text += memory.kept == KeptPlace::host ? " on host" : " on device";
    if (memory.working == WorkingSet::windows) text += ", windows";
    return text;
}

std::string alpha_text(double alpha) {
    return format("{:.2}", alpha);
}

RunCost cost_of(const PlanAnswer& answer, const RankedPlan& plan) {
    return rm::cost_of(answer.fleet.rates, plan.sharding.mesh.num_ranks(), plan.time(answer.spec));
}

// For a million tokens at the speed of the longest stage.
double money_per_million(const PlanAnswer& answer, const RankedPlan& plan) {
    const Prediction& step = plan.prediction;
    return rm::cost_of(answer.fleet.rates, answer.devices, step.step).money / step.tokens * 1e6;
}

Table table_of(const PlanAnswer& answer) {
    using Row = const RankedPlan&;
    const Price& price = answer.fleet.rates.price;
    TableOf table(answer.result.ranked);
    table.left("MESH", [](Row plan) { return Cell(to_string(plan.sharding)); });
    table.left("KEPT", [](Row plan) { return Cell(kept_text(plan.memory)); });
    table.right("ALPHA", [](Row plan) { return Cell(alpha_text(plan.memory.alpha)); });
    table.right(
        "CHUNK", [](Row plan) { return Cell(context_text(plan.memory.chunk_tokens)); }, 3);
    table.right("DEVICE", [](Row plan) { return Cell(to_string(plan.prediction.device_total())); });
    table.right("HOST", [](Row plan) { return Cell(to_string(plan.prediction.host_total())); });
    table.right("STEP", [](Row plan) { return Cell(to_string(plan.prediction.step)); });
    table.right("MFU", [](Row plan) { return Cell(percent_text(plan.prediction.causal_mfu)); });
    if (answer.spec.precision == "fp8") {
        table.right("FP8 MFU",
                    [](Row plan) { return Cell(percent_text(plan.prediction.fp8_mfu)); });
    }
    table.right(
        "LINKS", [](Row plan) { return Cell(percent_text(exposed(plan.prediction, false))); }, 2);
    table.right(
        "OFFLOAD", [](Row plan) { return Cell(percent_text(exposed(plan.prediction, true))); }, 2);
    table.right(
        "TOK/S/DEV",
        [&](Row plan) {
            return Cell(format("{:.0}", plan.prediction.tokens_per_sec / answer.devices));
        },
        1);
    if (price.per_device_hour > 0) {
        table.right(format("{}/MTOK", price.currency), [&](Row plan) {
            return Cell(format("{:.2}", money_per_million(answer, plan)));
        });
    }
    return table.done();
}

void print_passed(const Output& out, const SearchResult& result) {
    if (result.passed.empty()) return;
    out.stream << "not among them:\n";
    const std::size_t shown = std::min(kMostPassed, result.passed.size());
    for (std::size_t i = 0; i < shown; ++i) {
        print_hanging(out, format("  {}: ", to_string(result.passed[i].sharding)), 4,
                      why_text(result.passed[i], result.limits), usize(out.width));
    }
    if (shown < result.passed.size())
        out.stream << format("  and {} more\n", result.passed.size() - shown);
}

void print_remedies(const Output& out, const PlanAnswer& answer) {
    if (answer.result.ranked.empty() && answer.remedies.empty())
        out.stream << "no change of memory, devices or context alone makes one fit\n";
    for (const Remedy& remedy : answer.remedies) {
        const Prediction& step = remedy.plan.prediction;
        print_hanging(out, format("it fits with {}: ", remedy.change), 4,
                      format("{}, {} of the device, {} of the host, a step in {}",
                             to_string(remedy.plan.sharding), step.device_total(),
                             step.host_total(), step.step),
                      usize(out.width));
    }
}

std::string question_text(const PlanAnswer& answer) {
    const StageSpec& stage = longest_stage(answer.spec);
    return format("{}, {} tokens, {} a step, on {} of {} {}", answer.spec.model.name(),
                  context_text(stage.context), counted(stage.sequences_per_step(), "sequence"),
                  answer.devices, answer.fleet.fleet.num_devices(), answer.fleet.fleet.device.name);
}

void print_finish(const Output& out, const PlanAnswer& answer) {
    const RunCost cost = cost_of(answer, answer.result.ranked.front());
    out.stream << format("to finish: {}", span_text(cost.time));
    if (const std::string text = to_string(cost); !text.empty()) out.stream << ", " << text;
    out.stream << price_text(answer.fleet.rates.price);
    out.stream << '\n';
    if (answer.speed_up) {
        out.stream << format("fastest on {} devices: {:.2} times as fast as on {}\n",
                             answer.devices, answer.speed_up->times, answer.speed_up->devices);
    }
    if (answer.too_dear) out.stream << printable(to_string(*answer.too_dear)) << '\n';
}

Json memory_json(const MemoryPolicy& memory) {
    return {{"tile", memory.tile_tokens},
            {"chunk", memory.chunk_tokens},
            {"keep", to_string(memory.keep)},
            {"keep_every", memory.keep_every},
            {"alpha", memory.alpha},
            {"kept", to_string(memory.kept)},
            {"working", to_string(memory.working)}};
}

Json mesh_json(const Sharding& sharding) {
    Json json;
    for (const Axis axis : kAxes)
        json[std::string(to_string(axis))] = sharding.mesh.size(axis);
    json["inner_ring"] = sharding.mesh.inner_ring();
    json["zero"] = sharding.zero;
    return json;
}

Json ranked_json(const PlanAnswer& answer, const RankedPlan& plan) {
    const Prediction& step = plan.prediction;
    const RunCost cost = cost_of(answer, plan);
    Json json{{"parallel", mesh_json(plan.sharding)},
              {"memory", memory_json(plan.memory)},
              {"device_bytes", step.device_total().value},
              {"host_bytes", step.host_total().value},
              {"step_seconds", step.step.value},
              {"causal_mfu", step.causal_mfu},
              {"tokens_per_second", step.tokens_per_sec},
              {"phases_seconds", step.phases},
              {"seconds", cost.time.value}};
    if (step.fp8_mfu > 0) json["fp8_mfu"] = step.fp8_mfu;
    if (answer.fleet.rates.price.per_device_hour > 0) {
        json["currency"] = answer.fleet.rates.price.currency;
        json["money"] = cost.money;
        json["money_per_million_tokens"] = money_per_million(answer, plan);
    }
    if (cost.kwh > 0) json["kwh"] = cost.kwh;
    if (cost.kg_co2 > 0) json["kg_co2"] = cost.kg_co2;
    return json;
}

}  // namespace

void print_plan(const Output& out, const PlanAnswer& answer) {
    const SearchResult& result = answer.result;
    out.stream << printable(question_text(answer)) << '\n';
    if (result.ranked.empty()) {
        out.stream << "no plan fits\n";
    } else {
        table_of(answer).print(out);
        print_finish(out, answer);
    }
    print_passed(out, result);
    print_remedies(out, answer);
}

std::string plan_json(const PlanAnswer& answer) {
    Json ranked = Json::array(), passed = Json::array();
    for (const RankedPlan& plan : answer.result.ranked)
        ranked.push_back(ranked_json(answer, plan));
    for (const PassedOver& other : answer.result.passed) {
        Json json = {{"parallel", mesh_json(other.sharding)},
                     {"why", why_text(other, answer.result.limits)}};
        passed.push_back(std::move(json));
    }
    Json remedies = Json::array();
    for (const Remedy& remedy : answer.remedies) {
        Json plan = ranked_json(answer, remedy.plan);
        plan["change"] = remedy.change;
        remedies.push_back(std::move(plan));
    }
    const FleetSpec& fleet = answer.fleet.fleet;
    Json json = {{"model", answer.spec.model.name()},
                 {"context", longest_stage(answer.spec).context},
                 {"devices", answer.devices},
                 {"kind", fleet.device.name},
                 {"figures", fleet.device.provenance},
                 {"plans", ranked},
                 {"passed_over", passed},
                 {"fits_with", remedies}};
    if (answer.speed_up) {
        json["speed_up"] = {{"over_devices", answer.speed_up->devices},
                            {"times", answer.speed_up->times}};
    }
    if (answer.too_dear) json["too_dear"] = to_string(*answer.too_dear);
    return json.dump(2);
}

}  // namespace rm
