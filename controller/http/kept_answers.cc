#include "controller/http/kept_answers.h"

#include <algorithm>

#include "base/format.h"

namespace rm {
namespace {

Bytes size_of(const HttpResponse& response) {
    return {static_cast<std::int64_t>(response.body.size())};
}

// Whole seconds that remain of it; below one the answer is asked for each time.
HttpResponse labelled(HttpResponse response, Seconds left) {
    if (left.value >= 1)
        response.cache_control = format("private, max-age={}", static_cast<int>(left.value));
    return response;
}

}  // namespace

HttpResponse KeptAnswers::get(const std::string& question, Seconds longest, const Make& make) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (const Kept* kept = find(question))
            return labelled(kept->response, kept->until - clock_.mono());
        if (in_work_.insert(question).second) break;
        made_.wait(lock);
    }
    lock.unlock();
    // Whatever ends the work lets the others look again.
    struct Done {
        KeptAnswers& all;
        const std::string& question;
        ~Done() {
            const std::lock_guard again(all.mutex_);
            all.in_work_.erase(question);
            all.made_.notify_all();
        }
    } const done{*this, question};
    const MonoTime begin = clock_.mono();
    HttpResponse response = make();
    const Seconds stays = std::min(longest, Seconds{kTimes * (clock_.mono() - begin).value});
    if (response.status != 200) return response;
    lock.lock();
    keep(question, {response, clock_.mono() + stays});
    lock.unlock();
    return labelled(std::move(response), stays);
}

const KeptAnswers::Kept* KeptAnswers::find(const std::string& question) {
    const auto found = kept_.find(question);
    return found != kept_.end() && found->second.until > clock_.mono() ? &found->second : nullptr;
}

void KeptAnswers::keep(const std::string& question, Kept kept) {
    const Bytes size = size_of(kept.response);
    if (size > kMost) return;
    if (const auto old = kept_.find(question); old != kept_.end()) {
        bytes_.value -= size_of(old->second.response).value;
        kept_.erase(old);
    }
    while (!kept_.empty() && (bytes_ + size > kMost || kept_.size() >= kMostAnswers))
        drop_first_to_end();
    bytes_ += size;
    kept_.emplace(question, std::move(kept));
}

void KeptAnswers::drop_first_to_end() {
    const auto first = std::min_element(
        kept_.begin(), kept_.end(),
        [](const auto& a, const auto& b) { return a.second.until < b.second.until; });
    bytes_.value -= size_of(first->second.response).value;
    kept_.erase(first);
}

}  // namespace rm
