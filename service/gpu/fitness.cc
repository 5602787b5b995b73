#include "service/gpu/fitness.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/words.h"

namespace rm {
namespace {

struct XidRow {
    int xid;
    bool hardware;
    const char* text;
};
constexpr std::array kXids = {
    XidRow{13, false, "a kernel failed (graphics engine exception)"},
    XidRow{31, false, "a kernel used memory that is not its own (page fault)"},
    XidRow{43, false, "a program's work was stopped"},
    XidRow{45, false, "a program's work was removed"},
    XidRow{48, true, "uncorrectable memory error (double bit ECC)"},
    XidRow{62, true, "its internal controller has halted"},
    XidRow{63, true, "a memory row is marked for replacement"},
    XidRow{64, true, "a defective memory row cannot be replaced"},
    XidRow{74, true, "an NVLink has failed"},
    XidRow{kXidOffTheBus, true, "it has fallen off the bus"},
    XidRow{92, false, "many corrected memory errors"},
    XidRow{94, false, "a memory error was contained: a program was stopped"},
    XidRow{95, true, "a memory error was not contained"},
    XidRow{119, true, "its system processor does not answer"},
    XidRow{120, true, "its system processor has failed"},
    XidRow{140, true, "unrecovered memory error"},
    XidRow{143, true, "its memory could not be initialized"},
};

const XidRow* row_of(int xid) {
    const auto found =
        std::find_if(kXids.begin(), kXids.end(), [&](const XidRow& row) { return row.xid == xid; });
    return found == kXids.end() ? nullptr : &*found;
}

std::string process_text(const GpuProcess& process) {
    const std::string held =
        process.memory.value > 0 ? format("{} by ", process.memory) : std::string();
    const std::string name = process.name.empty() ? "" : format(" ({})", process.name);
    return format("{}pid {}{}", held, process.pid, name);
}

}  // namespace

bool is_hardware_xid(int xid) {
    const XidRow* row = row_of(xid);
    return row != nullptr && row->hardware;
}

std::string xid_text(int xid) {
    const XidRow* row = row_of(xid);
    return row == nullptr ? format("Xid {}", xid) : format("Xid {}: {}", xid, row->text);
}

std::string processes_text(std::vector<GpuProcess> processes) {
    std::sort(processes.begin(), processes.end(), [](const GpuProcess& a, const GpuProcess& b) {
        return a.memory.value > b.memory.value;
    });
    const auto others = std::ssize(processes) - 1;
    return process_text(processes.front()) +
           (others > 0 ? format(" and {}", counted(others, "other")) : "");
}

std::string unfit_reason(const GpuState& state, const std::set<int>& xids, bool held) {
    std::string reason;
    for (const int xid : xids)
        reason += format("{}{}", reason.empty() ? "" : ", ", xid_text(xid));
    if (!reason.empty()) return reason + "; reset it or restart the machine";
    if (state.lost) return "lost: it answers no more; restart the machine";
    if (state.reset_required) return "its driver asks for a reset of it";
    if (state.remap_failed) return "a defective memory row cannot be replaced; replace the GPU";
    if (state.remap_pending) return "a row remap is pending; reset it";
    if (held || state.processes.empty()) return "";
    return "busy: " + processes_text(state.processes);
}

}  // namespace rm
