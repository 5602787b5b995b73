#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rm {

// Messages for any number of readers, as server-sent events. A message is serialised once; readers
// share its text and differ only in their place, so a slow one costs no memory. The last `kept`
// messages stay: a reader that was away for longer, or was with an earlier feed, gets the event
// `reset` instead of those it missed. Thread safe.
class EventFeed {
public:
    using Text = std::shared_ptr<const std::string>;  // other owners: the connections that write it
    using Place = std::uint64_t;                      // after this many messages

    // `name` tells feeds apart: it is in every id. It has no dot.
    explicit EventFeed(std::string name, std::size_t kept = 1024)
        : name_(std::move(name)), kept_(kept) {}

    // `data` is one line.
    void publish(std::string_view event, std::string_view data);

    struct Start {
        Place place = 0;
        Text first;  // tells the reader whether it missed anything
    };
    // For a reader that got the message with this id last; empty: its first visit.
    Start begin(std::string_view last_event_id) const;
    // The messages after `place`, which moves behind them.
    std::vector<Text> take(Place& place) const;

    // Calls `wake` after each message until forget(); it must not call back.
    std::uint64_t attend(std::function<void()> wake);
    void forget(std::uint64_t reader);
    std::size_t num_readers() const;

private:
    Text reset_message() const;
    Place oldest() const { return published_ - messages_.size(); }

    const std::string name_;
    const std::size_t kept_;
    mutable std::mutex mutex_;
    Place published_ = 0;
    std::deque<Text> messages_;  // the last ones
    std::uint64_t next_reader_ = 0;
    std::map<std::uint64_t, std::function<void()>> readers_;
};

}  // namespace rm
