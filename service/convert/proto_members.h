#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "base/words.h"
#include "ringmaster/v1/spec.pb.h"
#include "service/convert/convert.h"
#include "spec/report_members.h"
#include "spec/session_members.h"

// Described structures as protobuf messages: members and fields find each other by name.
namespace rm {

// A message and a member's name in it. A member without a field of its name is an error of this
// program, not of the message.
class ProtoFields {
public:
    using Field = google::protobuf::FieldDescriptor;
    explicit ProtoFields(const google::protobuf::Message& message)
        : type_(*message.GetDescriptor()), access_(*message.GetReflection()) {}

    template <typename T>
    const Field& field(const Member& member) const {
        return named(with_unit<T>(stored_name(member), member));
    }
    const Field& named(std::string name) const {
        if (name == "export") name = "exports";  // C++ reserves `export`
        const Field* found = type_.FindFieldByName(name);
        RM_CHECK(found != nullptr, "message {} has no field {}", type_.name(), name);
        return *found;
    }
    const google::protobuf::Reflection& access() const { return access_; }

private:
    const google::protobuf::Descriptor& type_;
    const google::protobuf::Reflection& access_;
};

// Whether numbers of C++ and protobuf agree in kind: whole or not, signed or not.
template <typename T>
void set_number(google::protobuf::Message& message, const ProtoFields::Field& field, T number) {
    const google::protobuf::Reflection& access = *message.GetReflection();
    if constexpr (std::is_same_v<T, bool>) {
        access.SetBool(&message, &field, number);
    } else if constexpr (std::is_floating_point_v<T>) {
        access.SetDouble(&message, &field, number);
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
        access.SetUInt32(&message, &field, number);
    } else if constexpr (std::is_unsigned_v<T>) {
        access.SetUInt64(&message, &field, number);
    } else if (field.cpp_type() == ProtoFields::Field::CPPTYPE_INT32) {
        access.SetInt32(&message, &field, static_cast<std::int32_t>(number));
    } else {
        access.SetInt64(&message, &field, number);
    }
}
template <typename T>
void get_number(const google::protobuf::Message& message, const ProtoFields::Field& field,
                T& number) {
    const google::protobuf::Reflection& access = *message.GetReflection();
    if constexpr (std::is_same_v<T, bool>) {
        number = access.GetBool(message, &field);
    } else if constexpr (std::is_floating_point_v<T>) {
        number = access.GetDouble(message, &field);
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
        number = access.GetUInt32(message, &field);
    } else if constexpr (std::is_unsigned_v<T>) {
        number = access.GetUInt64(message, &field);
    } else if constexpr (std::is_same_v<T, int>) {
        number = access.GetInt32(message, &field);
    } else {
        number = access.GetInt64(message, &field);
    }
}

// An entry of a map field is a message with a key and a value. A repeated message is a map
// if its first field is the key; the others are the value's.
template <typename Key>
void set_key(google::protobuf::Message& entry, const Key& key) {
    const ProtoFields::Field& field = *entry.GetDescriptor()->field(0);
    if constexpr (std::is_same_v<Key, int>) {
        set_number(entry, field, key);
    } else if constexpr (std::is_same_v<Key, std::string>) {
        entry.GetReflection()->SetString(&entry, &field, key);
    } else {
        set_key(entry, key.value);
    }
}
template <typename Key>
void get_key(const google::protobuf::Message& entry, Key& key) {
    const ProtoFields::Field& field = *entry.GetDescriptor()->field(0);
    if constexpr (std::is_same_v<Key, int>) {
        get_number(entry, field, key);
    } else if constexpr (std::is_same_v<Key, std::string>) {
        key = entry.GetReflection()->GetString(entry, &field);
    } else {
        get_key(entry, key.value);
    }
}
inline const ProtoFields::Field& value_of(const google::protobuf::Message& entry) {
    return *entry.GetDescriptor()->map_value();
}
google::protobuf::Message& value_message(google::protobuf::Message& entry);
const google::protobuf::Message& value_message(const google::protobuf::Message& entry);

class ProtoWriter {
public:
    explicit ProtoWriter(google::protobuf::Message& out) : out_(out), fields_(out) {}

    template <typename T>
    void operator()(const Member& member, const T& value) {
        write(fields_.field<T>(member), value);
    }
    void operator()(const Member& member, int number) {
        const int more = member.written == Written::index_or_none ? 1 : 0;
        set_number(out_, fields_.field<int>(member), number + more);
    }
    void interval(const Member& member, std::int64_t steps, Seconds time);
    void mesh(const Member& member, const std::optional<Mesh>& mesh, int zero);

private:
    using Field = ProtoFields::Field;

