#include "service/man_page.h"

#include <algorithm>
#include <cctype>

#include "base/format.h"

namespace rm {
namespace {

constexpr const char* kReleased = "2026-11-23";  // of the project's version

// Quotes text as one argument of a macro.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : man_text(text))
        out += c == '"' ? std::string("\\(dq") : std::string(1, c);
    return out + "\"";
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

// ringmaster-data-prepare is called as `ringmaster data prepare`; the daemons have their hyphen.
std::string call_of(const ManPage& page) {
    std::string call = page.name;
    if (page.number == 1) std::replace(call.begin(), call.end(), '-', ' ');
    return call;
}

void put_section(std::string& out, const ManSection& section) {
    out += ".SH " + quoted(section.title) + "\n";
    if (!section.text.empty()) out += man_text(section.text) + "\n";
    for (const ManEntry& entry : section.entries) {
        out += ".TP\n.B " + quoted(entry.term) + "\n";
        out += (entry.text.empty() ? "\\&" : man_text(entry.text)) + "\n";
    }
}

}  // namespace

// Escapes backslashes, hyphens, and lines that troff would take for requests.
std::string man_text(const std::string& text) {
    std::string out;
    bool begins_line = true;
    for (const char c : text) {
        if (begins_line && (c == '.' || c == '\'')) out += "\\&";
        begins_line = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string to_man(const ManPage& page) {
    std::string out =
        format(".TH {} {} \"{}\" {} {}\n", quoted(upper(page.name)), page.number, kReleased,
               quoted("Ringmaster " + page.version), quoted("Ringmaster's manual"));
    out += ".SH NAME\n" + man_text(page.name) + " \\- " + man_text(page.summary) + "\n";
    if (!page.synopsis.empty()) {
        out += ".SH SYNOPSIS\n.B " + quoted(call_of(page)) + "\n" + man_text(page.synopsis) + "\n";
    }
    for (const ManSection& section : page.sections)
        put_section(out, section);
    out += page.body;
    if (page.see_also.empty()) return out;
    out += ".SH \"SEE ALSO\"\n";
    for (std::size_t i = 0; i < page.see_also.size(); ++i) {
        const std::string& other = page.see_also[i];
        const std::size_t cut = other.find('(');
        out += ".BR " + man_text(other.substr(0, cut)) + " " + other.substr(cut) +
               (i + 1 < page.see_also.size() ? ",\n" : "\n");
    }
    return out;
}

}  // namespace rm
