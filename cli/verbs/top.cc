#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "cli/client/calls.h"
#include "cli/client/curves.h"
#include "cli/client/signals.h"
#include "cli/document.h"
#include "cli/screen/screen.h"
#include "cli/show/job_tables.h"
#include "cli/show/job_text.h"
#include "cli/show/plot_text.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "ringmaster/v1/job.grpc.pb.h"

namespace rm {
namespace {

struct TopOptions : VerbOptions {
    std::string id = add("ID", id, "Only this job: its id, a unique prefix of it, or its name");
    bool nodes = add("--nodes", nodes, "One line per node");
    bool once = add("--once", once, "Print once, even on a terminal");
    double interval = add("--interval", interval, "Refresh interval in seconds [1]",
                          {.type = "S", .check = number(0.2, 3600)}, 1);
    OutputFormat output = add_output(output, "table|wide|json|yaml|name");
};

constexpr Seconds kRetry{1};
constexpr Seconds kKeyWait{0.1};
constexpr const char* kNothing = "no rank is running; `ringmaster ls` lists the jobs that wait";

// Receives the controller's updates on a thread of its own: a controller that is slow or away must
// not keep keys waiting.
class Feed {
public:
    Feed(Client& client, const pb::TopRequest& request)
        : client_(client),
          request_(request),
          thread_([this](std::stop_token stop) { run(stop); }) {}

    struct State {
        std::uint64_t number = 0;  // grows with every change
        pb::TopReply reply;
        std::string trouble;         // why `reply` is out of date; empty: it is current
        std::optional<Error> error;  // final: retrying does not help
        bool ended = false;          // the requested job has ended
    };
    State state() const {
        const std::lock_guard lock(mutex_);
        return state_;
    }

private:
    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const Status status =
                client_.stream(&pb::JobService::Stub::Top, request_, stop,
                               [this](const pb::TopReply& reply) { take(reply); });
            if (stop.stop_requested() || end_of(status)) return;
            sleep_for(kRetry, stop);
        }
    }

    void take(const pb::TopReply& reply) {
        const std::lock_guard lock(mutex_);
        state_.reply = reply;
        state_.trouble.clear();
        ++state_.number;
    }

    bool end_of(const Status& status) {
        const std::lock_guard lock(mutex_);
        ++state_.number;
        if (status) {  // a stopping controller ends the stream, too; then the job is still live
            state_.ended = !request_.job_id().empty() && !state_.reply.jobs().empty() &&
                           has_ended(state_.reply.jobs(0).job());
            return state_.ended;
        }
        const bool away = status.error().code == ErrorCode::unavailable ||
                          status.error().code == ErrorCode::cancelled;
        if (!away) state_.error = status.error();
        state_.trouble = status.error().message;
        return !away;
    }

    Client& client_;
    const pb::TopRequest request_;
    mutable std::mutex mutex_;
    State state_;
    std::jthread thread_;
};

// A line for each job that shows its last steps.
class Trends {
public:
    // Asks again for what is older than a few seconds.
    void update(const Client& client, const pb::TopReply& reply) {
        if (age_.seconds() < kEvery && !lines_.empty()) return;
        age_ = {};
        for (const pb::TopJob& job : reply.jobs()) {
            const std::string line = line_of(client, job.job());
            if (!line.empty()) lines_[job.job().id()] = line;
        }
    }
    std::string of(const std::string& id) const {
        const auto found = lines_.find(id);
        return found == lines_.end() ? "" : found->second;
    }

private:
    static constexpr double kEvery = 3;  // seconds
    static constexpr int kWidth = 32;    // of a sparkline

    static std::string line_of(const Client& client, const pb::Job& job) {
        const std::int64_t from = std::max<std::int64_t>(job.last_step().step() - 8 * kWidth, 1);
        std::string line;
        for (const auto& [quantity, name] :
             {std::pair("loss", "loss"), std::pair("tokens_per_second", "tok/s")}) {
            const auto curve = read_curve(client, job.id(), quantity, from, kWidth);
            if (!curve || curve->steps_size() < 2) continue;
            const std::vector<double> values(curve->values().begin(), curve->values().end());
            line += format("  {} {} {}", name, sparkline(values, kWidth),
                           plot_number(values.back(), curve->unit()));
        }
        return line;
    }

