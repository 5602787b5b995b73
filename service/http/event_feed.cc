#include "service/http/event_feed.h"

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "base/text.h"

namespace rm {
namespace {

std::string event_text(std::string_view id, std::string_view event, std::string_view data) {
    return format("id: {}\nevent: {}\ndata: {}\n\n", id, event, data);
}

// The number in an id of the feed `name`.
std::optional<EventFeed::Place> place_in(std::string_view id, std::string_view name) {
    const auto dot = id.find('.');
    if (dot == id.npos || id.substr(0, dot) != name) return std::nullopt;
    const auto number = parse_number<EventFeed::Place>(id.substr(dot + 1));
    return number ? std::optional(*number) : std::nullopt;
}

}  // namespace

void EventFeed::publish(std::string_view event, std::string_view data) {
    const std::lock_guard lock(mutex_);
    ++published_;
    const std::string id = format("{}.{}", name_, published_);
    messages_.push_back(std::make_shared<const std::string>(event_text(id, event, data)));
    if (messages_.size() > kept_) messages_.pop_front();
    for (const auto& [reader, wake] : readers_)
        wake();
}

EventFeed::Text EventFeed::reset_message() const {
    return std::make_shared<const std::string>(
        event_text(format("{}.{}", name_, published_), "reset", "{}"));
}

EventFeed::Start EventFeed::begin(std::string_view last_event_id) const {
    const std::lock_guard lock(mutex_);
    const auto place = place_in(last_event_id, name_);
    if (!place || *place < oldest() || *place > published_) return {published_, reset_message()};
    return {*place, std::make_shared<const std::string>(": welcome back\n\n")};
}

std::vector<EventFeed::Text> EventFeed::take(Place& place) const {
    const std::lock_guard lock(mutex_);
    if (place < oldest()) {
        place = published_;
        return {reset_message()};
    }
    const auto first = messages_.end() - static_cast<std::ptrdiff_t>(published_ - place);
    place = published_;
    return {first, messages_.end()};
}

std::uint64_t EventFeed::attend(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    readers_.emplace(++next_reader_, std::move(wake));
    return next_reader_;
}

void EventFeed::forget(std::uint64_t reader) {
    const std::lock_guard lock(mutex_);
    readers_.erase(reader);
}

std::size_t EventFeed::num_readers() const {
    const std::lock_guard lock(mutex_);
    return readers_.size();
}

}  // namespace rm
