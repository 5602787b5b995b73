#include "spec/report.h"

#include <algorithm>

#include "base/format.h"
#include "base/words.h"

namespace rm {
namespace {

std::string rate(const StepReport& report) {
    const double speed = static_cast<double>(report.tokens) / report.seconds;
    if (!(report.seconds > 0)) return "-";
    if (speed >= 1e6) return format("{:.2}M", speed / 1e6);
    if (speed >= 1e4) return format("{:.0}k", speed / 1e3);
    return format("{:.0}", speed);
}

// The axes whose bytes people see.
constexpr std::string_view kShownAxes[] = {"ring", "ulysses", "tensor", "gradient"};

// Empty where nothing was sent.
std::string waiting(const StepReport& report) {
    double all = 0;
    double most = 0;
    std::string_view most_for;
    for (const std::string_view name : kShownAxes) {
        const auto axis = report.axes.find(std::string(name));
        if (axis == report.axes.end() || axis->second.bytes_sent == 0) continue;
        const double share = std::min(1.0, axis->second.wait_seconds / report.seconds);
        all += share;
        if (share < most || (share == most && !most_for.empty())) continue;
        most = share;
        most_for = name;
    }
    if (most_for.empty()) return "";
    return format("  waits {:.1}% ({} {:.0}%)", std::min(1.0, all) * 100, most_for, most * 100);
}

// "each step sends ring 3.1 GiB, tensor 1.2 GiB"; empty where nothing was sent.
std::string traffic(const StepReport& report) {
    std::string text;
    for (const std::string_view name : kShownAxes) {
        const auto axis = report.axes.find(std::string(name));
        if (axis == report.axes.end() || axis->second.bytes_sent == 0) continue;
        text += format("{}{} {}", text.empty() ? "each step sends " : ", ", name,
                       Bytes{axis->second.bytes_sent});
    }
    return text;
}

// " at 10.77.0.3", without the port; empty where there is no address.
std::string at(const std::string& address) {
    if (address == kSharedMemory) return format(" through {}", kSharedMemory);
    const std::size_t port = address.rfind(':');
    return address.empty() ? "" : " at " + address.substr(0, port);
}

std::string peer_text(const ConnectedReport& report, int peer) {
    const auto connection = report.peers.find(peer);
    const bool known = connection != report.peers.end();
    return format("rank {}{}", peer, known ? at(connection->second.other) : "");
}

}  // namespace

std::string connected_line(const ConnectedReport& report) {
    std::string line =
        format("rank {}{}", report.rank, report.address.empty() ? "" : " at " + report.address);
    std::string before = " ";
    for (const auto& [name, ring] : report.rings) {
        if (name != "ring") before += format("in {} ", name);
        line += format("{}sends to {} and receives from {}", before,
                       peer_text(report, ring.sends_to), peer_text(report, ring.receives_from));
        before = "; ";
    }
    const std::string over = report.network.empty() ? "" : ", over " + report.network;
    if (!report.rings.empty()) return line + over;
    before = " is connected to ";
    for (const auto& [peer, connection] : report.peers) {
        line += before + peer_text(report, peer);
        before = ", ";
    }
    return line + over;
}

std::string step_line(const StepReport& r) {
    std::string line = format("step {}/{}  loss {:.4}  grad {:.2}  {}  {} tok/s", r.step,
                              r.num_steps, r.loss, r.grad_norm, Seconds{r.seconds}, rate(r));
    if (r.causal_mfu > 0) line += format("  MFU {:.1}%", r.causal_mfu * 100);
    if (r.memory.total.value > 0) line += format("  mem {}", r.memory.total);
    if (r.seconds > 0) line += waiting(r);
    if (!r.finite) line += "  not finite: update skipped";
    return line;
}

std::vector<std::string> step_constants(const StepReport& r) {
    std::vector<std::string> lines;
    if (r.causal_mfu > 0)
        lines.push_back(format("MFU counts causal attention; its peak is {}", r.peak_name));
    const std::string memory =
        r.memory.total.value > 0 ? format("each rank uses {}", r.memory.total) : "";
    const std::string sent = traffic(r);
    const bool both = !memory.empty() && !sent.empty();
    if (!memory.empty() || !sent.empty()) lines.push_back(memory + (both ? "; " : "") + sent);
    return lines;
}

std::string diverged_line(const StepReport& r) {
    return format(
        "the run has diverged: the loss of step {} is {:.4}, and a run that learns stays below "
        "{:.2}; lower the learning rate or warm up longer",
        r.step, r.loss, r.diverged_above);
}

std::string evaluation_line(const EvaluationReport& r) {
    if (r.unigram_entropy <= 0) {
        return format("validation at step {}: {:.4} nats/token on {} held-out tokens", r.step,
                      r.loss, r.targets);
    }
    return format(
        "validation at step {}: {:.4} nats/byte on {} held-out bytes (baselines: unigram {:.3}, "
        "bigram {:.3})",
        r.step, r.loss, r.targets, r.unigram_entropy, r.bigram_entropy);
}

std::vector<SuiteMean> suite_means(const SuiteReport& report) {
    std::map<std::int64_t, SuiteMean> by_length;
    for (const SuiteCell& cell : report.cells) {
        SuiteMean& sum = by_length[cell.length];
        sum.length = cell.length;
        sum.score += cell.score;
        sum.loss += cell.loss;
        ++sum.cells;
    }
    std::vector<SuiteMean> means;
    for (auto& [length, mean] : by_length) {
        const auto cells = static_cast<double>(mean.cells);
        mean.score /= cells;
        mean.loss /= cells;
        means.push_back(mean);
    }
    return means;
}

std::string suite_line(const SuiteReport& r) {
    std::int64_t samples = 0;
    for (const SuiteCell& cell : r.cells)
        samples += cell.samples;
    std::string scores;
    for (const SuiteMean& mean : suite_means(r)) {
        const bool first = scores.empty();
        scores += format("{}{:.1}% {}at {} tokens", first ? "" : ", ", 100 * mean.score,
                         first ? "right " : "", mean.length);
    }
    return format("{} at step {}: {} (on {}, {})", r.name, r.step, scores, counted(samples, "text"),
                  Seconds{r.seconds});
}

std::string stage_done_line(int stage, std::int64_t step) {
    return format("stage {} done at step {}", stage + 1, step);
}

}  // namespace rm
