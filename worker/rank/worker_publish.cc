#include "worker/rank/worker_publish.h"

#include <chrono>
#include <thread>

#include "worker/dir/attempt_dir.h"
#include "worker/dir/exchange_lines.h"
#include "worker/dir/unix_socket.h"

namespace rm {
namespace {

constexpr Seconds kLook{0.1};  // how soon a stop is noticed

Error nobody(const Error& why) {
    return make_error(ErrorCode::unavailable, "the worker cannot be asked: {}", why.message);
}

Status ask(const std::string& dir, const std::string& question, Seconds limit,
           const std::atomic<bool>& stop) {
    Result<UniqueFd> socket = connect_in(dir, kExchangeSocket);
    if (!socket) return nobody(socket.error());
    LineConnection connection(std::move(*socket));
    const Status asked = connection.write_line(question, limit);
    if (!asked) return nobody(asked.error());
    for (Seconds waited; waited < limit && !stop; waited += kLook) {
        const Result<std::string> line = connection.wait_line(kLook);
        if (line) return parse_publish_answer(*line);
        if (line.error().code != ErrorCode::deadline_exceeded) return nobody(line.error());
    }
    return make_error(ErrorCode::unavailable, "the controller has not answered yet");
}

}  // namespace

Status WorkerPublishGuard::may_publish(Seconds limit) {
    Status answer = ask(dir_, to_json(PublishQuestion{rank_}), limit, stop_);
    const bool away = !answer && answer.error().code == ErrorCode::unavailable;
    // Asks a restarting daemon again soon, but not in a busy loop.
    if (away) std::this_thread::sleep_for(std::chrono::duration<double>(kLook.value));
    return answer;
}

}  // namespace rm
