#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// TensorBoard's event files, which TensorBoard, W&B and others read: records of EventRecord in
// TFRecord framing. A file begins with event_file_head().
namespace rm {

using NamedValues = std::vector<std::pair<std::string, double>>;

// A record: length, masked CRC-32C of the length, bytes, masked CRC-32C of the bytes; numbers are
// little-endian. Source: TensorFlow, tensorflow/core/lib/io/record_writer.h.
std::string framed_record(std::string_view bytes);

std::string event_file_head(double unix_seconds);
// Says that a session begins at `step`: readers drop what earlier sessions said from there on.
std::string session_event(double unix_seconds, std::int64_t step);
std::string scalar_event(double unix_seconds, std::int64_t step, const NamedValues& values);

// events.out.tfevents.<seconds>.<host>.<number>: readers take a run's files in the order of their
// names, so later ones need a later second or a higher number.
std::string event_file_name(std::int64_t unix_seconds, const std::string& host,
                            std::int64_t number);

}  // namespace rm
