#include "service/curves/event_file.h"

#include <boost/crc.hpp>

#include "base/format.h"
#include "ringmaster/v1/event_file.pb.h"

namespace rm {
namespace {

namespace pb = ringmaster::v1;

template <typename Number>
std::string little_endian(Number number) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
        bytes += static_cast<char>(number >> (8 * i));
    return bytes;
}

std::uint32_t crc32c(std::string_view bytes) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

// A CRC of bytes that hold CRCs would be weak, so the format rotates and shifts it.
std::uint32_t masked(std::uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

pb::EventRecord event_at(double unix_seconds, std::int64_t step) {
    pb::EventRecord event;
    event.set_wall_time(unix_seconds);
    event.set_step(step);
    return event;
}

}  // namespace

std::string framed_record(std::string_view bytes) {
    const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
    std::string record = length + little_endian(masked(crc32c(length)));
    record.append(bytes);
    return record + little_endian(masked(crc32c(bytes)));
}

std::string event_file_head(double unix_seconds) {
    pb::EventRecord event = event_at(unix_seconds, 0);
    event.set_file_version("brain.Event:2");
    return framed_record(event.SerializeAsString());
}

std::string session_event(double unix_seconds, std::int64_t step) {
    pb::EventRecord event = event_at(unix_seconds, step);
    event.mutable_session_log()->set_status(pb::EventSession::START);
    return framed_record(event.SerializeAsString());
}

std::string scalar_event(double unix_seconds, std::int64_t step, const NamedValues& values) {
    pb::EventRecord event = event_at(unix_seconds, step);
    for (const auto& [tag, value] : values) {
        pb::EventSummary::Value* entry = event.mutable_summary()->add_value();
        entry->set_tag(tag);
        entry->set_simple_value(static_cast<float>(value));
    }
    return framed_record(event.SerializeAsString());
}

std::string event_file_name(std::int64_t unix_seconds, const std::string& host,
                            std::int64_t number) {
    return format("events.out.tfevents.{}.{}.{}", unix_seconds, host, number);
}

}  // namespace rm
