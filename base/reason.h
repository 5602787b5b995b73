#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

// Why a job waits, as the diagnosis that found it says: rules ask for the kind, people read the
// rest.
namespace rm {

// files: the job's, on nodes. behind: of the jobs that one planning pass does not reach.
enum class ReasonKind { other, files, behind };

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

// From the words of an error or an older version, which have their remedy behind the last
// semicolon: only what is shown depends on it.
inline Reason reason_from(std::string_view words, ReasonKind kind = ReasonKind::other) {
    const std::size_t cut = words.rfind("; ");
    const bool helps = cut != std::string_view::npos;
    return {std::string(words.substr(0, cut)), std::string(helps ? words.substr(cut + 2) : ""),
            kind};
}

}  // namespace rm
