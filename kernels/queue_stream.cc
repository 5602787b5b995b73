#include "kernels/queue_stream.h"

#include <pthread.h>

#include <utility>

namespace rm {
namespace {

std::string words_of(const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "an exception of unknown type";
    }
}

}  // namespace

void EventRecord::complete() {
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
    }
    completed_.notify_all();
}

void EventRecord::wait() {
    std::unique_lock lock(mutex_);
    completed_.wait(lock, [&] { return done_; });
}

RecordPtr QueueEvent::start_record() {
    RecordPtr record = make_record_();
    const std::lock_guard lock(mutex_);
    latest_ = record;
    return record;
}

RecordPtr QueueEvent::latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
}

std::unique_ptr<Event> make_host_event() {
    return std::make_unique<QueueEvent>([] { return std::make_shared<EventRecord>(); });
}

QueueStream::QueueStream(std::string_view name, std::unique_ptr<StreamBody> body)
    : name_(name), body_(std::move(body)), thread_([this] { play(); }) {
    pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
}

QueueStream::~QueueStream() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    queued_.notify_one();
    thread_.join();
}

void QueueStream::enqueue(std::string_view op, std::function<void()> work) {
    ++num_queued_;
    push({.op = std::string(op), .work = std::move(work)});
}

void QueueStream::launch(const QueuedWork& what, std::function<void(void* native)> launch) {
    enqueue(what.op, [this, launch = std::move(launch)] { launch(body_->native()); });
}

void QueueStream::call_host(std::string_view op, std::function<void()> work) {
    push({.op = std::string(op), .host_work = std::move(work)});
}

void QueueStream::record(Event& event) {
    push({.completes = dynamic_cast<QueueEvent&>(event).start_record()});
}

void QueueStream::wait(const Event& event) {
    RecordPtr record = dynamic_cast<const QueueEvent&>(event).latest();
    if (record) push({.waits_for = std::move(record)});
}

// The host waits while the stream has many items to play: a step of a long context has more than
// fit in memory. Work that a stream waits for was queued before, here or at a peer, so a full
// stream continues to play.
void QueueStream::push(Item item) {
    {
        std::unique_lock lock(mutex_);
        if (items_.size() >= kMostQueued && std::this_thread::get_id() != thread_.get_id()) {
            ++num_blocked_;
            played_.wait(lock, [&] { return items_.size() < kMostQueued; });
            --num_blocked_;
        }
        items_.push_back(std::move(item));
        ++num_pushed_;
    }
    queued_.notify_one();
}

void QueueStream::play() {
    std::unique_lock lock(mutex_);
    while (true) {
        queued_.wait(lock, [&] { return !items_.empty() || closing_; });
        if (items_.empty()) return;
        std::string op;
        {
            Item item = std::move(items_.front());
            items_.pop_front();
            lock.unlock();
            play_item(item);
            op = std::move(item.op);
        }
        lock.lock();
        if (!op.empty()) last_op_ = std::move(op);
        ++num_played_;
        if (num_synchronizing_ > 0 || num_blocked_ > 0) played_.notify_all();
    }
}

// After an error work is skipped, but waits are still honoured and records still complete: a stream
// that waits for this one may rely on what this one waited for.
void QueueStream::play_item(Item& item) {
    if (item.completes) return body_->record(*item.completes);
    if (item.waits_for) return body_->wait(*item.waits_for);
    if (failed_) return;
    try {
        if (item.work) {
            body_->run(item.work);
        } else {
            body_->call_host(std::move(item.host_work));
        }
    } catch (...) {
        fail(item.op, std::current_exception());
    }
}

// The first error stays.
void QueueStream::keep_error(std::string_view op, std::exception_ptr cause) {
    const std::lock_guard lock(mutex_);
    if (!error_.empty()) return;
    error_ = format("{} on stream {}: {}", op, name_, words_of(cause));
    cause_ = std::move(cause);
}

void QueueStream::fail(std::string_view op, std::exception_ptr cause) {
    keep_error(op, std::move(cause));
    failed_ = true;
}

void QueueStream::synchronize() {
    RM_CHECK(std::this_thread::get_id() != thread_.get_id(),
             "stream {} cannot be synchronized by work queued on it", name_);
    std::unique_lock lock(mutex_);
    const std::int64_t target = num_pushed_;
    ++num_synchronizing_;
    played_.wait(lock, [&] { return num_played_ >= target; });
    --num_synchronizing_;
    const std::string last_op = last_op_;
    lock.unlock();
    if (const std::exception_ptr late = body_->finish()) {
        keep_error(format("{}, or an op before it,", last_op), late);
    }
    lock.lock();
    if (!error_.empty()) throw StreamError(error_, cause_);
}

}  // namespace rm
