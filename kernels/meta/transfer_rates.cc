#include "kernels/meta/transfer_rates.h"

#include <barrier>
#include <chrono>
#include <deque>
#include <exception>
#include <thread>

namespace rm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// One direction of one device.
class Lane {
public:
    Lane(Device& device, Bytes size, double TransferRates::*direction, TransferRates& rates)
        : device_(device),
          is_upload_(direction == &TransferRates::upload),
          rate_(rates.*direction),
          there_(device, MemoryKind::communication, DType::f32, {size.value / 4}),
          here_(device, size),
          stream_(device.make_stream("copies")) {
        copy();
    }

    void copy_for(Seconds span) noexcept {
        try {
            const auto start = Clock::now();
            double bytes = 0, seconds = 0;
            do {
                copy();
                bytes += static_cast<double>(there_->num_bytes().value);
                seconds = seconds_since(start);
            } while (seconds < span.value);
            rate_ = bytes / seconds;
        } catch (...) {
            failure_ = std::current_exception();
        }
    }
    void rethrow_failure() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    void copy() {
        if (is_upload_) {
            device_.upload(here_.data(), there_, *stream_);
        } else {
            device_.download(there_, here_.data(), *stream_);
        }
        stream_->synchronize();
    }

    Device& device_;
    const bool is_upload_;
    double& rate_;
    const Tensor there_;
    const PinnedBuffer here_;
    std::exception_ptr failure_;
    const std::unique_ptr<Stream> stream_;  // last: it ends before its memory is freed
};

void run_together(std::deque<Lane>& lanes, Seconds span) {
    std::barrier start(std::ssize(lanes));
    std::vector<std::jthread> threads;
    for (Lane& lane : lanes) {
        threads.emplace_back([&start, &lane, span] {
            start.arrive_and_wait();
            lane.copy_for(span);
        });
    }
}

}  // namespace

std::vector<TransferRates> measure_copies(std::span<Device* const> devices, Ways ways,
                                          const CopyTerms& terms) {
    std::vector<TransferRates> rates(devices.size());
    std::deque<Lane> lanes;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (ways != Ways::down)
            lanes.emplace_back(*devices[i], terms.size, &TransferRates::upload, rates[i]);
        if (ways != Ways::up)
            lanes.emplace_back(*devices[i], terms.size, &TransferRates::download, rates[i]);
    }
    run_together(lanes, terms.span);
    for (const Lane& lane : lanes)
        lane.rethrow_failure();
    return rates;
}

SharedTransfers measure_shared_transfers(Device& device, std::span<Device* const> others,
                                         const CopyTerms& terms) {
    std::vector<Device*> all{&device};
    SharedTransfers shared{.both_ways = measure_copies(all, Ways::both, terms).front()};
    if (others.empty()) return shared;
    all.insert(all.end(), others.begin(), others.end());
    shared.busy_devices = static_cast<int>(others.size());
    shared.busy = {.upload = measure_copies(all, Ways::up, terms).front().upload,
                   .download = measure_copies(all, Ways::down, terms).front().download};
    shared.busy_both_ways = measure_copies(all, Ways::both, terms).front();
    return shared;
}

}  // namespace rm
