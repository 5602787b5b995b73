#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
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
    // On the device, in memory that another object owns.
    explicit TokenStore(const TensorView& view) : view_(view), place_(Place::device) {}
    TokenStore(TokenStore&&) noexcept = default;
    TokenStore& operator=(TokenStore&&) noexcept = default;

    bool empty() const { return view_.rank() == 0; }
    // Place::device.
    const TensorView& whole() const;
    // The shape of all rows, wherever they lie.
    const TensorView& shape() const { return view_; }

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
    ArenaTensor memory_;  // none: borrowed
    TensorView view_;     // whole
    Place place_ = Place::device;
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
};

// The visits of a window, in their order.
class Visits {
public:
    Visits() = default;
    Visits(std::vector<Visit> list)  // NOLINT(google-explicit-constructor)
        : list_(std::move(list)), size_(list_.size()) {}
    // One pass after the other: pass p opens the rows of list[0..p], the last of them as `last`
    // says. Their number is quadratic, so they are computed and not stored.
    static Visits up_to_each(std::vector<Visit> list, RowAccess last);

    std::size_t size() const { return size_; }
    Visit operator[](std::size_t index) const;

private:
    std::vector<Visit> list_;
    std::size_t size_ = 0;
    std::optional<RowAccess> last_;  // nothing: one pass over the list
};

// Visits a store's rows in a known order. For a store on the host, the from-host stream fetches the
// policy's `prefetch` windows ahead, and the to-host stream returns written rows. A WindowGroup
// opens and closes the window; between the two, the caller queues compute on at().
class TokenWindow {
public:
    TokenWindow() = default;  // of nothing
    // `most_rows`: of any visit. Borrows both.
    TokenWindow(StepMemory& memory, TokenStore& store, Visits visits, std::int64_t most_rows);
    TokenWindow(TokenWindow&&) noexcept = default;
    TokenWindow& operator=(TokenWindow&&) = delete;
    ~TokenWindow();

    // Rows of the store within the open ones.
    TensorView at(const TokenRange& rows) const;
    // All open rows.
    TensorView rows() const { return at(visits_[current_].rows); }
    bool empty() const { return store_ == nullptr; }

private:
    friend class WindowGroup;
    struct Slot {
        ArenaTensor memory;
        // Compute and to-host have finished with the slot's contents; null: it was empty.
        StreamOrder::Mark free;
        StreamOrder::Mark arrived;  // what was brought
    };
    bool on_host() const { return store_ != nullptr && store_->place_ == TokenStore::Place::host; }
    Slot& slot(std::size_t visit) { return slots_[visit % slots_.size()]; }
    TensorView slot_rows(std::size_t visit);
    TensorView host_rows(std::size_t visit) const;
    bool writes(std::size_t visit) const { return visits_[visit].access != RowAccess::read; }
    bool is_written_before(std::size_t visit) const;
    void bring(std::size_t visit);

    // A group calls these for each of its windows in turn. They return true if they queued a
    // transfer; the mark that follows covers it.
    bool bring_ahead();
    void note_brought(const StreamOrder::Mark& mark);
    void begin();
    void end(const StreamOrder::Mark& used);
    bool send();
    void note_sent(const StreamOrder::Mark& mark);
    void go_on() { ++current_; }

    StepMemory* memory_ = nullptr;
    TokenStore* store_ = nullptr;
    Visits visits_;
    std::vector<Slot> slots_;
    std::size_t current_ = 0;  // open, or next to be
    std::size_t brought_ = 0;  // visits before it are there, on their way, or need not be
    std::size_t noted_ = 0;    // visits before it have a known mark
    bool open_ = false;
};

// Windows that advance together. Borrows them and skips empty ones. List windows that are read
// before those that are updated: the group fetches in list order.
class WindowGroup {
public:
    template <typename... Windows>
    explicit WindowGroup(StepMemory& memory, Windows&... windows) : memory_(memory) {
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

    StepMemory& memory_;
    std::vector<TokenWindow*> on_device_;
    std::vector<TokenWindow*> on_host_;
};

// Visits of the same kind, one after the other.
std::vector<Visit> visits(const std::vector<TokenRange>& rows, RowAccess access);

}  // namespace rm
