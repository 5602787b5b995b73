#include "worker/rank/worker_exchange.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "worker/dir/attempt_dir.h"

namespace rm {
namespace {

constexpr Seconds kLook{
    0.1};  // how soon a stop is noticed, and how often a missing daemon is tried

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<std::vector<std::string>> WorkerExchange::exchange(std::string_view group, std::string blob,
                                                          Seconds timeout) {
    const auto start = std::chrono::steady_clock::now();
    const std::string question =
        to_json(ExchangeQuestion{rank_, std::string(group), std::move(blob)});
    while (true) {
        auto answer = ask(question, Seconds{timeout.value - seconds_since(start)});
        // The worker went away before it answered.
        const bool again = !answer && (answer.error().code == ErrorCode::unavailable ||
                                       answer.error().code == ErrorCode::not_found);
        if (!again) return answer;
        if (seconds_since(start) > timeout.value) {
            return make_error(ErrorCode::deadline_exceeded,
                              "the worker gave no table of group '{}' within {}: {}", group,
                              timeout, answer.error().message);
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(kLook.value));
    }
}

Result<std::vector<std::string>> WorkerExchange::ask(const std::string& question, Seconds timeout) {
    const auto start = std::chrono::steady_clock::now();
    RM_TRY(UniqueFd socket, connect_in(dir_, kExchangeSocket));
    LineConnection connection(std::move(socket));
    RM_RETURN_IF_ERROR(connection.write_line(question, std::max(timeout, kLook)));
    while (!stop_.load()) {
        const Result<std::string> line = connection.wait_line(kLook);
        if (line) return parse_exchange_answer(*line);
        if (line.error().code != ErrorCode::deadline_exceeded) return line.error();
        if (seconds_since(start) > timeout.value) {
            return make_error(ErrorCode::deadline_exceeded,
                              "not every rank had published its address within {}", timeout);
        }
    }
    return make_error(ErrorCode::cancelled, "asked to stop before the ranks had met");
}

}  // namespace rm
