#include "engine/windows/token_store.h"

#include <algorithm>

#include "base/check.h"

namespace rm {
namespace {

bool overlap(const TokenRange& a, const TokenRange& b) {
    return a.first < b.first + b.count && b.first < a.first + a.count;
}

TensorView like(const TensorView& memory, const TensorView& shape, std::int64_t rows) {
    switch (shape.rank()) {
        case 2:
            return {memory.data(), shape.dtype(), {rows, shape.dim(1)}};
        case 3:
            return {memory.data(), shape.dtype(), {rows, shape.dim(1), shape.dim(2)}};
        default:
            RM_CHECK(false, "windows are on rows of one or two dims, not on {}",
                     shape_string(shape));
    }
}

}  // namespace

TokenStore::TokenStore(StepMemory& memory, BufferName name, Place place, DType dtype,
                       std::initializer_list<std::int64_t> shape)
    : name_(name),
      memory_(place == Place::device ? memory.on_device(name, dtype, shape)
                                     : memory.on_host(name, dtype, shape)),
      view_(memory_.view()),
      place_(place) {}

const TensorView& TokenStore::whole() const {
    RM_CHECK(place_ == Place::device, "{} is not on the device as a whole", to_string(name_));
    return view_;
}

void TokenStore::note_stored(const TokenRange& rows, const StreamOrder::Mark& mark) {
    most_stored_ = std::max(most_stored_, rows.count);
    auto at = std::ranges::lower_bound(stored_, rows.first, {}, &Stored::first);
    for (; at != stored_.end() && at->first() == rows.first; ++at) {
        if (at->rows == rows) {
            at->mark = mark;
            return;
        }
    }
    stored_.insert(at, {rows, mark});
}

void TokenStore::add_marks(const TokenRange& rows, std::vector<StreamOrder::Mark>& marks) const {
    const auto from =
        std::ranges::lower_bound(stored_, rows.first - most_stored_, {}, &Stored::first);
    for (auto at = from; at != stored_.end() && at->first() < rows.first + rows.count; ++at) {
        if (overlap(at->rows, rows)) marks.push_back(at->mark);
    }
}

TokenStore::Place working_place(const MemoryPolicy& policy) {
    return policy.working == WorkingSet::windows ? TokenStore::Place::host
                                                 : TokenStore::Place::device;
}

TokenStore::Place kept_place(const MemoryPolicy& policy) {
    return policy.kept == KeptPlace::host ? TokenStore::Place::host : TokenStore::Place::device;
}

TokenStore working_store(StepMemory& memory, BufferName name, DType dtype,
                         std::initializer_list<std::int64_t> shape) {
    return {memory, name, working_place(memory.policy()), dtype, shape};
}

TokenStore kept_store(StepMemory& memory, BufferName name, DType dtype,
                      std::initializer_list<std::int64_t> shape) {
    return {memory, name, kept_place(memory.policy()), dtype, shape};
}

std::vector<Visit> visits(const std::vector<TokenRange>& rows, RowAccess access) {
    std::vector<Visit> list;
    for (const TokenRange& range : rows)
        list.push_back({range, access});
    return list;
}

TokenWindow::TokenWindow(StepMemory& memory, std::vector<TokenStore*> stores, Visits visits,
                         std::int64_t most_rows, std::size_t open_at_once)
    : memory_(&memory),
      stores_(std::move(stores)),
      visits_(std::move(visits)),
      open_at_once_(open_at_once) {
    if (!on_host()) return;
    const auto ahead = usize(memory.policy().prefetch);
    const TensorView rows = like({}, stores_[0]->view_, most_rows);
    slots_.resize(std::min(ahead + open_at_once, visits_.size()));
    for (Slot& slot : slots_)
        slot.memory = memory.on_device(stores_[0]->name_, rows);
}

TokenWindow::~TokenWindow() {
    for (Slot& slot : slots_)
        memory_->release_after(std::move(slot.memory), slot.free);
}

TensorView TokenWindow::rows_of(std::size_t visit, const TokenRange& rows) const {
    const TensorView& whole = store(visit).view_;
    if (!on_host()) return whole.rows(rows.first, rows.count);
    const TokenRange open = visits_[visit].rows;
    return like(slots_[visit % slots_.size()].memory.view(), whole, open.count)
        .rows(rows.first - open.first, rows.count);
}

TensorView TokenWindow::host_rows(std::size_t visit) const {
    const TokenRange rows = visits_[visit].rows;
    return store(visit).view_.rows(rows.first, rows.count);
}

TensorView TokenWindow::at(const TokenRange& rows) const {
    for (std::size_t visit = current_; visit < next_; ++visit) {
        const TokenRange open = visits_[visit].rows;
        if (rows.first >= open.first && rows.first + rows.count <= open.first + open.count)
            return rows_of(visit, rows);
    }
    RM_CHECK(false, "rows {} to {} of {} are not open", rows.first, rows.first + rows.count,
             to_string(stores_[0]->name_));
}

// Whether any visit before this one, from the current one on, will write rows that this one opens.
bool TokenWindow::is_written_before(std::size_t visit) const {
    const Visit opens = visits_[visit];
    for (std::size_t i = current_; i < visit; ++i) {
        const Visit before = visits_[i];
        if (before.access != RowAccess::read && before.store == opens.store &&
            overlap(before.rows, opens.rows))
            return true;
    }
    return false;
}

// Fetches as far ahead as slots allow. A visit reuses the slot of the visit `slots` before it.
bool TokenWindow::bring_ahead(const WindowStreams& streams) {
    const std::size_t end = std::min({visits_.size(), limit_, current_ + slots_.size()});
    bool any = false;
    for (; brought_ < end && !is_written_before(brought_); ++brought_) {
        const Visit visit = visits_[brought_];
        if (visit.access == RowAccess::write || visit.rows.count == 0) continue;
        bring(brought_, streams);
        any = true;
    }
    return any;
}

void TokenWindow::bring(std::size_t visit, const WindowStreams& streams) {
    std::vector<StreamOrder::Mark> marks = {slot(visit).free};
    if (marks[0].event == nullptr) memory_->add_former_users(marks, streams);
    store(visit).add_marks(visits_[visit].rows, marks);
    memory_->order().wait_all(streams.from_host, marks);
    const TensorView to = rows_of(visit, visits_[visit].rows);
    memory_->device().upload(host_rows(visit).data(), to, streams.from_host);
    memory_->traffic().to_device += to.num_bytes();
}

void TokenWindow::note_brought(const StreamOrder::Mark& mark) {
    for (; noted_ < brought_; ++noted_)
        slot(noted_).arrived = mark;
}

void TokenWindow::begin(const WindowStreams& streams) {
    RM_CHECK(next_ < visits_.size() && next_ - current_ < open_at_once_,
             "visit {} of {} rows of {}, where {} are open", next_, visits_.size(),
             to_string(stores_[0]->name_), next_ - current_);
    const std::size_t visit = next_++;
    if (!on_host()) return;
    const bool write = visits_[visit].access == RowAccess::write;
    RM_CHECK(write || visit < brought_, "visit {} of {} opens rows that are not there yet", visit,
             to_string(stores_[0]->name_));
    std::vector<StreamOrder::Mark> marks = {write ? slot(visit).free : slot(visit).arrived};
    // A buffer that compute requests is free for compute.
    if (write && marks[0].event == nullptr && !memory_->is_compute(streams.first))
        memory_->add_former_users(marks, streams);
    memory_->wait(streams.first, marks);
}

void TokenWindow::end(const StreamOrder::Mark& used) {
    RM_CHECK(current_ < next_, "no visit of {} is open", to_string(stores_[0]->name_));
    if (on_host()) slot(current_).free = used;
}

bool TokenWindow::send(const WindowStreams& streams) {
    const TokenRange rows = visits_[current_].rows;
    if (!writes(current_) || rows.count == 0) return false;
    memory_->order().wait(streams.to_host, slot(current_).free);
    const TensorView from = rows_of(current_, rows);
    memory_->device().download(from, host_rows(current_).data(), streams.to_host);
    memory_->traffic().to_host += from.num_bytes();
    return true;
}

void TokenWindow::note_sent(const StreamOrder::Mark& mark) {
    if (!writes(current_)) return;
    slot(current_).free = mark;
    store(current_).note_stored(visits_[current_].rows, mark);
}

void WindowGroup::add(TokenWindow& window) {
    if (window.empty()) return;
    (window.on_host() ? on_host_ : on_device_).push_back(&window);
    // Only those that are stored to matter: compute's reads are over when it uses them.
    const bool writes = window.visits_.size() > 0 && window.writes(0);
    const bool travels = writes && std::ranges::any_of(window.stores_, &TokenStore::travels);
    if (travels || !memory_.is_compute(streams_)) waiters_ = Waiters::all;
}

void WindowGroup::bring_ahead() {
    if (on_host_.empty()) return;
    bool any = false;
    for (TokenWindow* window : on_host_)
        any |= window->bring_ahead(streams_);
    const StreamOrder::Mark mark = any ? record(streams_.from_host) : StreamOrder::Mark();
    for (TokenWindow* window : on_host_)
        window->note_brought(mark);
}

void WindowGroup::open() {
    bring_ahead();
    for (TokenWindow* window : on_device_)
        window->begin(streams_);
    for (TokenWindow* window : on_host_)
        window->begin(streams_);
}

void WindowGroup::send() {
    bool any = false;
    for (TokenWindow* window : on_host_)
        any |= window->send(streams_);
    if (!any) return;
    const StreamOrder::Mark mark = record(streams_.to_host);
    for (TokenWindow* window : on_host_)
        window->note_sent(mark);
}

void WindowGroup::close() {
    for (TokenWindow* window : on_device_) {
        window->end({});
        window->go_on();
    }
    if (on_host_.empty()) return;
    const StreamOrder::Mark used = record(streams_.last);
    for (TokenWindow* window : on_host_)
        window->end(used);
    send();
    for (TokenWindow* window : on_host_)
        window->go_on();
    bring_ahead();
}

}  // namespace rm
