#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

// The shared memory of one stand-in communicator: a byte queue for every ordered pair of its ranks.
namespace standin {

constexpr std::size_t kNameLength = 64;
constexpr std::size_t kRoom = std::size_t{64} << 10;  // of one queue

// Bytes from one rank to another. One writer, one reader.
struct Queue {
    std::atomic<std::uint64_t> written;
    std::atomic<std::uint64_t> read;
    std::byte bytes[kRoom];
};

struct Header {
    std::atomic<int> arrived;  // ranks that have joined
};

class Channels {
public:
    // Makes the memory for up to 64 ranks under a new name. The last rank that arrives removes it.
    static bool make(char (&name)[kNameLength]);

    Channels(const char* name, int num_ranks, int rank);
    Channels(const Channels&) = delete;
    Channels& operator=(const Channels&) = delete;
    ~Channels();

    bool mapped() const { return header_ != nullptr; }
    void arrive();
    bool complete() const;  // every rank has arrived
    int num_ranks() const { return num_ranks_; }
    int rank() const { return rank_; }

    // Moves as many bytes as fit, or as are there; returns how many.
    std::size_t write(int to, const std::byte* from, std::size_t count);
    std::size_t read(int from, std::byte* into, std::size_t count);

private:
    Queue& queue(int from, int to) const { return queues_[from * num_ranks_ + to]; }

    std::string name_;
    int num_ranks_;
    int rank_;
    std::size_t size_ = 0;
    Header* header_ = nullptr;
    Queue* queues_ = nullptr;
};

}  // namespace standin
