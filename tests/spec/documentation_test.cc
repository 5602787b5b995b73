#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/words.h"
#include "spec/job_members.h"

// docs/formats/job_file.md has a row for each member of a job, as spec/job_members.h describes it.
namespace rm {
namespace {

// The shortest text of the number: 3e-4, 0.95.
std::string text_of(double number) {
    char buffer[32];
    const auto end = std::to_chars(buffer, std::end(buffer), number).ptr;
    std::string text(buffer, end);
    const std::size_t zero = text.find("e-0");
    return zero == std::string::npos ? text : text.erase(zero + 2, 1);
}

std::string default_text(const Member& member, std::int64_t number) {
    return format("{}{}", number, member.written == Written::steps ? " steps" : "");
}
std::string default_text(const Member&, int number) {
    return format("{}", number);
}
std::string default_text(const Member&, std::uint64_t number) {
    return format("{}", number);
}
std::string default_text(const Member&, double number) {
    return text_of(number);
}
std::string default_text(const Member&, Seconds time) {
    return format("`{} min`", text_of(time.value / 60));
}
std::string default_text(const Member&, const std::string& text) {
    return text.empty() ? "" : format("`{}`", text);
}
template <Named T>
std::string default_text(const Member&, const T& word) {
    return format("`{}`", to_string(word));
}
template <typename T>
std::string default_text(const Member&, const T&) {
    return "";
}

// A row of the table for each member; parts with a table of their own have names without prefix.
class Rows {
public:
    explicit Rows(std::string prefix = {}) : prefix_(std::move(prefix)) {}

    template <typename T>
    void operator()(const Member& member, const T& value) {
        if (!member.help.empty()) add(member, default_text(member, value));
        if constexpr (Described<const T>) {
            Rows part(member.automatic ? "" : prefix_ + std::string(member.name) + ".");
            describe(part, value);
            take(part);
        }
    }
    // The items of a list have a table of their own.
    template <Described T>
    void operator()(const Member& member, const std::vector<T>&) {
        if (!member.help.empty()) add(member, "");
        Rows part;
        const T blank;
        describe(part, blank);
        take(part);
    }
    void interval(const Member& member, std::int64_t, Seconds time) {
        add(member, default_text(member, time));
    }
    void mesh(const Member& member, const std::optional<Mesh>&, int) { add(member, ""); }
    const std::vector<std::string>& rows() const { return rows_; }

private:
    void add(const Member& member, const std::string& standard) {
        const bool needed = member.presence == Presence::required && member.absent.empty();
        const std::string without = needed                  ? ""
                                    : member.absent.empty() ? standard
                                                            : std::string(member.absent);
        rows_.push_back(format("| `{}{}` | {} |{}{} |", prefix_, member.name, member.help,
                               without.empty() ? "" : " ", without));
    }
    void take(const Rows& part) { rows_.insert(rows_.end(), part.rows_.begin(), part.rows_.end()); }

    const std::string prefix_;
    std::vector<std::string> rows_;
};

TEST(JobFileDocument, HasARowForEachMember) {
    std::ifstream file(RM_JOB_FILE_DOCUMENT);
    ASSERT_TRUE(file) << RM_JOB_FILE_DOCUMENT;
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    Rows rows;
    const JobSpec job;
    describe(rows, job);
    EXPECT_GT(rows.rows().size(), 50u);
    for (const std::string& row : rows.rows()) {
        EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << "no such line: " << row;
    }
}

}  // namespace
}  // namespace rm