    template <typename T>
    void write(const Field& field, const T& value) {
        if constexpr (Described<const T>) {
            add(*fields_.access().MutableMessage(&out_, &field), value);
        } else if constexpr (std::is_enum_v<T> && !Named<T>) {
            set_word(field, static_cast<int>(value));
        } else if constexpr (Named<T>) {
            fields_.access().SetString(&out_, &field, std::string(to_string(value)));
        } else {
            set_number(out_, field, value);
        }
    }
    void write(const Field& field, const std::string& text) {
        fields_.access().SetString(&out_, &field, text);
    }
    void write(const Field& field, const Mesh& mesh) {
        fields_.access().MutableMessage(&out_, &field)->CopyFrom(to_proto(mesh));
    }
    template <typename Tag>
    void write(const Field& field, const Id<Tag>& id) {
        write(field, id.value);
    }
    void write(const Field& field, Epoch epoch) { set_number(out_, field, epoch.value); }
    void write(const Field& field, Bytes size) { set_number(out_, field, size.value); }
    void write(const Field& field, GbitPerSec rate) { set_number(out_, field, rate.value); }
    void write(const Field& field, Seconds time) { set_number(out_, field, time.value); }
    void write(const Field& field, WallTime time);
    void write(const Field& field, const DeviceId& device) {
        add(*fields_.access().MutableMessage(&out_, &field), device);
    }
    void write(const Field& field, FileUse use) { set_word(field, static_cast<int>(use)); }
    // An enum that travels as a value of protobuf's enum, a number or a flag, not as text.
    void set_word(const Field& field, int index);
    void write(const Field& field, const std::vector<Link>& links);
    void write(const Field& field, const std::vector<int>& numbers) {
        for (const int number : numbers)
            fields_.access().AddInt32(&out_, &field, number);
    }
    void write(const Field& field, const std::vector<std::int64_t>& numbers) {
        for (const std::int64_t number : numbers)
            fields_.access().AddInt64(&out_, &field, number);
    }
    void write(const Field& field, const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            fields_.access().AddString(&out_, &field, text);
    }
    void write(const Field& field, const std::optional<double>& number) {
        if (number) set_number(out_, field, *number);
    }
    void write(const Field& field, const std::optional<Bytes>& size) {
        if (size) set_number(out_, field, size->value);
    }
    template <Described T>
    void write(const Field& field, const std::optional<T>& value) {
        if (value) write(field, *value);
    }
    void write(const Field& field, const MemoryReport& memory) {
        std::map<std::string, std::int64_t> kinds;
        for (const auto& [kind, bytes] : memory.by_kind)
            kinds[kind] = bytes.value;
        write(field, kinds);
    }
    template <typename Key, typename T>
    void write(const Field& field, const std::map<Key, T>& items) {
        for (const auto& [key, item] : items) {
            google::protobuf::Message& entry = *fields_.access().AddMessage(&out_, &field);
            set_key(entry, key);
            if constexpr (Described<const T>) {
                add(value_message(entry), item);
            } else {
                set_number(entry, value_of(entry), item);
            }
        }
    }
    template <typename T>
    void write(const Field& field, const std::vector<T>& items) {
        for (const T& item : items)
            add(*fields_.access().AddMessage(&out_, &field), item);
    }
    template <Described T>
    void add(google::protobuf::Message& out, const T& item) {
        ProtoWriter part(out);
        describe(part, item);
    }
    void add(google::protobuf::Message& out, const DataSource& source);
    void add(google::protobuf::Message& out, const DeviceId& device);

    google::protobuf::Message& out_;
    const ProtoFields fields_;
};

// Members that an older sender does not send keep their values: messages, fields with presence,
// texts. Keeps the first error.
class ProtoReader {
public:
    explicit ProtoReader(const google::protobuf::Message& in) : in_(in), fields_(in) {}

    template <typename T>
    void operator()(const Member& member, T& value) {
        const Field& field = fields_.field<T>(member);
        if (field.has_presence() && !fields_.access().HasField(in_, &field)) {
            const bool is_needed = member.presence == Presence::sent;
            return keep(is_needed ? Status(missing(field)) : Status());
        }
        read(field, value);
        if constexpr (std::is_same_v<T, int>) {
            if (member.written == Written::index_or_none) --value;
        }
    }
    void interval(const Member& member, std::int64_t& steps, Seconds& time);
    void mesh(const Member& member, std::optional<Mesh>& mesh, int& zero);
    const Status& status() const { return status_; }

private:
    using Field = ProtoFields::Field;

