#include "tests/support/lazy_device.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/forwarding_device.h"

namespace rm::test {
namespace {

thread_local LazyOptions options_of_thread;
std::mutex waits_mutex;
LazyWaits waits_of_last_device;

class LazyStream;

// Ops of all streams of one device, and which of them may run next.
class Scheduler {
public:
    explicit Scheduler(const LazyOptions& options) : options_(options), rng_(options.seed) {}

    void add(LazyStream* stream) { streams_.push_back(stream); }
    void remove(LazyStream* stream) {
        std::erase(streams_, stream);
        favourite_ = nullptr;
    }
    void play_until_empty(const LazyStream& stream);

    // Whether this wait is kept.
    bool keeps_wait(const std::string& stream, const std::string& last_op) {
        if (waits_.count++ != options_.without_wait.value_or(-1)) return true;
        waits_.left_out = stream + ", after " + last_op;
        return false;
    }
    const LazyWaits& waits() const { return waits_; }

private:
    LazyOptions options_;
    Rng rng_;
    std::vector<LazyStream*> streams_;
    LazyStream* favourite_ = nullptr;
    LazyWaits waits_;
};

struct LazyEvent final : Event {
    // A wait refers to the latest record before it; shared with the streams that wait for it.
    std::shared_ptr<bool> passed;  // null until the first record
};

class LazyStream final : public Stream {
public:
    LazyStream(std::string_view name, std::shared_ptr<Scheduler> scheduler)
        : name_(name), scheduler_(std::move(scheduler)) {
        scheduler_->add(this);
    }
    LazyStream(const LazyStream&) = delete;
    LazyStream& operator=(const LazyStream&) = delete;
    ~LazyStream() override {
        scheduler_->play_until_empty(*this);
        scheduler_->remove(this);
    }

    void enqueue(std::string_view op, std::function<void()> work) override {
        ++num_queued_;
        push(op, std::move(work));
    }
    void call_host(std::string_view op, std::function<void()> work) override {
        push(op, std::move(work));
    }
    std::int64_t num_queued() const override { return num_queued_; }
    void record(Event& event) override {
        auto& own = dynamic_cast<LazyEvent&>(event);
        own.passed = std::make_shared<bool>(false);
        items_.push_back({"record", {}, own.passed, nullptr});
    }
    void wait(const Event& event) override {
        const auto& own = dynamic_cast<const LazyEvent&>(event);
        if (own.passed && scheduler_->keeps_wait(name_, last_op_))
            items_.push_back({"wait", {}, nullptr, own.passed});
    }
    void synchronize() override {
        scheduler_->play_until_empty(*this);
        if (!error_.empty()) throw StreamError(error_, cause_);
    }

    bool empty() const { return items_.empty(); }
    bool ready() const {
        return !items_.empty() && (!items_.front().waits_for || *items_.front().waits_for);
    }
    void play_one() {
        Item item = std::move(items_.front());
        items_.pop_front();
        if (item.completes) *item.completes = true;
        if (!item.work || !error_.empty()) return;
        try {
            item.work();
        } catch (const std::exception& error) {
            error_ = format("{}: {}: {}", name_, item.op, error.what());
            cause_ = std::current_exception();
        }
    }

private:
    void push(std::string_view op, std::function<void()> work) {
        last_op_ = op;
        items_.push_back({last_op_, std::move(work), nullptr, nullptr});
    }
    std::int64_t num_queued_ = 0;
    struct Item {
        std::string op;
        std::function<void()> work;
        std::shared_ptr<bool> completes;
        std::shared_ptr<bool> waits_for;
    };
    std::string name_;
    std::string last_op_ = "nothing";       // queued last
    std::shared_ptr<Scheduler> scheduler_;  // of the device, which streams may outlive
    std::deque<Item> items_;
    std::string error_;  // of the first op that failed; empty: none
    std::exception_ptr cause_;
};

// Runs one stream as far as it can, then draws another: so each is far ahead at times.
void Scheduler::play_until_empty(const LazyStream& stream) {
    constexpr std::uint64_t kMeanTurn = 24;  // ops
    while (!stream.empty()) {
        const bool draw = favourite_ == nullptr || rng_.below(kMeanTurn) == 0;
        if (!draw && favourite_->ready()) {
            favourite_->play_one();
            continue;
        }
        std::vector<LazyStream*> ready;
        std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(ready),
                     [](const LazyStream* s) { return s->ready(); });
        RM_CHECK(!ready.empty(), "every stream waits for an event that nobody will record");
        LazyStream* next = ready[rng_.below(ready.size())];
        if (draw) favourite_ = next;
        next->play_one();
    }
}

class LazyDevice final : public ForwardingDevice {
public:
    LazyDevice() : scheduler_(std::make_shared<Scheduler>(options_of_thread)) {}
    LazyDevice(const LazyDevice&) = delete;
    LazyDevice& operator=(const LazyDevice&) = delete;
    ~LazyDevice() override {
        const std::lock_guard lock(waits_mutex);
        waits_of_last_device = scheduler_->waits();
    }

    std::unique_ptr<Stream> make_stream(std::string_view name) override {
        return std::make_unique<LazyStream>(name, scheduler_);
    }
    std::unique_ptr<Stream> make_host_stream(std::string_view name) override {
        return make_stream(name);
    }
    std::unique_ptr<Event> make_event() override { return std::make_unique<LazyEvent>(); }

protected:
    // Fresh and freed memory is all ones: NaN in every floating type.
    void* allocate_bytes(Bytes size) override {
        void* data = ForwardingDevice::allocate_bytes(size);
        fill_with_ones(data, size);
        return data;
    }
    void free_bytes(void* data, Bytes size) override {
        fill_with_ones(data, size);
        ForwardingDevice::free_bytes(data, size);
    }

private:
    static void fill_with_ones(void* data, Bytes size) {
        std::memset(data, 0xff, static_cast<std::size_t>(size.value));
    }
    std::shared_ptr<Scheduler> scheduler_;  // also of the streams made here
};

}  // namespace

void set_lazy_options(const LazyOptions& options) {
    options_of_thread = options;
}
std::unique_ptr<Device> make_lazy_device() {
    return std::make_unique<LazyDevice>();
}
LazyWaits last_lazy_waits() {
    const std::lock_guard lock(waits_mutex);
    return waits_of_last_device;
}

}  // namespace rm::test
