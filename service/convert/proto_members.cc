#include "service/convert/proto_members.h"

#include <google/protobuf/timestamp.pb.h>

#include <algorithm>

#include "ringmaster/v1/planning.pb.h"

namespace rm {

using google::protobuf::Message;
using Field = ProtoFields::Field;

Message& value_message(Message& entry) {
    const Field* const value = entry.GetDescriptor()->map_value();
    return value == nullptr ? entry : *entry.GetReflection()->MutableMessage(&entry, value);
}

const Message& value_message(const Message& entry) {
    const Field* const value = entry.GetDescriptor()->map_value();
    return value == nullptr ? entry : entry.GetReflection()->GetMessage(entry, value);
}

void ProtoWriter::interval(const Member& member, std::int64_t steps, Seconds time) {
    set_number(out_, fields_.named(format("{}_steps", member.name)), steps);
    set_number(out_, fields_.named(format("{}_seconds", member.name)), time.value);
}

void ProtoReader::interval(const Member& member, std::int64_t& steps, Seconds& time) {
    get_number(in_, fields_.named(format("{}_steps", member.name)), steps);
    const Field& seconds = fields_.named(format("{}_seconds", member.name));
    if (fields_.access().HasField(in_, &seconds)) get_number(in_, seconds, time.value);
}

void ProtoWriter::mesh(const Member& member, const std::optional<Mesh>& mesh, int zero) {
    if (mesh) write(fields_.named(std::string(member.name)), *mesh);
    set_number(out_, fields_.named("zero"), zero);
}

void ProtoReader::mesh(const Member& member, std::optional<Mesh>& mesh, int& zero) {
    get_number(in_, fields_.named("zero"), zero);
    const Field& field = fields_.named(std::string(member.name));
    if (fields_.access().HasField(in_, &field)) read(field, mesh.emplace());
}

void ProtoReader::read(const Field& field, Mesh& mesh) {
    const auto& message = fields_.access().GetMessage(in_, &field);
    const Result<Mesh> found = from_proto(static_cast<const pb::MeshSpec&>(message));
    if (!found) return keep(found.error());
    mesh = *found;
}

// The values of protobuf's enum are in the order of ours, perhaps after an unspecified
// one.
void ProtoWriter::set_word(const Field& field, int index) {
    if (field.cpp_type() == Field::CPPTYPE_BOOL) return set_number(out_, field, index != 0);
    if (field.cpp_type() != Field::CPPTYPE_ENUM) return set_number(out_, field, index);
    const auto& words = *field.enum_type();
    const int first = words.value(0)->name().ends_with("_UNSPECIFIED") ? 1 : 0;
    fields_.access().SetEnumValue(&out_, &field, words.value(first + index)->number());
}

int ProtoReader::word_index(const Field& field, int otherwise) {
    if (field.cpp_type() == Field::CPPTYPE_BOOL) return fields_.access().GetBool(in_, &field);
    if (field.cpp_type() != Field::CPPTYPE_ENUM) return fields_.access().GetInt32(in_, &field);
    const auto& words = *field.enum_type();
    const int first = words.value(0)->name().ends_with("_UNSPECIFIED") ? 1 : 0;
    const int number = fields_.access().GetEnumValue(in_, &field);
    const auto* word = words.FindValueByNumber(number);
    if (word != nullptr && word->index() >= first) return word->index() - first;
    keep(invalid_argument("{} {} is not known", words.name(), number));
    return otherwise;
}

void ProtoWriter::write(const Field& field, WallTime time) {
    if (field.cpp_type() != Field::CPPTYPE_MESSAGE) return set_number(out_, field, time.micros);
    fields_.access().MutableMessage(&out_, &field)->CopyFrom(to_proto(time));
}

void ProtoReader::read(const Field& field, WallTime& time) {
    if (field.cpp_type() != Field::CPPTYPE_MESSAGE) return get_number(in_, field, time.micros);
    const Message& message = fields_.access().GetMessage(in_, &field);
    time = from_proto(static_cast<const google::protobuf::Timestamp&>(message));
}

// Links travel as columns with one entry per pair of nodes.
void ProtoWriter::write(const Field& field, const std::vector<Link>& links) {
    auto& matrix = static_cast<pb::LinkMatrix&>(*fields_.access().MutableMessage(&out_, &field));
    for (const Link& link : links) {
        matrix.add_gbit_per_s(link.bandwidth.value);
        matrix.add_flow_gbit_per_s(link.flow.value);
        matrix.add_latency_seconds(link.latency.value);
    }
}

// As many as the shortest column has; validate() finds what is missing.
void ProtoReader::read(const Field& field, std::vector<Link>& links) {
    const auto& matrix =
        static_cast<const pb::LinkMatrix&>(fields_.access().GetMessage(in_, &field));
    const int count = std::min(
        {matrix.gbit_per_s_size(), matrix.flow_gbit_per_s_size(), matrix.latency_seconds_size()});
    links.reserve(usize(count));
    for (int i = 0; i < count; ++i) {
        links.push_back(
            {{matrix.gbit_per_s(i)}, {matrix.flow_gbit_per_s(i)}, {matrix.latency_seconds(i)}});
    }
}

void ProtoWriter::add(Message& out, const DataSource& source) {
    auto& added = static_cast<pb::DataSource&>(out);
    added.set_path(source.path);
    added.set_proportion(source.proportion);
}

void ProtoReader::read_message(const Message& in, DataSource& source) {
    const auto& read = static_cast<const pb::DataSource&>(in);
    source = {read.path(), read.proportion()};
}

void ProtoWriter::add(Message& out, const DeviceId& device) {
    static_cast<pb::PlacedDevice&>(out) = to_proto(device);
}

void ProtoReader::read_message(const Message& in, DeviceId& device) {
    device = from_proto(static_cast<const pb::PlacedDevice&>(in));
}

}  // namespace rm
