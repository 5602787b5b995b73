#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/text.h"
#include "base/words.h"
#include "engine/json/json_object.h"
#include "spec/job_members.h"
#include "spec/mesh.h"
#include "spec/report_members.h"

// Converts described structures to and from JSON objects. The name of a bare number includes its
// unit: warmup_steps, lost_after_seconds. The format is documented in docs/formats/ring_train.md.
namespace rm {

template <typename T>
nlohmann::json members_to_json(const T& value);
nlohmann::json mesh_to_json(const Mesh& mesh);
nlohmann::json value_to_json(const std::vector<DataSource>& sources);
nlohmann::json value_to_json(const std::vector<DeviceId>& devices);

// Members of a mesh.
Result<Mesh> mesh_from_json(const nlohmann::json& value, const std::string& path);
// A mesh and the ZeRO stage; the stage alone leaves the mesh automatic.
Status read_parallel(const nlohmann::json& value, const std::string& path,
                     std::optional<Mesh>& mesh, int& zero);
void read_value(JsonObject& object, std::string_view key, std::vector<DataSource>& sources);
void read_value(JsonObject& object, std::string_view key, std::vector<DeviceId>& devices);
// A size as the job file spells it.
void read_value(JsonObject& object, std::string_view key, std::optional<Bytes>& size);

class JsonWriter {
public:
    explicit JsonWriter(nlohmann::json& out) : out_(out) {}

    template <typename T>
    void operator()(const Member& member, const T& value) {
        const std::string key = with_unit<T>(member.name, member);
        if constexpr (Described<const T>) {
            out_[key] = members_to_json(value);
        } else if constexpr (Named<T>) {
            out_[key] = to_string(value);
        } else {
            write(key, value);
        }
    }
    void operator()(const Member& member, double number) {
        nlohmann::json& out = out_[std::string(member.name)];
        if (std::isfinite(number) || member.written != Written::measured) out = number;
    }
    void interval(const Member& member, std::int64_t steps, Seconds time) {
        out_[format("{}_steps", member.name)] = steps;
        out_[format("{}_seconds", member.name)] = time.value;
    }
    void mesh(const Member& member, const std::optional<Mesh>& mesh, int zero) {
        nlohmann::json& value = out_[std::string(member.name)];
        value = mesh ? mesh_to_json(*mesh) : nlohmann::json::object();
        value["zero"] = zero;
    }

private:
    template <typename T>
    void write(const std::string& key, const T& value) {
        out_[key] = value;
    }
    void write(const std::string& key, Seconds time) { out_[key] = time.value; }
    void write(const std::string& key, Bytes size) { out_[key] = size.value; }
    void write(const std::string& key, const std::optional<double>& number) {
        if (number) out_[key] = *number;
    }
    void write(const std::string& key, const std::optional<Bytes>& size) {
        if (size) out_[key] = exact_text(*size);
    }
    void write(const std::string& key, const MemoryReport& memory) {
        nlohmann::json& kinds = out_[key] = nlohmann::json::object();
        for (const auto& [kind, bytes] : memory.by_kind)
            kinds[kind] = bytes.value;
    }
    template <typename Key, Described T>
    void write(const std::string& key, const std::map<Key, T>& items) {
        nlohmann::json& map = out_[key] = nlohmann::json::object();
        for (const auto& [name, item] : items)
            map[format("{}", name)] = members_to_json(item);
    }
    template <typename T>
    void write(const std::string& key, const std::vector<T>& items) {
        if constexpr (JsonReadable<T>) {
            out_[key] = items;
        } else if constexpr (!Described<const T>) {
            out_[key] = value_to_json(items);
        } else {
            nlohmann::json& list = out_[key] = nlohmann::json::array();
            for (const T& item : items)
                list.push_back(members_to_json(item));
        }
    }

    nlohmann::json& out_;
};

template <typename T>
nlohmann::json members_to_json(const T& value) {
    nlohmann::json out = nlohmann::json::object();
    JsonWriter writer(out);
    describe(writer, value);
    return out;
}

// Whether unknown members are errors, as in configurations, or are skipped, as in text that another
// version may have written.
enum class UnknownMembers { refused, passed_over };

// Absent members keep their values; JsonObject defines the other errors. The caller handles unknown
// members of `object`, by finish(); the reader handles those of its parts.
class JsonReader {
public:
    explicit JsonReader(JsonObject& object, UnknownMembers unknown = UnknownMembers::refused)
        : object_(object), unknown_(unknown) {}

