#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "kernels/device.h"

// Shared by the devices: a stream is a host thread that plays queued items in order. On a host
// device the items do the work; on a GPU they hand it to the driver, and a stream that waits for
// host work is held back here, on the host. So no queue of the GPU ever waits for the host: nothing
// that waits for a whole GPU (allocating, freeing) can wait for another rank of the process.
namespace rm {

// One record of an event: done once, never reset.
class EventRecord {
public:
    virtual ~EventRecord() = default;
    virtual void wait();  // on the host, until what came before the record has run
    void complete();

private:
    std::mutex mutex_;
    std::condition_variable completed_;
    bool done_ = false;
};
// Shared by the event (its latest record), the stream that will complete it and the streams that
// wait for it: any of them may be destroyed first.
using RecordPtr = std::shared_ptr<EventRecord>;

class QueueEvent final : public Event {
public:
    explicit QueueEvent(std::function<RecordPtr()> make_record)
        : make_record_(std::move(make_record)) {}
    RecordPtr start_record();
    RecordPtr latest() const;  // null until the first record

private:
    std::function<RecordPtr()> make_record_;
    mutable std::mutex mutex_;
    RecordPtr latest_;
};
std::unique_ptr<Event> make_host_event();

// Runs a stream's items on its thread; by default as a host stream does.
class StreamBody {
public:
    virtual ~StreamBody() = default;
    virtual void run(const std::function<void()>& work) { work(); }
    // Host work in the stream's order; must not block.
    virtual void call_host(std::function<void()> work) { work(); }
    virtual void record(EventRecord& record) { record.complete(); }
    virtual void wait(EventRecord& record) { record.wait(); }
    // By the thread that synchronizes, when all items have been played: returns when they have run,
    // and what the machine has to say of them; null: all is well.
    virtual std::exception_ptr finish() { return nullptr; }
    // The stream as the device's libraries know it (Stream::launch).
    virtual void* native() const { return nullptr; }
};

// The destructor plays what is left and joins. Threads that queue more than 65,536 items ahead of
// those played wait.
class QueueStream final : public Stream {
public:
    explicit QueueStream(std::string_view name,
                         std::unique_ptr<StreamBody> body = std::make_unique<StreamBody>());
    QueueStream(const QueueStream&) = delete;
    QueueStream& operator=(const QueueStream&) = delete;
    ~QueueStream() override;

    void enqueue(std::string_view op, std::function<void()> work) override;
    void launch(const QueuedWork& what, std::function<void(void* native)> launch) override;
    void call_host(std::string_view op, std::function<void()> work) override;
    std::int64_t num_queued() const override { return num_queued_; }
    void record(Event& event) override;
    void wait(const Event& event) override;
    void synchronize() override;
    void fail(std::string_view op, std::exception_ptr cause) override;

    StreamBody& body() { return *body_; }

private:
    // Exactly one of work, host_work, completes and waits_for is set.
    struct Item {
        std::string op;
        std::function<void()> work;
        std::function<void()> host_work;
        RecordPtr completes;
        RecordPtr waits_for;
    };

    static constexpr std::size_t kMostQueued = std::size_t{1} << 16;

    void push(Item item);
    void play();
    void play_item(Item& item);
    void keep_error(std::string_view op, std::exception_ptr cause);

    std::string name_;
    std::unique_ptr<StreamBody> body_;
    std::mutex mutex_;
    std::condition_variable queued_;
    std::condition_variable played_;
    std::deque<Item> items_;
    std::int64_t num_pushed_ = 0;
    std::atomic<std::int64_t> num_queued_ = 0;  // ops among the pushed items
    std::int64_t num_played_ = 0;
    int num_synchronizing_ = 0;
    int num_blocked_ = 0;  // threads that wait in push()
    bool closing_ = false;
    std::string error_;  // of the first op that failed; empty: none
    std::exception_ptr cause_;
    std::atomic<bool> failed_ = false;  // the same
    std::string last_op_;               // played last
    std::thread thread_;                // last: starts when the rest is there
};

}  // namespace rm
