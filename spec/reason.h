#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

// Why a job waits, as diagnosed: rules test the kind, people read the rest.
namespace rm {

// files: the job's files on nodes. behind: the planning pass does not reach the job. memory: no
// plan on these devices fits. cost: the plan costs more than the
// job may, or nothing says what it costs.
enum class ReasonKind { other, files, behind, memory, cost };

struct Reason {
    std::string text;
    std::string remedy = {};  // the nearest change that would help; empty: none is known
    ReasonKind kind = ReasonKind::other;
    auto operator<=>(const Reason&) const = default;
    bool empty() const { return text.empty(); }
};
using Reasons = std::vector<Reason>;

// "needs 4 cpu devices, 2 are free; add 2"
inline std::string to_string(const Reason& reason) {
    return reason.text + (reason.remedy.empty() ? "" : "; ") + reason.remedy;
}

// Builds a Reason from the text of an error or an older version, where the remedy follows the last
// semicolon; only displayed text depends on it.
inline Reason reason_from(std::string_view words, ReasonKind kind = ReasonKind::other) {
    const std::size_t cut = words.rfind("; ");
    const bool helps = cut != std::string_view::npos;
    return {std::string(words.substr(0, cut)), std::string(helps ? words.substr(cut + 2) : ""),
            kind};
}

}  // namespace rm