    template <typename T>
    void operator()(const Member& member, T& value) {
        read(key_of<T>(member), value);
    }
    void operator()(const Member& member, double& number) {
        const std::string key = key_of<double>(member);
        const nlohmann::json* found = object_.member(key);
        const bool is_nan =
            member.written == Written::measured && found != nullptr && found->is_null();
        if (is_nan) {
            number = std::numeric_limits<double>::quiet_NaN();
        } else {
            object_.read(key, number);
        }
    }
    void interval(const Member& member, std::int64_t& steps, Seconds& time) {
        object_.read(format("{}_steps", member.name), steps);
        object_.read(format("{}_seconds", member.name), time.value);
    }
    void mesh(const Member& member, std::optional<Mesh>& mesh, int& zero) {
        const nlohmann::json* found = object_.member(member.name);
        if (found == nullptr) return;
        object_.keep(read_parallel(*found, object_.path_of(member.name), mesh, zero));
    }

private:
    template <typename T>
    std::string key_of(const Member& member) const {
        std::string stored = with_unit<T>(stored_name(member), member);
        return object_.has(stored) ? stored : with_unit<T>(member.name, member);
    }
    template <typename T>
    void read(const std::string& key, T& value) {
        if constexpr (Described<T>) {
            if (const nlohmann::json* found = object_.member(key)) {
                read_members(*found, object_.path_of(key), value);
            }
        } else if constexpr (Named<T>) {
            read_name(key, value);
        } else if constexpr (requires { object_.read(key, value); }) {
            object_.read(key, value);
        } else {
            read_value(object_, key, value);
        }
    }
    void read(const std::string& key, Seconds& time) { object_.read(key, time.value); }
    void read(const std::string& key, Bytes& size) { object_.read(key, size.value); }
    template <Described T>
    void read(const std::string& key, std::vector<T>& items) {
        for (const nlohmann::json& item : object_.list(key)) {
            const std::string path = format("{}[{}]", object_.path_of(key), items.size());
            read_members(item, path, items.emplace_back());
        }
    }
    template <typename Key, typename T>
    void read(const std::string& key, std::map<Key, T>& items) {
        read_each(key, [&](JsonReader& map, const std::string& name) {
            if (const auto item = key_from<Key>(name)) {
                map.read(name, items[*item]);
            } else {
                object_.keep(invalid_argument("{}: the key '{}' is not a whole number",
                                              object_.path_of(key), name));
            }
        });
    }
    void read(const std::string& key, MemoryReport& memory) {
        read_each(key, [&](JsonReader& map, const std::string& kind) {
            Bytes bytes;
            map.read(kind, bytes);
            memory.add(kind, bytes);
        });
    }
    // Calls `each` for every member of an object whose names are data.
    template <typename Each>
    void read_each(const std::string& key, const Each& each) {
        const nlohmann::json* found = object_.member(key);
        if (found == nullptr) return;
        JsonObject object(*found, object_.path_of(key));
        JsonReader map(object, unknown_);
        for (const auto& [name, unused] : found->items())
            each(map, name);
        object_.keep(object.status());
    }
    template <typename Key>
    static std::optional<Key> key_from(const std::string& name) {
        if constexpr (std::is_same_v<Key, std::string>) {
            return name;
        } else {
            return parse_number<Key>(name);
        }
    }
    template <typename T>
    void read_members(const nlohmann::json& value, const std::string& path, T& target) {
        JsonObject object(value, path);
        JsonReader reader(object, unknown_);
        describe(reader, target);
        object_.keep(unknown_ == UnknownMembers::refused ? object.finish() : object.status());
    }
    template <Named T>
    void read_name(const std::string& key, T& value) {
        std::string word(to_string(value));
        object_.read(key, word);
        const Status status = parse_name(word, value);
        if (status) return;
        object_.keep(invalid_argument("{}: {}", object_.path_of(key), status.error().message));
    }

    JsonObject& object_;
    const UnknownMembers unknown_;
};

}  // namespace rm
