#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "worker/dir/exchange_lines.h"
#include "worker/dir/unix_socket.h"

namespace rm {

using BlobsByRank = std::map<int, std::string>;

// The worker's access to the rendezvous of its ranks: the controller, or a test.
class Rendezvous {
public:
    virtual ~Rendezvous() = default;
    // Waits until every rank of the attempt has published, repeating over lost connections; an
    // error is final. CANCELLED once stopped. Called by several threads.
    virtual ExchangeAnswer exchange(Epoch epoch, const std::string& group, const BlobsByRank& blobs,
                                    std::stop_token stop) = 0;
    // Asks whether this attempt may publish its export; repeats over lost connections until the
    // controller answers. CANCELLED once stopped.
    virtual Status publish(Epoch epoch, std::stop_token stop) = 0;
};

// Serves exchange.sock of one attempt on its own thread: collects the blobs of its ranks for a
// group, takes them to the rendezvous once, and sends every rank the table. A rank may ask again
// (it reconnects after the daemon restarts) and gets the same table. Forwards a request to publish
// to the controller unless one is pending, whose answer it then shares.
class ExchangeServer {
public:
    // `rendezvous` outlives the server.
    static Result<std::unique_ptr<ExchangeServer>> start(const std::string& dir, Epoch epoch,
                                                         std::vector<int> ranks,
                                                         Rendezvous& rendezvous);
    ~ExchangeServer();
    ExchangeServer(const ExchangeServer&) = delete;
    ExchangeServer& operator=(const ExchangeServer&) = delete;

private:
    struct Peer {
        LineConnection connection;
        std::string waits_for;  // group; empty: none
        bool waits_for_leave = false;
    };
    struct Group {
        BlobsByRank blobs;
        std::thread call;                      // started when every rank here has published
        std::optional<ExchangeAnswer> answer;  // guarded by mutex_
    };

    // The pending question whether this attempt may publish; one at a time.
    struct Leave {
        std::thread call;
        std::optional<Status> answer;  // guarded by mutex_
    };

    ExchangeServer(UniqueFd listener, Epoch epoch, std::vector<int> ranks, Rendezvous& rendezvous);
    void run();
    void wait();
    void serve(Peer& peer);
    std::optional<Error> publish(const ExchangeQuestion& question);
    void call_when_complete(const std::string& name, Group& group);
    void answer_waiting();
    void take_question(Peer& peer, const std::string& line);
    static void say(Peer& peer, const std::string& line);
    void ask_for_leave();
    void answer_leave();
    void wake();

    const UniqueFd listener_;
    const UniqueFd wake_;  // eventfd
    const Epoch epoch_;
    const std::vector<int> ranks_;
    Rendezvous& rendezvous_;
    std::stop_source stop_;
    std::list<Peer> peers_;  // used only by the loop, like groups_ except its answers
    std::map<std::string, Group> groups_;
    Leave leave_;
    std::mutex mutex_;
    std::thread loop_;
};

}  // namespace rm
