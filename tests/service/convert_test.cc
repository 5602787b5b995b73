#include "service/convert/convert.h"

#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/spec.pb.h"
#include "ringmaster/v1/worker.pb.h"
#include "tests/service/random_values.h"

namespace rm {
namespace {

// ---- Equality where the types have none.

bool same(const StepReport& x, const StepReport& y) {
    const auto values = [](const StepReport& report) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, memory, r, s, t, u, v, due,
                     saving, loading, fp8, fallback_layers, fallbacks] = report;
        return std::make_tuple(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, memory.by_kind,
                               memory.total, r, s, t, u, v, due, saving, loading, fp8,
                               fallback_layers, fallbacks);
    };
    return values(x) == values(y);
}
bool same(const EvaluationReport& x, const EvaluationReport& y) {
    const auto values = [](const EvaluationReport& report) {
        const auto& [a, b, c, d, e, f] = report;
        return std::make_tuple(a, b, c, d, e, f);
    };
    return values(x) == values(y);
}
bool same(const Pong& x, const Pong& y) {
    return x.nonce == y.nonce;
}
bool same(const Ping& x, const Ping& y) {
    return x.nonce == y.nonce;
}
bool same(const CommandRefused& x, const CommandRefused& y) {
    return x.epoch == y.epoch && x.reason == y.reason;
}
bool same(const HelloReply& x, const HelloReply& y) {
    return x.cluster == y.cluster && x.protocol == y.protocol && x.ping_interval == y.ping_interval;
}
template <typename T>
bool same(const T& x, const T& y) {
    return x == y;
}

// ---- Random messages: every field, by reflection, so that a field added to the wire is covered.

bool is_left_out(const google::protobuf::FieldDescriptor& field) {
    const std::string& name = field.full_name();
    // The last is the controller's word, for people.
    return name == "ringmaster.v1.JobSpec.yaml" || name == "ringmaster.v1.StepReport.time" ||
           name == "ringmaster.v1.Root.shared_with";
}

void fill_message(Rng& rng, google::protobuf::Message& message);

// A text that its field can hold.
std::string text_for(Rng& rng, const std::string& field) {
    if (field == "schedule") return "linear";
    if (field == "network") return "nccl";
    if (field == "reproducible") return "on";
    if (field == "documents") return "separate";
    if (field == "positions") return "running";
    if (field == "place" || field == "kept") return "host";
    if (field == "keep") return "input";
    if (field == "offload" || field == "windows") return "off";
    if (field == "working") return "windows";
    if (field == "arena") return "separate";
    if (field == "keep_precision") return "fp8";
    if (field == "recipe") return "delayed";
    if (field == "attention") return "8bit";
    if (field == "ulysses" || field == "tensor") return "fp8";  // of messages; of a mesh, numbers
    if (field == "rope") return "yarn";
    if (field == "optimizer") return "anew";  // of a stage
    if (field == "divergence") return "stop";
    if (field == "suite") return "ruler";
    if (field == "gradients") return "e4m3";  // of FP8; of the optimizer it is any text
    return format("s{}", rng());
}

// An inner ring divides the ring and is smaller.
std::int32_t number_for(Rng& rng, const std::string& field) {
    if (field == "ring") return 6;
    if (field == "inner_ring") return 3;
    return static_cast<std::int32_t>(rng.below(8) + 1);
}

void fill_one(Rng& rng, google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field) {
    using Type = google::protobuf::FieldDescriptor;
    const auto& reflection = *message.GetReflection();
    const std::int32_t number = number_for(rng, field.name());
    switch (field.cpp_type()) {
        case Type::CPPTYPE_INT32:
            return reflection.SetInt32(&message, &field, number);
        case Type::CPPTYPE_INT64:
            return reflection.SetInt64(&message, &field, number);
        case Type::CPPTYPE_UINT32:
            return reflection.SetUInt32(&message, &field, static_cast<std::uint32_t>(number));
        case Type::CPPTYPE_UINT64:
            return reflection.SetUInt64(&message, &field, static_cast<std::uint64_t>(number));
        case Type::CPPTYPE_DOUBLE:
            return reflection.SetDouble(&message, &field, rng.normal());
        case Type::CPPTYPE_BOOL:
            return reflection.SetBool(&message, &field, true);
        case Type::CPPTYPE_STRING:
            return reflection.SetString(&message, &field, text_for(rng, field.name()));
        case Type::CPPTYPE_MESSAGE:
            return fill_message(rng, *reflection.MutableMessage(&message, &field));
        case Type::CPPTYPE_ENUM:
            return reflection.SetEnumValue(
                &message, &field,
                field.enum_type()->value(field.enum_type()->value_count() - 1)->number());
        case Type::CPPTYPE_FLOAT:
            FAIL() << "no such field yet: " << field.full_name();
    }
}

