#include "engine/windows/token_store.h"

#include <algorithm>
#include <cmath>

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

Visits Visits::up_to_each(std::vector<Visit> list, RowAccess last) {
    Visits visits(std::move(list));
    const std::size_t count = visits.list_.size();
    visits.size_ = count * (count + 1) / 2;
    visits.last_ = last;
    return visits;
}

Visit Visits::operator[](std::size_t index) const {
    if (!last_) return list_[index];
    // Pass p begins with visit p (p + 1) / 2; the root may be off by one.
    auto pass = static_cast<std::size_t>((std::sqrt(8 * static_cast<double>(index) + 1) - 1) / 2);
    while (pass * (pass + 1) / 2 > index)
        --pass;
    while ((pass + 1) * (pass + 2) / 2 <= index)
        ++pass;
    const std::size_t block = index - pass * (pass + 1) / 2;
    return {list_[block].rows, block == pass ? *last_ : list_[block].access};
}

std::vector<Visit> visits(const std::vector<TokenRange>& rows, RowAccess access) {
    std::vector<Visit> list;
    for (const TokenRange& range : rows)
        list.push_back({range, access});
    return list;
}

TokenWindow::TokenWindow(StepMemory& memory, TokenStore& store, Visits visits,
                         std::int64_t most_rows)
    : memory_(&memory), store_(&store), visits_(std::move(visits)) {
    if (!on_host()) return;
    const auto ahead = usize(memory.policy().prefetch);
    const TensorView rows = like({}, store.view_, most_rows);
    slots_.resize(std::min(ahead + 1, visits_.size()));
    for (Slot& slot : slots_)
        slot.memory = memory.on_device(store.name_, rows);
}

TokenWindow::~TokenWindow() {
    for (Slot& slot : slots_)
        memory_->release_after(std::move(slot.memory), slot.free);
}

TensorView TokenWindow::slot_rows(std::size_t visit) {
    return like(slot(visit).memory.view(), store_->view_, visits_[visit].rows.count);
}

TensorView TokenWindow::host_rows(std::size_t visit) const {
    const TokenRange rows = visits_[visit].rows;
    return store_->view_.rows(rows.first, rows.count);
}

// Whether any visit before this one, from the current one on, will write rows that this one opens.
bool TokenWindow::is_written_before(std::size_t visit) const {
    for (std::size_t i = current_; i < visit; ++i) {
        const bool writes = visits_[i].access != RowAccess::read;
        if (writes && overlap(visits_[i].rows, visits_[visit].rows)) return true;
    }
    return false;
}

// Fetches as far ahead as slots allow. A visit reuses the slot of the visit `slots` before it.
bool TokenWindow::bring_ahead() {
    const std::size_t end = std::min(visits_.size(), current_ + slots_.size());
    bool any = false;
    for (; brought_ < end && !is_written_before(brought_); ++brought_) {
        if (visits_[brought_].access == RowAccess::write || visits_[brought_].rows.count == 0)
            continue;
        bring(brought_);
        any = true;
    }
    return any;
}

void TokenWindow::bring(std::size_t visit) {
    std::vector<StreamOrder::Mark> marks = {slot(visit).free};
    if (marks[0].event == nullptr) memory_->add_former_users(marks);
    store_->add_marks(visits_[visit].rows, marks);
    Stream& from_host = memory_->from_host();
    memory_->order().wait_all(from_host, marks);
    memory_->device().upload(host_rows(visit).data(), slot_rows(visit), from_host);
}

void TokenWindow::note_brought(const StreamOrder::Mark& mark) {
    for (; noted_ < brought_; ++noted_)
        slot(noted_).arrived = mark;
}

void TokenWindow::begin() {
    RM_CHECK(!open_ && current_ < visits_.size(), "visit {} of {} rows of {}", current_,
             visits_.size(), to_string(store_->name_));
    open_ = true;
    if (!on_host()) return;
    const Visit visit = visits_[current_];
    memory_->wait_soon(visit.access == RowAccess::write ? slot(current_).free
                                                        : slot(current_).arrived);
}

void TokenWindow::end(const StreamOrder::Mark& used) {
    open_ = false;
    if (on_host()) slot(current_).free = used;
}

bool TokenWindow::send() {
    if (!writes(current_) || visits_[current_].rows.count == 0) return false;
    memory_->order().wait(memory_->to_host(), slot(current_).free);
    memory_->device().download(slot_rows(current_), host_rows(current_).data(), memory_->to_host());
    return true;
}

void TokenWindow::note_sent(const StreamOrder::Mark& mark) {
    if (!writes(current_)) return;
    slot(current_).free = mark;
    store_->note_stored(visits_[current_].rows, mark);
}

void WindowGroup::add(TokenWindow& window) {
    if (window.empty()) return;
    (window.on_host() ? on_host_ : on_device_).push_back(&window);
}

void WindowGroup::bring_ahead() {
    if (on_host_.empty()) return;
    bool any = false;
    for (TokenWindow* window : on_host_)
        any |= window->bring_ahead();
    const StreamOrder::Mark mark = any ? memory_.record(memory_.from_host()) : StreamOrder::Mark();
    for (TokenWindow* window : on_host_)
        window->note_brought(mark);
}

void WindowGroup::open() {
    bring_ahead();
    for (TokenWindow* window : on_device_)
        window->begin();
    for (TokenWindow* window : on_host_)
        window->begin();
}

void WindowGroup::send() {
    bool any = false;
    for (TokenWindow* window : on_host_)
        any |= window->send();
    if (!any) return;
    const StreamOrder::Mark mark = memory_.record(memory_.to_host());
    for (TokenWindow* window : on_host_)
        window->note_sent(mark);
}

void WindowGroup::close() {
    for (TokenWindow* window : on_device_) {
        window->end({});
        window->go_on();
    }
    if (on_host_.empty()) return;
    const StreamOrder::Mark used = memory_.passed();
    for (TokenWindow* window : on_host_)
        window->end(used);
    send();
    for (TokenWindow* window : on_host_)
        window->go_on();
    bring_ahead();
}

TensorView TokenWindow::at(const TokenRange& rows) const {
    if (!on_host()) return store_->view_.rows(rows.first, rows.count);
    const TokenRange open = visits_[current_].rows;
    const Slot& here = slots_[current_ % slots_.size()];
    return like(here.memory.view(), store_->view_, open.count)
        .rows(rows.first - open.first, rows.count);
}

}  // namespace rm
