#include "engine/data/text/jsonl_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "base/words.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr const char* kKey = "text";

bool is_blank(std::span<const std::byte> line) {
    return std::all_of(line.begin(), line.end(), [](std::byte b) {
        const auto c = static_cast<char>(b);
        return c == ' ' || c == '\t' || c == '\r';
    });
}

// Keeps the last document: a training order reads one document in many pieces.
class JsonlReader : public TextReader {
public:
    explicit JsonlReader(const JsonlText& source) : source_(source) {}

    Result<std::int64_t> num_bytes(std::int64_t document) override {
        RM_RETURN_IF_ERROR(go_to(document));
        return static_cast<std::int64_t>(text_.size());
    }
    Status read(std::int64_t document, std::int64_t offset, std::span<std::uint8_t> out) override {
        RM_RETURN_IF_ERROR(go_to(document));
        if (offset + std::ssize(out) > std::ssize(text_)) {
            return make_error(ErrorCode::failed_precondition,
                              "{}: {} has a text of {} bytes, which was longer before: data must "
                              "not change during a run",
                              source_.path(), source_.document_name(document), text_.size());
        }
        if (!out.empty()) std::memcpy(out.data(), text_.data() + offset, out.size());
        return {};
    }

private:
    Status go_to(std::int64_t document) {
        if (document == document_) return {};
        document_ = -1;
        RM_TRY(text_, source_.text_of(document));
        document_ = document;
        return {};
    }

    const JsonlText& source_;
    std::int64_t document_ = -1;
    std::string text_;
};

// Cuts a file's blocks into lines. A line may span any number of blocks.
class LineFinder {
public:
    template <typename Line>
    void block(std::span<const std::byte> block, const Line& line) {
        while (!block.empty()) {
            const void* found = std::memchr(block.data(), '\n', block.size());
            const bool ends = found != nullptr;
            const std::size_t bytes =
                ends ? usize(static_cast<const std::byte*>(found) - block.data()) : block.size();
            blank_ = blank_ && is_blank(block.first(bytes));
            at_ += static_cast<std::int64_t>(bytes);
            if (!ends) return;
            end(line);
            begin_ = ++at_;
            block = block.subspan(bytes + 1);
        }
    }
    template <typename Line>
    void end(const Line& line) {
        ++number_;
        if (!blank_) line(number_, begin_, at_ - begin_);
        blank_ = true;
    }

private:
    std::int64_t number_ = 0;
    std::int64_t begin_ = 0;
    std::int64_t at_ = 0;
    bool blank_ = true;
};

// Strips the text around the parser's reason: "... syntax error while parsing value - invalid
// string: ill-formed UTF-8 byte; last read: '"\xff'".
std::string reason_of(const std::string& what) {
    const std::size_t dash = what.find(" - ");
    const std::size_t begin = dash == std::string::npos ? 0 : dash + 3;
    return what.substr(begin, what.find("; last read") - begin);
}

}  // namespace

Status JsonlText::find_lines(std::int64_t index, const ReadWatch& watch) {
    const auto keep = [&](std::int64_t number, std::int64_t begin, std::int64_t bytes) {
        lines_.push_back({index, number, begin, bytes});
    };
    LineFinder finder;
    RM_RETURN_IF_ERROR(files_[usize(index)].visit(
        watch, [&](std::span<const std::byte> block) { finder.block(block, keep); }));
    finder.end(keep);
    return {};
}

Result<std::unique_ptr<JsonlText>> JsonlText::open(const std::string& path,
                                                   const std::vector<std::string>& files,
                                                   const ReadWatch& watch) {
    std::unique_ptr<JsonlText> source(new JsonlText(path));
    for (const std::string& name : files) {
        RM_TRY(FileBytes file, FileBytes::open(name));
        source->files_.push_back(std::move(file));
        RM_RETURN_IF_ERROR(source->find_lines(std::ssize(source->files_) - 1, watch));
    }
    if (source->lines_.empty()) {
        return invalid_argument("{} holds no line of JSON ({})", path,
                                counted(files.size(), "file"));
    }
    return source;
}

std::string JsonlText::describe() const {
    return format("{} of JSON in {}, {}", counted(num_documents(), "line"),
                  counted(files_.size(), "file"), Bytes{total_stored_bytes()});
}

std::string JsonlText::document_name(std::int64_t document) const {
    const Line& at = line(document);
    return format("{}:{}", files_[usize(at.file)].path(), at.number);
}

std::unique_ptr<TextReader> JsonlText::make_reader() const {
    return std::make_unique<JsonlReader>(*this);
}

Result<std::string> JsonlText::text_of(std::int64_t document) const {
    const Line& at = line(document);
    std::string raw(usize(at.bytes), '\0');
    RM_RETURN_IF_ERROR(
        files_[usize(at.file)].read(at.offset, std::as_writable_bytes(std::span(raw))));
    json value;
    std::string wrong;
    try {
        value = json::parse(raw);
    } catch (const json::parse_error& error) {
        wrong = format("not JSON: byte {}: {}", error.byte, reason_of(error.what()));
    } catch (const json::exception&) {
        wrong = "not JSON: a number beyond the range of a double";
    }
    const auto bad = [&](std::string_view what) {
        return data_loss("{}: {}; each line is an object with a \"{}\"", document_name(document),
                         what, kKey);
    };
    if (!wrong.empty()) return bad(wrong);
    if (!value.is_object()) return bad(format("{}, not an object", value.type_name()));
    const auto found = value.find(kKey);
    if (found == value.end()) return bad(format("no \"{}\"", kKey));
    if (!found->is_string())
        return bad(format("\"{}\" is {}, not a string", kKey, found->type_name()));
    return std::move(found->get_ref<std::string&>());
}

Result<std::string> JsonlText::content_hash(const ReadWatch& watch) const {
    std::vector<const FileBytes*> files;
    for (const FileBytes& file : files_)
        files.push_back(&file);
    return content_hash_of(files, watch);
}

}  // namespace rm
