#include "controller/core/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace rm {
namespace {

constexpr char kCut = '\x1f';  // ASCII's unit separator

template <typename T>
Status take(const Value& value, T& target, std::string_view wanted) {
    const T* held = std::get_if<T>(&value);
    if (held == nullptr) return data_loss("'{}' is not {}", to_text(value), wanted);
    target = *held;
    return {};
}

template <typename T, typename Parse>
Status decode_lines(const Value& value, std::vector<T>& list, const Parse& parse) {
    std::vector<std::string> lines;
    RM_RETURN_IF_ERROR(decode(value, lines));
    list.clear();
    for (const std::string& line : lines) {
        RM_TRY(T one, parse(line));
        list.push_back(std::move(one));
    }
    return {};
}

// Empty text stands for no value.
template <typename T, typename Parse>
Status decode_optional(const Value& value, std::optional<T>& target, const Parse& parse) {
    std::string text;
    RM_RETURN_IF_ERROR(decode(value, text));
    target.reset();
    if (text.empty()) return {};
    RM_TRY(target, parse(text));
    return {};
}

Result<DeviceId> parse_device(const std::string& line) {
    const std::size_t colon = line.rfind(':');
    const auto index = parse_number<int>(line.substr(colon + 1));
    if (colon != std::string::npos && index.value_or(-1) >= 0)
        return DeviceId{{line.substr(0, colon)}, *index};
    return data_loss("'{}' is not a device like n1:0", line);
}

Result<double> parse_real(const std::string& text) {
    if (const auto number = parse_number<double>(text)) return *number;
    return data_loss("'{}' is not a number", text);
}

Result<Mesh> parse_mesh(const std::string& text) {
    std::array<int, 5> sizes{};  // the last is the inner ring's, 0 without one
    const std::size_t count = text.find('/') == std::string::npos ? 4 : 5;
    const char* at = text.data();
    const char* end = at + text.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto [next, error] = std::from_chars(at, end, sizes[i]);
        if (error != std::errc()) return data_loss("'{}' is not a mesh like 1x4x1x1", text);
        at = next == end ? end : next + 1;
    }
    return Mesh::make(sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]);
}

Result<Reason> parse_reason(const std::string& line) {
    const std::size_t first = line.find(kCut);
    const std::size_t last = line.rfind(kCut);
    // Older versions wrote only the text for people, newer ones may know more kinds.
    if (first == last) return reason_from(line);
    Reason reason{line.substr(first + 1, last - first - 1), line.substr(last + 1)};
    if (parse_name(line.substr(0, first), reason.kind)) return reason;
    return reason_from(line);
}

template <typename T>
Result<T> parse_whole(const std::string& line) {
    if (const auto number = parse_number<T>(line)) return *number;
    return data_loss("'{}' is not a whole number", line);
}

}  // namespace

std::string to_text(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.17g", std::get<double>(value));
    return buffer;
}

Value encode(const std::optional<Mesh>& mesh) {
    if (!mesh) return std::string();
    return format("{}x{}x{}x{}{}", mesh->size(Axis::data), mesh->size(Axis::ring),
                  mesh->size(Axis::ulysses), mesh->size(Axis::tensor),
                  mesh->outer_ring() > 1 ? format("/{}", mesh->inner_ring()) : "");
}

Value encode(const Reasons& reasons) {
    std::vector<std::string> lines;
    for (const auto& [text, remedy, kind] : reasons) {
        lines.push_back(format("{}{}{}{}{}", to_string(kind), kCut, text, kCut, remedy));
        std::replace(lines.back().begin(), lines.back().end(), '\n', ' ');
    }
    return encode(lines);
}

Value encode(const std::vector<DataSource>& sources) {
    std::vector<std::string> lines;
    for (const DataSource& source : sources)
        lines.push_back(to_string(source));
    return encode(lines);
}

Value encode(const std::optional<double>& number) {
    return number ? to_text(*number) : std::string();
}

Value encode(const std::optional<Bytes>& bytes) {
    return bytes ? exact_text(*bytes) : std::string();
}

Status decode(const Value& value, std::string& text) {
    return take(value, text, "text");
}

Status decode(const Value& value, double& number) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        number = static_cast<double>(*whole);
        return {};
    }
    return take(value, number, "a number");
}

Status decode(const Value& value, std::int64_t& number) {
    return take(value, number, "a whole number");
}

Status decode(const Value& value, std::optional<Mesh>& mesh) {
    return decode_optional(value, mesh, parse_mesh);
}

Status decode(const Value& value, Mesh& mesh) {
    std::optional<Mesh> maybe;
    RM_RETURN_IF_ERROR(decode(value, maybe));
    if (!maybe) return data_loss("a mesh is missing");
    mesh = *maybe;
    return {};
}

Status decode(const Value& value, Reasons& reasons) {
    return decode_lines(value, reasons, parse_reason);
}

Status decode(const Value& value, std::vector<DataSource>& sources) {
    return decode_lines(value, sources, parse_data_source);
}

Status decode(const Value& value, std::vector<DeviceId>& devices) {
    return decode_lines(value, devices, parse_device);
}

Status decode(const Value& value, std::vector<double>& numbers) {
    return decode_lines(value, numbers, parse_real);
}

Status decode(const Value& value, std::vector<int>& numbers) {
    return decode_lines(value, numbers, parse_whole<int>);
}

Status decode(const Value& value, std::vector<std::int64_t>& numbers) {
    return decode_lines(value, numbers, parse_whole<std::int64_t>);
}

Status decode(const Value& value, std::vector<NodeId>& nodes) {
    return decode_lines(value, nodes,
                        [](const std::string& line) -> Result<NodeId> { return NodeId{line}; });
}

Status decode(const Value& value, std::optional<WallTime>& time) {
    WallTime known;
    RM_RETURN_IF_ERROR(decode(value, known));
    time.reset();
    if (known.micros != 0) time = known;
    return {};
}

Status decode(const Value& value, std::vector<std::string>& lines) {
    std::string text;
    RM_RETURN_IF_ERROR(decode(value, text));
    lines.clear();
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return {};
}

Status decode(const Value& value, std::optional<double>& number) {
    return decode_optional(value, number, parse_real);
}

Status decode(const Value& value, std::optional<Bytes>& bytes) {
    return decode_optional(value, bytes, parse_bytes);
}

}  // namespace rm
