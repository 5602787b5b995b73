#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "engine/windows/step_memory.h"

namespace rm {

// Rows of tokens that a layer works on or keeps: whole on the device, or on the host, with windows
// that bring some rows to the device and back. Code that reads or fills it through a TokenWindow
// does not know which.
class TokenStore {
public:
    TokenStore() = default;
    enum class Place { device, host };
    TokenStore(StepMemory& memory, BufferName name, Place place, DType dtype,
               std::initializer_list<std::int64_t> shape);
    // Rows in memory that others own, and that outlives the store.
    TokenStore(BufferName name, Place place, const TensorView& lent)
        : name_(name), view_(lent), place_(place) {}
    TokenStore(TokenStore&&) noexcept = default;
    TokenStore& operator=(TokenStore&&) noexcept = default;

    bool empty() const { return view_.rank() == 0; }
    // Place::device.
    const TensorView& whole() const;
    // The shape of all rows, wherever they lie.
    const TensorView& shape() const { return view_; }
    // Rows of the store travel to other ranks: more streams than those of compute's windows wait
    // for them.
    void set_travels() { travels_ = true; }
    bool travels() const { return travels_; }

private:
    friend class TokenWindow;
    // Rows that have been written from a window.
    struct Stored {
        TokenRange rows;
        StreamOrder::Mark mark;
        std::int64_t first() const { return rows.first; }
    };
    void note_stored(const TokenRange& rows, const StreamOrder::Mark& mark);
    // Adds the marks of stored rows that overlap `rows`.
    void add_marks(const TokenRange& rows, std::vector<StreamOrder::Mark>& marks) const;

    BufferName name_;
    ArenaTensor memory_;
    TensorView view_;  // whole
    Place place_ = Place::device;
    bool travels_ = false;
    std::vector<Stored> stored_;    // of the host, by their first rows
    std::int64_t most_stored_ = 0;  // rows of one of them
};

// Where the policy puts a layer's working stores, and those kept for the backward pass.
TokenStore::Place working_place(const MemoryPolicy& policy);
TokenStore::Place kept_place(const MemoryPolicy& policy);
TokenStore working_store(StepMemory& memory, BufferName name, DType dtype,
                         std::initializer_list<std::int64_t> shape);
TokenStore kept_store(StepMemory& memory, BufferName name, DType dtype,
                      std::initializer_list<std::int64_t> shape);

// How a window accesses the rows that it is opened on.
enum class RowAccess { read, write, update };
struct Visit {
    TokenRange rows;
    RowAccess access = RowAccess::read;
    std::size_t store = 0;  // of the window's
};

// The visits of a window, in their order: a list, or computed where a list would be long.
class Visits {
public:
    Visits() = default;
    Visits(std::vector<Visit> list)  // NOLINT(google-explicit-constructor)
        : list_(std::move(list)), size_(list_.size()) {}
    Visits(std::size_t size, std::function<Visit(std::size_t)> at)
        : size_(size), at_(std::move(at)) {}

    std::size_t size() const { return size_; }
    Visit operator[](std::size_t index) const { return at_ ? at_(index) : list_[index]; }

private:
    std::vector<Visit> list_;
    std::size_t size_ = 0;
    std::function<Visit(std::size_t)> at_;
};

// Visits rows of one store, or of several of the same shape, in a known order. For stores on the
// host, one stream fetches the policy's `prefetch` windows ahead, and another returns written rows.
// A WindowGroup opens and closes the window; between the two, the caller queues work on at().
class TokenWindow {
public:
    TokenWindow() = default;  // of nothing
    // `most_rows`: of any visit. `open_at_once`: the most visits that are open together. Borrows
    // memory and stores.
    TokenWindow(StepMemory& memory, std::vector<TokenStore*> stores, Visits visits,
                std::int64_t most_rows, std::size_t open_at_once = 1);
    TokenWindow(StepMemory& memory, TokenStore& store, Visits visits, std::int64_t most_rows,
                std::size_t open_at_once = 1)
        : TokenWindow(memory, std::vector{&store}, std::move(visits), most_rows, open_at_once) {}
    TokenWindow(TokenWindow&&) noexcept = default;
    TokenWindow& operator=(TokenWindow&&) = delete;
    ~TokenWindow();

