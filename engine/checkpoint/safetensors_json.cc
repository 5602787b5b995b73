#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "engine/checkpoint/safetensors.h"

namespace rm {
namespace {

using nlohmann::json;

// The place in the document, which decides the events that may come next.
enum class At {
    start,
    top,             // a tensor's name, or the end
    value,           // the object under it
    metadata,        // a key, or the end
    metadata_value,  // a string
    tensor,          // a field's key, or the end
    dtype,           // a string
    list,            // the list of shape or data_offsets
    number,          // its numbers, or the end
    end,
};

enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4, kAllFields = 7 };

class Reader final : public nlohmann::json_sax<json> {
public:
    SafetensorsHeader take() { return std::move(result_); }
    const Error& error() const { return error_; }

    bool null() override { return unexpected("null"); }
    bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override {
        return unexpected(format("{}", value));  // negative: others arrive as unsigned
    }
    bool number_unsigned(number_unsigned_t value) override;
    bool number_float(number_float_t /*value*/, const string_t& text) override {
        return unexpected(text.substr(0, 40));
    }
    bool string(string_t& value) override;
    bool binary(binary_t& /*value*/) override { return unexpected("binary"); }
    bool start_object(std::size_t /*elements*/) override;
    bool key(string_t& name) override;
    bool end_object() override;
    bool start_array(std::size_t /*elements*/) override;
    bool end_array() override;
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const json::exception& /*error*/) override {
        return fail("is not JSON: wrong at byte {}", position);
    }

private:
    template <typename... Args>
    bool fail(std::string_view pattern, const Args&... args) {
        error_ = data_loss(pattern, args...);
        return false;
    }
    bool unexpected(std::string_view found);
    bool start_field(const std::string& name);
    bool finish_tensor();
    std::string_view list_name() const { return field_ == kShape ? "shape" : "data_offsets"; }

    At at_ = At::start;
    SafetensorsHeader result_;
    Error error_;
    std::unordered_set<std::string> names_;
    SafetensorsEntry entry_;
    std::vector<std::int64_t> offsets_;
    std::string metadata_key_;
    unsigned fields_ = 0;  // of entry_, seen so far
    unsigned field_ = 0;   // being read
};

bool Reader::unexpected(std::string_view found) {
    const std::string name = shown_text(entry_.name);
    switch (at_) {
        case At::start:
        case At::top:
        case At::end:
            return fail("is {}, not a JSON object", found);
        case At::value:
            return fail("{} is {}, not an object", name, found);
        case At::metadata:
        case At::metadata_value:
            return fail("__metadata__ {} is {}, not a string", shown_text(metadata_key_), found);
        case At::tensor:
        case At::dtype:
            return fail("tensor {}: dtype is {}, not a string", name, found);
        case At::list:
            return fail("tensor {}: {} is {}, not a list of numbers", name, list_name(), found);
        case At::number:
            return fail("tensor {}: {} holds {}; whole numbers from 0 to 2^63 - 1 are right", name,
                        list_name(), found);
    }
    return false;
}

bool Reader::number_unsigned(number_unsigned_t value) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (at_ != At::number || value > kLargest) return unexpected(format("{}", value));
    (field_ == kShape ? entry_.shape : offsets_).push_back(static_cast<std::int64_t>(value));
    return true;
}

bool Reader::string(string_t& value) {
    if (at_ == At::metadata_value) {
        at_ = At::metadata;
        if (result_.metadata.emplace(metadata_key_, value).second) return true;
        return fail("__metadata__ holds {} twice", shown_text(metadata_key_));
    }
    if (at_ != At::dtype) return unexpected(shown_text(value));
    const auto type = parse_storage_type(value);
    if (!type) return fail("tensor {}: {}", shown_text(entry_.name), type.error().message);
    entry_.type = *type;
    at_ = At::tensor;
    return true;
}

bool Reader::start_object(std::size_t /*elements*/) {
    if (at_ == At::start) {
        at_ = At::top;
    } else if (at_ == At::value) {
        at_ = entry_.name == "__metadata__" ? At::metadata : At::tensor;
    } else {
        return unexpected("an object");
    }
    return true;
}

bool Reader::key(string_t& name) {
    if (at_ == At::metadata) {
        metadata_key_ = name;
        at_ = At::metadata_value;
        return true;
    }
    if (at_ == At::tensor) return start_field(name);
    if (!names_.insert(name).second) return fail("holds {} twice", shown_text(name));
    entry_ = {.name = name};
    offsets_.clear();
    fields_ = 0;
    at_ = At::value;
    return true;
}

bool Reader::start_field(const std::string& name) {
    field_ = name == "dtype"          ? kDtype
             : name == "shape"        ? kShape
             : name == "data_offsets" ? kOffsets
                                      : 0U;
    if (field_ == 0) {
        return fail("tensor {}: field {} is not known; dtype, shape and data_offsets are",
                    shown_text(entry_.name), shown_text(name));
    }
    if ((fields_ & field_) != 0) {
        return fail("tensor {}: holds {} twice", shown_text(entry_.name), shown_text(name));
    }
    fields_ |= field_;
    at_ = field_ == kDtype ? At::dtype : At::list;
    return true;
}

bool Reader::end_object() {
    if (at_ == At::top) {
        at_ = At::end;
        return true;
    }
    const bool is_tensor = at_ == At::tensor;
    at_ = At::top;
    return !is_tensor || finish_tensor();
}

bool Reader::finish_tensor() {
    if (fields_ != kAllFields) {
        return fail("tensor {}: '{}' is missing", shown_text(entry_.name),
                    (fields_ & kDtype) == 0   ? "dtype"
                    : (fields_ & kShape) == 0 ? "shape"
                                              : "data_offsets");
    }
    if (offsets_.size() != 2) {
        return fail("tensor {}: data_offsets are {} numbers, not begin and end",
                    shown_text(entry_.name), offsets_.size());
    }
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    result_.entries.push_back(std::move(entry_));
    return true;
}

bool Reader::start_array(std::size_t /*elements*/) {
    if (at_ != At::list) return unexpected("a list");
    at_ = At::number;
    return true;
}

bool Reader::end_array() {
    at_ = At::tensor;
    return true;
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_json(std::string_view text) {
    // The format demands it; the parser would also accept white space or a byte order mark.
    if (text.empty() || text.front() != '{') {
        return data_loss("does not begin with '{': is not a JSON object");
    }
    // The parser would treat a zero byte as the end of the text.
    if (text.find('\0') != std::string_view::npos) {
        return data_loss("is not JSON: holds a zero byte");
    }
    Reader reader;
    if (!json::sax_parse(text, &reader)) return reader.error();
    return reader.take();
}

}  // namespace rm