void fill_repeated(Rng& rng, google::protobuf::Message& message,
                   const google::protobuf::FieldDescriptor& field) {
    using Type = google::protobuf::FieldDescriptor;
    const auto& reflection = *message.GetReflection();
    for (int i = 0; i < 2; ++i) {
        if (field.cpp_type() == Type::CPPTYPE_INT32) {
            reflection.AddInt32(&message, &field, number_for(rng, field.name()));
            continue;
        }
        if (field.cpp_type() == Type::CPPTYPE_INT64) {
            reflection.AddInt64(&message, &field, number_for(rng, field.name()));
            continue;
        }
        if (field.cpp_type() == Type::CPPTYPE_STRING) {
            reflection.AddString(&message, &field, text_for(rng, field.name()));
            continue;
        }
        ASSERT_EQ(field.cpp_type(), Type::CPPTYPE_MESSAGE);
        fill_message(rng, *reflection.AddMessage(&message, &field));
    }
}

void fill_message(Rng& rng, google::protobuf::Message& message) {
    const auto& descriptor = *message.GetDescriptor();
    for (int i = 0; i < descriptor.field_count(); ++i) {
        const auto& field = *descriptor.field(i);
        if (is_left_out(field)) continue;
        if (field.is_repeated()) {
            fill_repeated(rng, message, field);
        } else {
            fill_one(rng, message, field);
        }
    }
}

template <typename T>
const T& value_of(const T& value) {
    return value;
}
template <typename T>
const T& value_of(const Result<T>& result) {
    return result.value();
}

template <typename Wire>
void expect_wire_survives(std::uint64_t seed) {
    Rng rng(seed);
    Wire message;
    fill_message(rng, message);
    const Wire back = to_proto(value_of(from_proto(message)));
    std::string difference;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    // Maps have no order on the wire.
    differencer.set_repeated_field_comparison(google::protobuf::util::MessageDifferencer::AS_SET);
    EXPECT_TRUE(differencer.Compare(message, back))
        << Wire::descriptor()->full_name() << " seed " << seed << ": " << difference;
}

// A part of a session message, inside it and on its own.
template <typename Part, typename Message>
void expect_part_survives(std::uint64_t seed) {
    Rng rng(seed);
    Part part{};
    fill(rng, part);
    const Message message(part);
    const auto back = from_proto(to_proto(message));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_TRUE(same(std::get<Part>(*back), part))
        << "kind " << message.index() << " seed " << seed;
}

template <typename T>
void expect_value_survives(std::uint64_t seed) {
    Rng rng(seed);
    T value;
    fill(rng, value);
    const auto wire = to_proto(value);
    EXPECT_TRUE(same(value_of(from_proto(wire)), value))
        << wire.GetDescriptor()->full_name() << " seed " << seed << ": " << wire.ShortDebugString();
}

TEST(Convert, EveryValueSurvivesTheWire) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        expect_value_survives<Mesh>(seed);
        expect_value_survives<JobSpec>(seed);
        expect_value_survives<StepReport>(seed);
        expect_value_survives<EvaluationReport>(seed);
        expect_value_survives<SuiteReport>(seed);
        expect_value_survives<ConnectedReport>(seed);
        expect_value_survives<Inventory>(seed);
        expect_value_survives<AttemptStatus>(seed);
    }
}

TEST(Convert, EverySessionMessageSurvivesTheWire) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        expect_part_survives<Hello, WorkerMessage>(seed);
        expect_part_survives<Pong, WorkerMessage>(seed);
        expect_part_survives<AttemptStatus, WorkerMessage>(seed);
        expect_part_survives<CommandRefused, WorkerMessage>(seed);
        expect_part_survives<RootsReport, WorkerMessage>(seed);
        expect_part_survives<FilesChecked, WorkerMessage>(seed);
        expect_part_survives<RootProbed, WorkerMessage>(seed);
        expect_part_survives<ProbeReport, WorkerMessage>(seed);
        expect_part_survives<HelloReply, ControllerMessage>(seed);
        expect_part_survives<Ping, ControllerMessage>(seed);
        expect_part_survives<LaunchAttempt, ControllerMessage>(seed);
        expect_part_survives<StopAttempt, ControllerMessage>(seed);
        expect_part_survives<ForgetAttempt, ControllerMessage>(seed);
        expect_part_survives<CheckFiles, ControllerMessage>(seed);
        expect_part_survives<ProbeRoot, ControllerMessage>(seed);
        expect_part_survives<ExpectProbe, ControllerMessage>(seed);
        expect_part_survives<RunProbe, ControllerMessage>(seed);
    }
}

