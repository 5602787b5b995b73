#include "worker/agent/exchange_server.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "worker/dir/attempt_dir.h"

namespace rm {
namespace {

constexpr Seconds kWriteTimeout{5};

}  // namespace

Result<std::unique_ptr<ExchangeServer>> ExchangeServer::start(const std::string& dir, Epoch epoch,
                                                              std::vector<int> ranks,
                                                              Rendezvous& rendezvous) {
    RM_TRY(UniqueFd listener, listen_in(dir, kExchangeSocket));
    return std::unique_ptr<ExchangeServer>(
        new ExchangeServer(std::move(listener), epoch, std::move(ranks), rendezvous));
}

ExchangeServer::ExchangeServer(UniqueFd listener, Epoch epoch, std::vector<int> ranks,
                               Rendezvous& rendezvous)
    : listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      epoch_(epoch),
      ranks_(std::move(ranks)),
      rendezvous_(rendezvous),
      loop_([this] { run(); }) {}

ExchangeServer::~ExchangeServer() {
    stop_.request_stop();
    wake();
    loop_.join();
    if (leave_.call.joinable()) leave_.call.join();
    for (auto& [name, group] : groups_) {
        if (group.call.joinable()) group.call.join();
    }
}

void ExchangeServer::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void ExchangeServer::run() {
    while (true) {
        wait();
        if (stop_.stop_requested()) return;
        while (auto socket = accept_connection(listener_.get())) {
            peers_.push_back({LineConnection(std::move(*socket)), {}});
        }
        for (Peer& peer : peers_)
            serve(peer);
        answer_waiting();
        answer_leave();
        peers_.remove_if([](const Peer& peer) { return !peer.connection.open(); });
    }
}

void ExchangeServer::wait() {
    std::vector<pollfd> entries = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    for (const Peer& peer : peers_)
        entries.push_back({peer.connection.fd(), POLLIN, 0});
    ::poll(entries.data(), entries.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
}

void ExchangeServer::serve(Peer& peer) {
    const bool still_open = peer.connection.read_available();
    while (const auto line = peer.connection.next_line()) {
        take_question(peer, *line);
        if (!peer.connection.open()) return;
    }
    if (!still_open) peer.connection.close();
}

void ExchangeServer::take_question(Peer& peer, const std::string& line) {
    const Result<RankQuestion> question = parse_rank_question(line);
    if (question && std::holds_alternative<PublishQuestion>(*question)) {
        peer.waits_for_leave = true;
        return ask_for_leave();
    }
    const auto* exchange = question ? &std::get<ExchangeQuestion>(*question) : nullptr;
    const std::optional<Error> refused =
        exchange != nullptr ? publish(*exchange) : question.error();
    if (refused) {
        say(peer, to_json(ExchangeAnswer(*refused)));
    } else {
        peer.waits_for = exchange->group;
    }
}

void ExchangeServer::say(Peer& peer, const std::string& line) {
    if (!peer.connection.write_line(line, kWriteTimeout)) peer.connection.close();
}

void ExchangeServer::ask_for_leave() {
    if (leave_.call.joinable()) return;  // its answer serves this rank, too
    leave_.call = std::thread([this] {
        Status answer = rendezvous_.publish(epoch_, stop_.get_token());
        {
            const std::lock_guard lock(mutex_);
            leave_.answer = std::move(answer);
        }
        wake();
    });
}

// An answer is valid for the ranks that wait for it, not for later questions.
void ExchangeServer::answer_leave() {
    std::optional<Status> answer;
    {
        const std::lock_guard lock(mutex_);
        answer.swap(leave_.answer);
    }
    if (!answer) return;
    leave_.call.join();
    for (Peer& peer : peers_) {
        if (peer.waits_for_leave) say(peer, publish_answer_to_json(*answer));
        peer.waits_for_leave = false;
    }
}

std::optional<Error> ExchangeServer::publish(const ExchangeQuestion& question) {
    if (std::find(ranks_.begin(), ranks_.end(), question.rank) == ranks_.end()) {
        return invalid_argument("rank {} is not one of this node's in epoch {}", question.rank,
                                epoch_);
    }
    Group& group = groups_[question.group];
    const auto [published, fresh] = group.blobs.try_emplace(question.rank, question.blob);
    if (!fresh && published->second != question.blob) {
        return make_error(ErrorCode::already_exists,
                          "rank {} has published another blob for group '{}'", question.rank,
                          question.group);
    }
    call_when_complete(question.group, group);
    return std::nullopt;
}

void ExchangeServer::call_when_complete(const std::string& name, Group& group) {
    if (group.blobs.size() < ranks_.size() || group.call.joinable()) return;
    group.call = std::thread([this, &group, name] {
        ExchangeAnswer answer = rendezvous_.exchange(epoch_, name, group.blobs, stop_.get_token());
        {
            const std::lock_guard lock(mutex_);
            group.answer = std::move(answer);
        }
        wake();
    });
}

void ExchangeServer::answer_waiting() {
    for (Peer& peer : peers_) {
        if (peer.waits_for.empty() || !peer.connection.open()) continue;
        std::string line;
        {
            const std::lock_guard lock(mutex_);
            const auto& answer = groups_[peer.waits_for].answer;
            if (!answer) continue;
            line = to_json(*answer);
        }
        peer.waits_for.clear();
        say(peer, line);
    }
}

}  // namespace rm
