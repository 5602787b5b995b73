#include "tests/standins/nccl/channels.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

namespace standin {
namespace {

constexpr std::size_t kQueuesAt = 4096;

std::size_t size_for(int num_ranks) {
    return kQueuesAt + sizeof(Queue) * static_cast<std::size_t>(num_ranks * num_ranks);
}

// Removes what no communicator completed.
struct Leftovers {
    std::mutex mutex;
    std::vector<std::string> names;
    ~Leftovers() {
        for (const std::string& name : names)
            ::shm_unlink(name.c_str());
    }
};
Leftovers leftovers;

// Copies to or from the circle at `position`.
template <typename Copy>
void in_circle(std::uint64_t position, std::size_t count, const Copy& copy) {
    const std::size_t offset = position % kRoom;
    const std::size_t first = std::min(count, kRoom - offset);
    copy(offset, 0, first);
    copy(0, first, count - first);
}

}  // namespace

bool Channels::make(char (&name)[kNameLength]) {
    std::random_device random;
    std::snprintf(name, sizeof name, "/rm-standin-nccl-%d-%08x%08x", ::getpid(), random(),
                  random());
    const int fd = ::shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0) return false;
    {
        const std::lock_guard lock(leftovers.mutex);
        leftovers.names.emplace_back(name);
    }
    const bool sized = ::ftruncate(fd, static_cast<off_t>(size_for(64))) == 0;
    ::close(fd);
    return sized;
}

Channels::Channels(const char* name, int num_ranks, int rank)
    : name_(name), num_ranks_(num_ranks), rank_(rank), size_(size_for(num_ranks)) {
    const int fd = ::shm_open(name, O_RDWR, 0600);
    if (fd < 0) return;
    void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED) return;
    header_ = static_cast<Header*>(memory);
    queues_ = reinterpret_cast<Queue*>(static_cast<std::byte*>(memory) + kQueuesAt);
}

void Channels::arrive() {
    if (++header_->arrived == num_ranks_) ::shm_unlink(name_.c_str());
}
bool Channels::complete() const {
    return header_->arrived == num_ranks_;
}

Channels::~Channels() {
    if (header_ != nullptr) ::munmap(header_, size_);
}

std::size_t Channels::write(int to, const std::byte* from, std::size_t count) {
    Queue& queue = this->queue(rank_, to);
    const std::uint64_t written = queue.written.load(std::memory_order_relaxed);
    const std::uint64_t room = kRoom - (written - queue.read.load(std::memory_order_acquire));
    const std::size_t now = std::min<std::size_t>(count, room);
    in_circle(written, now, [&](std::size_t at, std::size_t offset, std::size_t bytes) {
        std::memcpy(queue.bytes + at, from + offset, bytes);
    });
    queue.written.store(written + now, std::memory_order_release);
    return now;
}

std::size_t Channels::read(int from, std::byte* into, std::size_t count) {
    Queue& queue = this->queue(from, rank_);
    const std::uint64_t read = queue.read.load(std::memory_order_relaxed);
    const std::uint64_t there = queue.written.load(std::memory_order_acquire) - read;
    const std::size_t now = std::min<std::size_t>(count, there);
    in_circle(read, now, [&](std::size_t at, std::size_t offset, std::size_t bytes) {
        std::memcpy(into + offset, queue.bytes + at, bytes);
    });
    queue.read.store(read + now, std::memory_order_release);
    return now;
}

}  // namespace standin