    std::map<std::string, std::string> lines_;
    Stopwatch age_;
};

void print_top(const Output& out, const TopOptions& options, const pb::TopReply& reply,
               const Trends& trends, WallTime now) {
    for (const pb::TopJob& job : reply.jobs()) {
        for (const Cell& line : top_heading(job, now))
            out.stream << out.paint(line.text, line.color) << '\n';
        const std::string trend = trends.of(job.job().id());
        if (!trend.empty()) out.stream << trend << '\n';
    }
    bool any = false;
    for (const pb::TopJob& job : reply.jobs())
        any = any || job.ranks_size() > 0;
    if (!any) {
        out.stream << kNothing << '\n';
        return;
    }
    out.stream << '\n';
    const Detail detail = options.output == OutputFormat::wide ? Detail::wide : Detail::usual;
    (options.nodes ? top_nodes_table : top_table)(reply, detail).print(out);
}

void print_once(const Output& out, const TopOptions& options, const pb::TopReply& reply,
                WallTime now) {
    if (is_document(options.output)) return print_document(out.stream, reply, options.output);
    if (options.output != OutputFormat::name) return print_top(out, options, reply, {}, now);
    for (const pb::TopJob& job : reply.jobs()) {
        for (const pb::TopRank& rank : job.ranks())
            out.stream << format("{}/{}\n", job.job().id(), rank.rank());
    }
}

std::vector<std::string> lines_of(const Feed::State& state, const TopOptions& options,
                                  const Output& out, const Trends& trends, WallTime now) {
    std::ostringstream text;
    const Output page{text, out.terminal, out.color, out.width};
    if (!state.trouble.empty()) text << page.paint(printable(state.trouble), Color::yellow) << '\n';
    if (state.number > 0 && state.reply.has_time())
        print_top(page, options, state.reply, trends, now);
    std::vector<std::string> lines;
    std::istringstream all(text.str());
    for (std::string line; std::getline(all, line);)
        lines.push_back(line);
    return lines;
}

Result<ExitCode> run_live(const TopOptions& options, VerbContext& context) {
    Signals signals;
    RM_TRY(Client client, context.connect());
    pb::TopRequest request;
    RM_TRY(*request.mutable_job_id(), find_job(client, options.id));
    request.set_interval_seconds(options.interval);
    const Feed feed(client, request);
    Output& out = context.console.out;
    Feed::State state;
    Trends trends;
    {
        Screen screen(out, context.console.in);
        for (std::uint64_t drawn = 0; !state.ended; state = feed.state()) {
            if (state.error) break;
            if (state.number != drawn || screen.resized()) {
                drawn = state.number;
                trends.update(client, state.reply);
                screen.draw(lines_of(state, options, out, trends, context.clock.wall()));
            }
            const auto key = screen.key(kKeyWait);
            if (key == 'q' || key == 'Q') return ExitCode::ok;
            if (signals.take().interrupts > 0) return ExitCode::interrupted;
        }
    }
    if (state.error) return *state.error;
    print_top(out, options, state.reply, trends, context.clock.wall());
    return ExitCode::ok;
}

Result<ExitCode> run_top(const TopOptions& options, VerbContext& context) {
    const bool table =
        options.output == OutputFormat::table || options.output == OutputFormat::wide;
    if (table && context.console.out.terminal && !options.once) return run_live(options, context);
    RM_TRY(Client client, context.connect());
    pb::TopRequest request;
    RM_TRY(*request.mutable_job_id(), find_job(client, options.id));
    RM_TRY(const pb::TopReply reply, client.call(&pb::JobService::Stub::Top, request));
    print_once(context.console.out, options, reply, context.clock.wall());
    return ExitCode::ok;
}

}  // namespace

Verb top_verb() {
    return verb_of("top", "Show every rank live (q quits)", run_top,
                   {{"ringmaster top a1b2c3", "every rank of one job, live"},
                    {"ringmaster top --nodes --once", "a line for each node, once"}});
}

}  // namespace rm