    // Rows of the store within those of an open visit.
    TensorView at(const TokenRange& rows) const;
    // All rows of the visit that was opened last.
    TensorView rows() const { return rows_of(next_ - 1, visits_[next_ - 1].rows); }
    bool empty() const { return stores_.empty(); }
    // Fetches no visit from this one on, until the next call: its rows are not there yet.
    void limit(std::size_t visits) { limit_ = visits; }

private:
    friend class WindowGroup;
    struct Slot {
        ArenaTensor memory;
        // All streams have finished with the slot's contents; null: it was empty.
        StreamOrder::Mark free;
        StreamOrder::Mark arrived;  // what was brought
    };
    bool on_host() const {
        return !stores_.empty() && stores_[0]->place_ == TokenStore::Place::host;
    }
    TokenStore& store(std::size_t visit) const { return *stores_[visits_[visit].store]; }
    Slot& slot(std::size_t visit) { return slots_[visit % slots_.size()]; }
    TensorView rows_of(std::size_t visit, const TokenRange& rows) const;
    TensorView host_rows(std::size_t visit) const;
    bool writes(std::size_t visit) const { return visits_[visit].access != RowAccess::read; }
    bool is_written_before(std::size_t visit) const;
    void bring(std::size_t visit, const WindowStreams& streams);

    // A group calls these for each of its windows in turn. They return true if they queued a
    // transfer; the mark that follows covers it.
    bool bring_ahead(const WindowStreams& streams);
    void note_brought(const StreamOrder::Mark& mark);
    void begin(const WindowStreams& streams);
    void end(const StreamOrder::Mark& used);
    bool send(const WindowStreams& streams);
    void note_sent(const StreamOrder::Mark& mark);
    void go_on() { ++current_; }

    StepMemory* memory_ = nullptr;
    std::vector<TokenStore*> stores_;
    Visits visits_;
    std::vector<Slot> slots_;
    std::size_t open_at_once_ = 1;
    std::size_t current_ = 0;  // the first that is open, or next to be
    std::size_t next_ = 0;     // to be opened
    std::size_t brought_ = 0;  // visits before it are there, on their way, or need not be
    std::size_t noted_ = 0;    // visits before it have a known mark
    std::size_t limit_ = SIZE_MAX;
};

// Windows that advance together. Borrows them and skips empty ones. List windows that are read
// before those that are updated: the group fetches in list order.
class WindowGroup {
public:
    // The compute stream works on them.
    template <typename... Windows>
    explicit WindowGroup(StepMemory& memory, Windows&... windows)
        : WindowGroup(memory, memory.compute_streams(), windows...) {}
    template <typename... Windows>
    WindowGroup(StepMemory& memory, const WindowStreams& streams, Windows&... windows)
        : memory_(memory), streams_(streams) {
        (add(windows), ...);
        bring_ahead();
    }
    WindowGroup(const WindowGroup&) = delete;
    WindowGroup& operator=(const WindowGroup&) = delete;

    // Before the first open().
    void add(TokenWindow& window);
    void open();
    void close();

private:
    void bring_ahead();
    void send();
    StreamOrder::Mark record(Stream& stream) { return memory_.record(stream, waiters_); }

    StepMemory& memory_;
    WindowStreams streams_;
    Waiters waiters_ = Waiters::windows;
    std::vector<TokenWindow*> on_device_;
    std::vector<TokenWindow*> on_host_;
};

// Visits of the same kind, one after the other.
std::vector<Visit> visits(const std::vector<TokenRange>& rows, RowAccess access);

}  // namespace rm
