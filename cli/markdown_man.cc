#include "cli/markdown_man.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "service/man_page.h"

namespace rm {
namespace {

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// The end of the span that `mark` opens at `at`; npos: it stays open, so it is no mark.
std::size_t closing(const std::string& text, std::size_t at, std::string_view mark) {
    return text.compare(at, mark.size(), mark) == 0 ? text.find(mark, at + mark.size())
                                                    : std::string::npos;
}

std::string bold(const std::string& text) {
    return "\\fB" + man_text(text) + "\\fR";
}

// A paragraph's text: marks become fonts.
std::string styled(const std::string& text) {
    std::string out;
    std::string plain;
    const auto flush = [&] {
        out += man_text(plain);
        plain.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t code = closing(text, at, "`");
        const std::size_t strong = closing(text, at, "**");
        const std::size_t link = text[at] == '[' ? text.find("](", at) : std::string::npos;
        if (code != std::string::npos) {
            flush();
            out += bold(text.substr(at + 1, code - at - 1));
            at = code + 1;
        } else if (strong != std::string::npos) {
            flush();
            out += bold(text.substr(at + 2, strong - at - 2));
            at = strong + 2;
        } else if (link != std::string::npos) {
            flush();
            out += styled(text.substr(at + 1, link - at - 1));
            at = text.find(')', link) + 1;
        } else {
            plain += text[at++];
        }
    }
    flush();
    return out;
}

std::vector<std::string> cells_of(const std::string& row) {
    std::vector<std::string> cells;
    std::string cell;
    bool in_code = false;
    for (std::size_t at = 1; at < row.size(); ++at) {
        in_code = in_code != (row[at] == '`');
        if (row[at] != '|' || in_code) {
            cell += row[at];
            continue;
        }
        cells.push_back(trimmed(cell));
        cell.clear();
    }
    return cells;
}

class Writer {
public:
    void line(const std::string& line) {
        if (line.starts_with("```")) {
            end_paragraph();
            in_code_ = !in_code_;
            out_ += in_code_ ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n";
        } else if (in_code_) {
            out_ += line.empty() ? "\\&\n" : man_text(line) + "\n";
        } else if (line.starts_with("|")) {
            row(line);
        } else if (line.starts_with("#")) {
            heading(line);
        } else if (line.empty()) {
            end_paragraph();
        } else {
            if (line.starts_with("* ")) {
                end_paragraph();
                is_item_ = true;
            }
            paragraph_ += (paragraph_.empty() ? "" : " ") +
                          trimmed(line.starts_with("* ") ? line.substr(2) : line);
        }
    }
    std::string take() {
        end_paragraph();
        return out_;
    }

private:
    void heading(const std::string& line) {
        end_paragraph();
        const std::size_t level = line.find_first_not_of('#');
        std::string title = trimmed(line.substr(level));
        if (level == 2) {  // as sections of a manual are
            std::transform(title.begin(), title.end(), title.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        }
        if (level == 1) {
            out_ += ".SH DESCRIPTION\n";
        } else {
            out_ += (level == 2 ? ".SH " : ".SS ") + man_text(title) + "\n";
        }
    }

    // The first two lines of a table are its heading.
    void row(const std::string& line) {
        end_paragraph(Table::goes_on);
        if (++rows_ <= 2) {
            if (rows_ == 1) names_ = cells_of(line);
            return;
        }
        const std::vector<std::string> cells = cells_of(line);
        if (cells.empty()) return;
        std::string text = cells.size() > 1 ? styled(cells[1]) : "";
        if (cells.size() > 2 && !cells[2].empty()) {
            text += (text.empty() ? "" : "; ") + man_text(names_[2]) + ": " + styled(cells[2]);
        }
        out_ += ".TP\n" + styled(cells[0]) + "\n" + (text.empty() ? "\\&" : text) + "\n";
    }

    enum class Table { ends, goes_on };
    void end_paragraph(Table table = Table::ends) {
        if (table == Table::ends) rows_ = 0;
        if (paragraph_.empty()) return;
        out_ += (is_item_ ? ".IP \\(bu 2\n" : ".PP\n") + styled(paragraph_) + "\n";
        paragraph_.clear();
        is_item_ = false;
    }

    std::string out_;
    std::string paragraph_;
    bool is_item_ = false;
    bool in_code_ = false;
    int rows_ = 0;  // of the table so far
    std::vector<std::string> names_;
};

}  // namespace

std::string man_of_markdown(const std::string& markdown) {
    Writer writer;
    std::istringstream lines(markdown);
    for (std::string line; std::getline(lines, line);)
        writer.line(line);
    return writer.take();
}

}  // namespace rm