    void keep(const Status& status) {
        if (status_ && !status) status_ = status;
    }
    static Error missing(const Field& field) {
        return invalid_argument("{} has no {}", field.containing_type()->name(), field.name());
    }
    std::string text_of(const Field& field) const {
        return fields_.access().GetString(in_, &field);
    }
    template <typename T>
    void read(const Field& field, T& value) {
        if constexpr (Described<T>) {
            read_message(fields_.access().GetMessage(in_, &field), value);
        } else if constexpr (std::is_enum_v<T> && !Named<T>) {
            value = static_cast<T>(word_index(field, static_cast<int>(value)));
        } else if constexpr (Named<T>) {
            const std::string word = text_of(field);
            if (!word.empty()) keep(parse_name(word, value));
        } else {
            get_number(in_, field, value);
        }
    }
    void read(const Field& field, std::string& text) {
        const std::string found = text_of(field);
        if (!found.empty()) text = found;
    }
    void read(const Field& field, Mesh& mesh);
    template <typename Tag>
    void read(const Field& field, Id<Tag>& id) {
        read(field, id.value);
    }
    void read(const Field& field, Epoch& epoch) { get_number(in_, field, epoch.value); }
    void read(const Field& field, Bytes& size) { get_number(in_, field, size.value); }
    void read(const Field& field, GbitPerSec& rate) { get_number(in_, field, rate.value); }
    void read(const Field& field, Seconds& time) { get_number(in_, field, time.value); }
    void read(const Field& field, WallTime& time);
    void read(const Field& field, DeviceId& device) {
        read_message(fields_.access().GetMessage(in_, &field), device);
    }
    void read(const Field& field, FileUse& use) {
        use = static_cast<FileUse>(word_index(field, static_cast<int>(use)));
    }
    int word_index(const Field& field, int otherwise);
    void read(const Field& field, std::vector<Link>& links);
    void read(const Field& field, std::vector<int>& numbers) {
        for (int i = 0; i < fields_.access().FieldSize(in_, &field); ++i)
            numbers.push_back(fields_.access().GetRepeatedInt32(in_, &field, i));
    }
    void read(const Field& field, std::vector<std::int64_t>& numbers) {
        for (int i = 0; i < fields_.access().FieldSize(in_, &field); ++i)
            numbers.push_back(fields_.access().GetRepeatedInt64(in_, &field, i));
    }
    void read(const Field& field, std::vector<std::string>& texts) {
        for (int i = 0; i < fields_.access().FieldSize(in_, &field); ++i)
            texts.push_back(fields_.access().GetRepeatedString(in_, &field, i));
    }
    void read(const Field& field, std::optional<double>& number) {
        get_number(in_, field, number.emplace());
    }
    void read(const Field& field, std::optional<Bytes>& size) {
        get_number(in_, field, size.emplace().value);
    }
    template <Described T>
    void read(const Field& field, std::optional<T>& value) {
        read(field, value.emplace());
    }
    void read(const Field& field, MemoryReport& memory) {
        std::map<std::string, std::int64_t> kinds;
        read(field, kinds);
        for (const auto& [kind, bytes] : kinds)
            memory.add(kind, Bytes{bytes});
    }
    template <typename Key, typename T>
    void read(const Field& field, std::map<Key, T>& items) {
        for (int i = 0; i < fields_.access().FieldSize(in_, &field); ++i) {
            const auto& entry = fields_.access().GetRepeatedMessage(in_, &field, i);
            Key key;
            get_key(entry, key);
            if constexpr (Described<T>) {
                read_message(value_message(entry), items[key]);
            } else {
                get_number(entry, value_of(entry), items[key]);
            }
        }
    }
    template <typename T>
    void read(const Field& field, std::vector<T>& items) {
        for (int i = 0; i < fields_.access().FieldSize(in_, &field); ++i)
            read_message(fields_.access().GetRepeatedMessage(in_, &field, i), items.emplace_back());
    }
    template <Described T>
    void read_message(const google::protobuf::Message& in, T& value) {
        ProtoReader part(in);
        describe(part, value);
        keep(part.status());
    }
    void read_message(const google::protobuf::Message& in, DataSource& source);
    void read_message(const google::protobuf::Message& in, DeviceId& device);

    const google::protobuf::Message& in_;
    const ProtoFields fields_;
    Status status_;
};

template <typename Message, Described T>
Message proto_of(const T& value) {
    Message out;
    ProtoWriter writer(out);
    describe(writer, value);
    return out;
}
// The part of a oneof whose fields have these names, in the order of the variant.
template <typename Message, typename Variant, std::size_t N>
Message proto_of(const Variant& variant, const char* const (&names)[N]) {
    Message out;
    const ProtoFields::Field& field = ProtoFields(out).named(names[variant.index()]);
    ProtoWriter writer(*out.GetReflection()->MutableMessage(&out, &field));
    std::visit([&](const auto& part) { describe(writer, part); }, variant);
    return out;
}
template <Described T>
Result<T> value_from(const google::protobuf::Message& message) {
    T out;
    ProtoReader reader(message);
    describe(reader, out);
    RM_RETURN_IF_ERROR(reader.status());
    return out;
}

// Nothing where the message has none of these fields.
template <typename Variant, std::size_t I = 0, std::size_t N>
std::optional<Result<Variant>> variant_from(const google::protobuf::Message& message,
                                            const char* const (&names)[N]) {
    if constexpr (I == N) {
        return std::nullopt;
    } else {
        const ProtoFields::Field& field = ProtoFields(message).named(names[I]);
        const auto& access = *message.GetReflection();
        if (!access.HasField(message, &field)) return variant_from<Variant, I + 1>(message, names);
        auto part =
            value_from<std::variant_alternative_t<I, Variant>>(access.GetMessage(message, &field));
        if (!part) return Result<Variant>(part.error());
        return Result<Variant>(Variant(*std::move(part)));
    }
}

}  // namespace rm
