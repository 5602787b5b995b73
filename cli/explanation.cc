#include "cli/explanation.h"

#include <algorithm>

#include "base/report.h"
#include "cli/job_text.h"
#include "cli/printable.h"
#include "cli/text.h"

namespace rm {
namespace {

struct KindText {
    std::string_view name;
    Color color;
};

KindText kind_text(pb::Finding::Kind kind) {
    switch (kind) {
        case pb::Finding::BLOCKING:
            return {"pending", Color::yellow};
        case pb::Finding::PROBLEM:
            return {"problem", Color::red};
        default:  // an open enum: a newer controller may say more
            return {"", Color::none};
    }
}

constexpr std::size_t kKindWidth = 9;
constexpr std::size_t kMostSubject = 16;
constexpr std::size_t kLeastText = 30;

std::size_t subject_width(const pb::ExplainJobReply& reply) {
    std::size_t width = 0;
    for (const pb::Finding& finding : reply.findings()) {
        if (finding.subject().size() <= kMostSubject)
            width = std::max(width, finding.subject().size());
    }
    return width;
}

void print_finding(const Output& out, const pb::Finding& finding, std::size_t subject) {
    const KindText kind = kind_text(finding.kind());
    const std::size_t indent = 2 + kKindWidth + 2 + subject + 2;
    const std::size_t columns = static_cast<std::size_t>(std::max(out.width, 1));
    const std::size_t width =
        out.terminal ? std::max(kLeastText, columns - std::min(columns, indent)) : 0;
    std::string head = "  " + out.paint(kind.name, kind.color);
    head.append(kKindWidth - kind.name.size() + 2, ' ');
    head += printable(finding.subject());
    const std::string blank(indent, ' ');
    if (finding.subject().size() > subject) {  // a node's whole id: the text begins below it
        out.stream << head << '\n';
        head = blank;
    } else {
        head.append(subject - finding.subject().size() + 2, ' ');
    }
    for (const std::string& line : wrapped(printable(finding.text()), width)) {
        out.stream << head << line << '\n';
        head = blank;
    }
    bool first = true;
    for (const std::string& line :
         wrapped(printable(finding.remedy()), width > 3 ? width - 3 : 0)) {
        out.stream << blank << out.paint(first ? "-> " : "   ", Color::dim) << line << '\n';
        first = false;
    }
}

}  // namespace

void print_explanation(const Output& out, const pb::ExplainJobReply& reply) {
    const pb::Job& job = reply.job();
    out.stream << format("job {} ({}) {}{}\n", job.id(), printable(job.spec().name()),
                         has_ended(job) ? "" : "is ",
                         out.paint(state_name(job.state()), state_color(job.state())));
    if (job.has_last_step() && !has_ended(job)) {
        const pb::StepReport& step = job.last_step();
        for (const std::string& line :
             wrapped(step_line(from_proto(step), printable(step.peak_name())),
                     out.terminal ? static_cast<std::size_t>(std::max(out.width - 2, 30)) : 0))
            out.stream << "  " << line << '\n';
    }
    const std::size_t subject = subject_width(reply);
    for (const pb::Finding& finding : reply.findings())
        print_finding(out, finding, subject);
}

}  // namespace rm
