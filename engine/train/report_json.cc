#include "engine/train/report_json.h"

#include <nlohmann/json.hpp>

#include "engine/train/json_object.h"

namespace rm {

using nlohmann::json;

namespace {

json memory_to_json(const MemoryReport& memory) {
    json value = json::object();
    for (const auto& [kind, bytes] : memory.by_kind)
        value[kind] = bytes.value;
    return value;
}

MemoryReport memory_from_json(const json& value) {
    MemoryReport memory;
    for (const auto& [kind, bytes] : value.items())
        memory.add(kind, {bytes.get<std::int64_t>()});
    return memory;
}

json axes_to_json(const std::map<std::string, AxisTraffic>& axes) {
    json value = json::object();
    for (const auto& [name, axis] : axes) {
        value[name] = {{"bytes_sent", axis.bytes_sent}, {"wait_seconds", axis.wait_seconds}};
    }
    return value;
}

std::map<std::string, AxisTraffic> axes_from_json(const json& value) {
    std::map<std::string, AxisTraffic> axes;
    for (const auto& [name, axis] : value.items())
        axes[name] = {axis.at("bytes_sent"), axis.at("wait_seconds")};
    return axes;
}

json hops_to_json(const std::map<int, HopRate>& hops) {
    json value = json::object();
    for (const auto& [rank, hop] : hops) {
        value[format("{}", rank)] = {{"bytes", hop.bytes},
                                     {"bytes_per_second", hop.bytes_per_second}};
    }
    return value;
}

std::map<int, HopRate> hops_from_json(const json& value) {
    std::map<int, HopRate> hops;
    for (const auto& [rank, hop] : value.items())
        hops[std::stoi(rank)] = {hop.at("bytes"), hop.at("bytes_per_second")};
    return hops;
}

Status not_a_report(std::string_view line, std::string_view why) {
    return invalid_argument("not a report ({}): {}", why, line.substr(0, 200));
}

// JSON has no NaN; a loss that is not finite is written as null and read back as NaN.
json number_or_null(double value) {
    return std::isfinite(value) ? json(value) : json(nullptr);
}
double number_or_nan(const json& value) {
    return value.is_null() ? std::nan("") : value.get<double>();
}

}  // namespace

std::string to_json(const StepReport& r) {
    return json{{"step", r.step},
                {"num_steps", r.num_steps},
                {"stage", r.stage},
                {"tokens", r.tokens},
                {"tokens_total", r.tokens_total},
                {"loss", number_or_null(r.loss)},
                {"grad_norm", number_or_null(r.grad_norm)},
                {"finite", r.finite},
                {"learning_rate", r.learning_rate},
                {"diverged_above", r.diverged_above},
                {"seconds", r.seconds},
                {"model_flops", r.model_flops},
                {"causal_mfu", r.causal_mfu},
                {"full_mfu", r.full_mfu},
                {"hfu", r.hfu},
                {"peak_name", r.peak_name},
                {"phase_seconds", r.phase_seconds},
                {"memory_bytes", memory_to_json(r.memory)},
                {"axes", axes_to_json(r.axes)},
                {"last_collective", r.last_collective},
                {"hops", hops_to_json(r.hops)}}
        .dump();
}

std::string to_json(const ConnectedReport& r) {
    json value{{"rank", r.rank},
               {"address", r.address},
               {"peers", json::object()},
               {"rings", json::object()}};
    for (const auto& [peer, ends] : r.peers)
        value["peers"][format("{}", peer)] = {{"own", ends.own}, {"other", ends.other}};
    for (const auto& [name, ring] : r.rings) {
        value["rings"][name] = {{"sends_to", ring.sends_to}, {"receives_from", ring.receives_from}};
    }
    return value.dump();
}

std::string to_json(const EvaluationReport& r) {
    return json{{"step", r.step},
                {"targets", r.targets},
                {"held_out_loss", number_or_null(r.loss)},
                {"unigram_entropy", r.unigram_entropy},
                {"bigram_entropy", r.bigram_entropy}}
        .dump();
}

Result<StepReport> parse_step_report(std::string_view line) {
    try {
        const json v = json::parse(line);
        StepReport r;
        r.step = v.at("step");
        r.num_steps = v.at("num_steps");
        r.stage = v.at("stage");
        r.tokens = v.at("tokens");
        r.tokens_total = v.at("tokens_total");
        r.loss = number_or_nan(v.at("loss"));
        r.grad_norm = number_or_nan(v.at("grad_norm"));
        r.finite = v.at("finite");
        r.learning_rate = v.at("learning_rate");
        r.diverged_above = v.value("diverged_above", 0.0);  // not in older lines
        r.seconds = v.at("seconds");
        r.model_flops = v.at("model_flops");
        r.causal_mfu = v.at("causal_mfu");
        r.full_mfu = v.at("full_mfu");
        r.hfu = v.at("hfu");
        r.peak_name = v.at("peak_name");
        r.phase_seconds = v.at("phase_seconds").get<std::map<std::string, double>>();
        r.memory = memory_from_json(v.at("memory_bytes"));
        r.axes = axes_from_json(v.at("axes"));
        r.last_collective = v.at("last_collective");
        r.hops = hops_from_json(v.value("hops", json::object()));  // not in older lines
        return r;
    } catch (const std::exception& error) {
        return not_a_report(line, error.what()).error();
    }
}

Result<ConnectedReport> parse_connected_report(std::string_view line) {
    try {
        const json v = json::parse(line);
        ConnectedReport r{
            .rank = v.at("rank"), .address = v.at("address"), .peers = {}, .rings = {}};
        for (const auto& [peer, ends] : v.at("peers").items())
            r.peers[std::stoi(peer)] = {ends.at("own"), ends.at("other")};
        for (const auto& [name, ring] : v.at("rings").items())
            r.rings[name] = {ring.at("sends_to"), ring.at("receives_from")};
        return r;
    } catch (const std::exception& error) {
        return not_a_report(line, error.what()).error();
    }
}

Result<EvaluationReport> parse_evaluation_report(std::string_view line) {
    try {
        const json v = json::parse(line);
        EvaluationReport r;
        r.step = v.at("step");
        r.targets = v.at("targets");
        r.loss = number_or_nan(v.at("held_out_loss"));
        r.unigram_entropy = v.at("unigram_entropy");
        r.bigram_entropy = v.at("bigram_entropy");
        return r;
    } catch (const json::exception& error) {
        return not_a_report(line, error.what()).error();
    }
}

}  // namespace rm
