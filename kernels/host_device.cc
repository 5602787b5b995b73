#include <pthread.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/device.h"

namespace rm {
namespace {

constexpr std::size_t kAlignment = 64;

#ifdef RM_POISON
constexpr bool kPoison = true;
#else
constexpr bool kPoison = false;
#endif

// All bits set is a NaN in every floating type we use, and an impossible token.
void poison(void* data, Bytes size) {
    if (kPoison) std::memset(data, 0xff, static_cast<std::size_t>(size.value));
}

// One record of an event: done once, never reset.
class Record {
public:
    void complete() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        completed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        completed_.wait(lock, [&] { return done_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable completed_;
    bool done_ = false;
};
// Shared by the event (its latest record), the stream that will complete it and the streams that
// wait for it: any of them may be destroyed first.
using RecordPtr = std::shared_ptr<Record>;

class HostEvent final : public Event {
public:
    RecordPtr start_record() {
        auto record = std::make_shared<Record>();
        const std::lock_guard lock(mutex_);
        latest_ = record;
        return record;
    }
    RecordPtr latest() const {
        const std::lock_guard lock(mutex_);
        return latest_;
    }

private:
    mutable std::mutex mutex_;
    RecordPtr latest_;  // null until the first record
};

// A thread that plays queued items in order. Its destructor plays what is left and joins.
class QueueStream final : public Stream {
public:
    explicit QueueStream(std::string_view name) : name_(name), thread_([this] { play(); }) {
        pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
    }
    QueueStream(const QueueStream&) = delete;
    QueueStream& operator=(const QueueStream&) = delete;
    ~QueueStream() override {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        queued_.notify_one();
        thread_.join();
    }

    void enqueue(std::string_view op, std::function<void()> work) override {
        push({.op = std::string(op), .work = std::move(work)});
    }
    void record(Event& event) override {
        push({.completes = dynamic_cast<HostEvent&>(event).start_record()});
    }
    void wait(const Event& event) override {
        RecordPtr record = dynamic_cast<const HostEvent&>(event).latest();
        if (record) push({.waits_for = std::move(record)});
    }
    void synchronize() override;

private:
    // Exactly one of work, completes and waits_for is set.
    struct Item {
        std::string op;
        std::function<void()> work;
        RecordPtr completes;
        RecordPtr waits_for;
    };

    void push(Item item);
    void play();
    void play_item(Item& item);
    void keep_error(const Item& item, std::string_view what);

    std::string name_;
    std::mutex mutex_;
    std::condition_variable queued_;
    std::condition_variable played_;
    std::deque<Item> items_;
    std::int64_t num_pushed_ = 0;
    std::int64_t num_played_ = 0;
    int num_synchronizing_ = 0;
    bool closing_ = false;
    std::string error_;  // of the first op that failed; empty: none
    std::exception_ptr cause_;
    bool failed_ = false;  // the same, for the playing thread alone
    std::thread thread_;   // last: starts when the rest is there
};

void QueueStream::push(Item item) {
    {
        const std::lock_guard lock(mutex_);
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
        {
            Item item = std::move(items_.front());
            items_.pop_front();
            lock.unlock();
            play_item(item);
        }
        lock.lock();
        ++num_played_;
        if (num_synchronizing_ > 0) played_.notify_all();
    }
}

// After an error work is skipped, but waits are still honoured and records still complete: a stream
// that waits for this one may rely on what this one waited for.
void QueueStream::play_item(Item& item) {
    if (item.completes) return item.completes->complete();
    if (item.waits_for) return item.waits_for->wait();
    if (failed_) return;
    try {
        item.work();
    } catch (const std::exception& error) {
        keep_error(item, error.what());
    } catch (...) {
        keep_error(item, "an exception of unknown type");
    }
}

void QueueStream::keep_error(const Item& item, std::string_view what) {
    failed_ = true;
    const std::lock_guard lock(mutex_);
    cause_ = std::current_exception();
    error_ = format("{} on stream {}: {}", item.op, name_, what);
}

void QueueStream::synchronize() {
    RM_CHECK(std::this_thread::get_id() != thread_.get_id(),
             "stream {} cannot be synchronized by work queued on it", name_);
    std::unique_lock lock(mutex_);
    const std::int64_t target = num_pushed_;
    ++num_synchronizing_;
    played_.wait(lock, [&] { return num_played_ >= target; });
    --num_synchronizing_;
    if (!error_.empty()) throw StreamError(error_, cause_);
}

class HostDevice final : public Device {
public:
    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<QueueStream>(name);
    }
    std::unique_ptr<Event> make_event() override { return std::make_unique<HostEvent>(); }
    void upload(const void* host, const TensorView& to, Stream& stream) override {
        stream.enqueue("upload", [host, to] { std::memcpy(to.data(), host, to.bytes().size()); });
    }
    void download(const TensorView& from, void* host, Stream& stream) override {
        stream.enqueue("download",
                       [from, host] { std::memcpy(host, from.data(), from.bytes().size()); });
    }

protected:
    void* allocate_bytes(Bytes size) override {
        const auto wanted = static_cast<std::size_t>(size.value);
        const std::size_t rounded = (wanted / kAlignment + 1) * kAlignment;  // never zero
        void* data = std::aligned_alloc(kAlignment, rounded);
        if (data != nullptr) poison(data, size);
        return data;
    }
    void free_bytes(void* data, Bytes size) override {
        poison(data, size);
        std::free(data);
    }
};

}  // namespace

std::unique_ptr<Device> make_host_device() {
    return std::make_unique<HostDevice>();
}

}  // namespace rm