TEST(Convert, EveryFieldOfTheWireHasItsPlaceInTheTypes) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        expect_wire_survives<pb::JobSpec>(seed);
        expect_wire_survives<pb::MeshSpec>(seed);
        expect_wire_survives<pb::StepReport>(seed);
        expect_wire_survives<pb::EvaluationReport>(seed);
        expect_wire_survives<pb::SuiteReport>(seed);
        expect_wire_survives<pb::ConnectedReport>(seed);
        expect_wire_survives<pb::Inventory>(seed);
        expect_wire_survives<pb::AttemptStatus>(seed);
        expect_wire_survives<pb::WorkerMessage>(seed);
        expect_wire_survives<pb::ControllerMessage>(seed);
    }
}

TEST(Convert, AutoParallelStaysAuto) {
    const JobSpec spec{.name = "x"};
    EXPECT_FALSE(to_proto(spec).has_parallel());
    EXPECT_EQ(from_proto(to_proto(spec)).value(), spec);
}

TEST(Convert, WordsThatAnOlderSenderDoesNotHaveAreTheirDefaults) {
    pb::JobSpec old = to_proto(JobSpec{.name = "x"});
    old.mutable_data()->clear_documents();
    old.mutable_data()->clear_positions();
    old.mutable_optimizer()->clear_place();
    old.mutable_optimizer()->clear_moments();
    old.mutable_optimizer()->clear_gradients();
    old.mutable_optimizer()->clear_max_skipped();
    for (const char* key :
         {"keep", "offload", "windows", "prefetch", "arena", "keep_every", "keep_precision"}) {
        pb::MemorySpec& memory = *old.mutable_memory();
        memory.GetReflection()->ClearField(&memory, memory.GetDescriptor()->FindFieldByName(key));
    }
    EXPECT_EQ(from_proto(old).value(), JobSpec{.name = "x"});
}

TEST(Convert, WhatATypeCannotHoldIsAnError) {
    EXPECT_FALSE(from_proto(pb::WorkerMessage{}));
    EXPECT_EQ(from_proto(pb::ControllerMessage{}).error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(from_proto(pb::MeshSpec{}));
    pb::MeshSpec huge;
    huge.set_data(1 << 30);
    huge.set_ring(1 << 30);
    huge.set_ulysses(1);
    huge.set_tensor(1);
    EXPECT_FALSE(from_proto(huge));
    pb::JobSpec spec;
    spec.add_stages()->set_schedule("sometimes");
    EXPECT_EQ(from_proto(spec).error().message,
              "schedule 'sometimes' is not known; constant, cosine or linear");
    pb::JobSpec packed;
    packed.mutable_data()->set_documents("packed");
    EXPECT_EQ(from_proto(packed).error().message,
              "documents 'packed' is not known; joined or separate");
    pb::JobSpec kept;
    kept.mutable_memory()->set_keep("all");
    EXPECT_EQ(from_proto(kept).error().message,
              "keep 'all' is not known; auto, input or input+attention");
    pb::ControllerMessage launch;
    launch.mutable_launch();
    EXPECT_FALSE(from_proto(launch)) << "a launch without a mesh";
    *launch.mutable_launch()->mutable_mesh() = to_proto(Mesh());
    EXPECT_FALSE(from_proto(launch)) << "a launch without a memory policy";
    *launch.mutable_launch()->mutable_memory() = to_proto(MemoryPolicy());
    EXPECT_TRUE(from_proto(launch));
}

TEST(Convert, TimesKeepTheirMicroseconds) {
    for (const std::int64_t micros : {0LL, 1LL, -1LL, 1'750'000'000'123'456LL, -1'500'000LL}) {
        const google::protobuf::Timestamp wire = to_proto(WallTime{micros});
        EXPECT_GE(wire.nanos(), 0);
        EXPECT_LT(wire.nanos(), 1'000'000'000);
        EXPECT_EQ(from_proto(wire).micros, micros);
    }
}

}  // namespace
}  // namespace rm
