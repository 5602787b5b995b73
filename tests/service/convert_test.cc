#include "service/convert.h"

#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "base/random.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/node.pb.h"
#include "ringmaster/v1/spec.pb.h"
#include "ringmaster/v1/worker.pb.h"

namespace rm {
namespace {

// ---- Random values of base types. The structured bindings are the point: a member added to a type
// does not compile here until it is filled, and then fails the round trip until it is converted.

template <typename... Parts>
void fill_all(Rng& rng, Parts&... parts);
template <typename T>
void fill(Rng& rng, std::vector<T>& items);

void fill(Rng& rng, std::string& text) {
    text = format("t{}", rng.below(1'000'000));
}
void fill(Rng& rng, double& number) {
    number = rng.normal();
}
void fill(Rng& rng, bool& flag) {
    flag = rng.below(2) == 1;
}
template <typename T>
requires std::is_integral_v<T>
void fill(Rng& rng, T& number) {
    number = static_cast<T>(rng.below(1'000'000'000) + 1);
}
template <typename Tag>
void fill(Rng& rng, Id<Tag>& id) {
    fill(rng, id.value);
}
void fill(Rng& rng, Epoch& epoch) {
    fill(rng, epoch.value);
}
void fill(Rng& rng, Bytes& bytes) {
    fill(rng, bytes.value);
}
void fill(Rng& rng, Seconds& seconds) {
    fill(rng, seconds.value);
}
template <typename Word>
requires std::is_enum_v<Word>
void fill(Rng& rng, Word& word) {  // most have two
    word = static_cast<Word>(rng.below(2));
}
void fill(Rng& rng, Schedule& schedule) {
    schedule = static_cast<Schedule>(rng.below(3));
}
void fill(Rng& rng, Switch& state) {
    state = static_cast<Switch>(rng.below(3));
}
// Nothing now and then: it is a value of its own.
template <typename T>
void fill(Rng& rng, std::optional<T>& maybe) {
    if (rng.below(3) > 0) fill(rng, maybe.emplace());
}
void fill(Rng& rng, Mesh& mesh) {
    const auto size = [&rng] { return static_cast<int>(rng.below(8)) + 1; };
    const int inner = size();
    mesh = Mesh::make(size(), size() * inner, size(), size(), inner).value();
}
void fill(Rng& rng, StageSpec& stage) {
    auto& [a, b, c, d, e, f, g, h] = stage;
    fill_all(rng, a, b, c, d, e, f, g, h);
}
void fill(Rng& rng, ModelSpec& model) {
    auto& [preset, from] = model;
    fill_all(rng, preset, from);
}
void fill(Rng& rng, DataSource& source) {
    auto& [path, proportion] = source;
    fill_all(rng, path, proportion);
}
void fill(Rng& rng, ExportSpec& exports) {
    auto& [huggingface] = exports;
    fill_all(rng, huggingface);
}
void fill(Rng& rng, DataSpec& data) {
    auto& [a, b, c, d, e, f] = data;
    fill_all(rng, a, b, c, d, e, f);
}
void fill(Rng& rng, MemorySpec& memory) {
    auto& [a, b, c, d, e, f, g, h, i, j] = memory;
    fill_all(rng, a, b, c, d, e, f, g, h, i, j);
}
void fill(Rng& rng, OptimizerSpec& optimizer) {
    auto& [a, b, c, d, e, f, g] = optimizer;
    fill_all(rng, a, b, c, d, e, f, g);
}
void fill(Rng& rng, ResourcesSpec& resources) {
    auto& [devices, kind] = resources;
    fill_all(rng, devices, kind);
}
void fill(Rng& rng, CheckpointSpec& checkpoint) {
    auto& [a, b, c, d] = checkpoint;
    fill_all(rng, a, b, c, d);
}
void fill(Rng& rng, RetrySpec& retry) {
    auto& [a, b] = retry;
    fill_all(rng, a, b);
}
void fill(Rng& rng, EvaluationSpec& evaluation) {
    auto& [a, b] = evaluation;
    fill_all(rng, a, b);
}
void fill(Rng& rng, MemoryPolicy& policy) {
    auto& [a, b, c, d, e, f, g, h, i, j] = policy;
    fill_all(rng, a, b, c, d, e, f, g, h, i, j);
}
void fill(Rng& rng, MemoryReport& memory) {
    memory.by_kind = {{"weights", {}}, {"activations", {}}};
    memory.total = Bytes{};
    for (auto& [kind, bytes] : memory.by_kind) {
        fill(rng, bytes);
        memory.total += bytes;
    }
}
void fill(Rng& rng, std::map<std::string, double>& map) {
    for (const char* key : {"forward", "backward", "reduce"})
        fill(rng, map[key]);
}
void fill(Rng& rng, AxisTraffic& traffic) {
    auto& [bytes_sent, wait_seconds] = traffic;
    fill_all(rng, bytes_sent, wait_seconds);
}
void fill(Rng& rng, std::map<std::string, AxisTraffic>& axes) {
    for (const char* key : {"ring", "tensor"})
        fill(rng, axes[key]);
}
void fill(Rng& rng, Peak& peak) {
    auto& [flops, name] = peak;
    fill_all(rng, flops, name);
}
void fill(Rng& rng, DeviceInfo& device) {
    auto& [index, kind, memory, fp32, bf16, num_threads] = device;
    fill_all(rng, index, kind, memory, fp32, bf16, num_threads);
}
void fill(Rng& rng, RankStatus& rank) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = rank;
    fill_all(rng, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
}
void fill(Rng& rng, RankLaunch& rank) {
    auto& [a, b] = rank;
    fill_all(rng, a, b);
}
void fill(Rng& rng, StepReport& report) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = report;
    fill_all(rng, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
}
void fill(Rng& rng, EvaluationReport& report) {
    auto& [a, b, c, d, e] = report;
    fill_all(rng, a, b, c, d, e);
}
void fill(Rng& rng, Inventory& inventory) {
    auto& [a, b, c, d, e, f, g, h] = inventory;
    fill_all(rng, a, b, c, d, e, f, g, h);
}
void fill(Rng& rng, AttemptStatus& status) {
    auto& [a, b, c, d, e, f, g, h] = status;
    fill_all(rng, a, b, c, d, e, f, g, h);
}
void fill(Rng& rng, std::optional<Mesh>& mesh) {
    fill(rng, mesh.emplace());
}
void fill(Rng& rng, JobSpec& spec) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = spec;
    fill_all(rng, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}
void fill(Rng& rng, Plan& plan) {
    auto& [mesh, zero, placement, memory, timeout] = plan;
    placement.clear();  // does not travel
    fill_all(rng, mesh, zero, memory, timeout);
}
void fill(Rng& rng, Pong& pong) {
    auto& [nonce] = pong;
    fill_all(rng, nonce);
}
void fill(Rng& rng, CommandRefused& refused) {
    auto& [epoch, reason] = refused;
    fill_all(rng, epoch, reason);
}
void fill(Rng& rng, HelloReply& reply) {
    auto& [a, b, c] = reply;
    fill_all(rng, a, b, c);
}
void fill(Rng& rng, Ping& ping) {
    auto& [nonce] = ping;
    fill_all(rng, nonce);
}
void fill(Rng& rng, LaunchAttempt& launch) {
    auto& [a, b, c, d, e, f, g, h] = launch;
    fill_all(rng, a, b, c, d, e, f, g, h);
}
void fill(Rng& rng, Hello& hello) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = hello;
    fill_all(rng, a, b, c, d, e, f, g, h, i, j, k);
}
void fill(Rng& rng, StopAttempt& stop) {
    auto& [a, b, c] = stop;
    fill_all(rng, a, b, c);
}
void fill(Rng& rng, ForgetAttempt& forget) {
    auto& [epoch] = forget;
    fill_all(rng, epoch);
}
void fill(Rng& rng, FileUse& use) {
    use = static_cast<FileUse>(rng.below(6));
}
void fill(Rng& rng, ProbeStep& step) {
    step = static_cast<ProbeStep>(rng.below(3));
}
void fill(Rng& rng, ProbeKind& kind) {
    kind = static_cast<ProbeKind>(rng.below(2));
}
void fill(Rng& rng, RootInfo& root) {
    auto& [a, b, c, d, e, f, g] = root;
    fill_all(rng, a, b, c, d, e, f, g);
}
void fill(Rng& rng, FileWanted& file) {
    auto& [use, path] = file;
    fill_all(rng, use, path);
}
void fill(Rng& rng, FileFacts& facts) {
    auto& [a, b, c, d, e, f, g, h] = facts;
    fill_all(rng, a, b, c, d, e, f, g, h);
}
void fill(Rng& rng, RootsReport& report) {
    auto& [roots] = report;
    fill_all(rng, roots);
}
void fill(Rng& rng, CheckFiles& check) {
    auto& [key, files] = check;
    fill_all(rng, key, files);
}
void fill(Rng& rng, FilesChecked& checked) {
    auto& [key, files] = checked;
    fill_all(rng, key, files);
}
void fill(Rng& rng, ProbeRoot& probe) {
    auto& [a, b, c] = probe;
    fill_all(rng, a, b, c);
}
void fill(Rng& rng, RootProbed& probed) {
    auto& [a, b, c, d, e] = probed;
    fill_all(rng, a, b, c, d, e);
}
void fill(Rng& rng, ExpectProbe& expect) {
    auto& [nonce, valid] = expect;
    fill_all(rng, nonce, valid);
}
void fill(Rng& rng, RunProbe& run) {
    auto& [a, b, c, d, e, f, g, h] = run;
    fill_all(rng, a, b, c, d, e, f, g, h);
}
void fill(Rng& rng, GbitPerSec& rate) {
    fill(rng, rate.value);
}
void fill(Rng& rng, BandwidthSample& sample) {
    auto& [a, b, c, d, e] = sample;
    fill_all(rng, a, b, c, d, e);
}
void fill(Rng& rng, InsideSample& sample) {
    auto& [a, b, c, d, e, f] = sample;
    fill_all(rng, a, b, c, d, e, f);
}
void fill(Rng& rng, ProbeReport& report) {
    auto& [a, b, c, d, e, f] = report;
    fill_all(rng, a, b, c, d, e, f);
}
template <typename T>
void fill(Rng& rng, std::vector<T>& items) {
    items.resize(rng.below(3) + 1);
    for (T& item : items)
        fill(rng, item);
}
template <typename... Parts>
void fill_all(Rng& rng, Parts&... parts) {
    (fill(rng, parts), ...);
}

// ---- Equality where the types have none.

bool same(const StepReport& x, const StepReport& y) {
    const auto values = [](const StepReport& report) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, memory, q, r] = report;
        return std::make_tuple(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, memory.by_kind,
                               memory.total, q, r);
    };
    return values(x) == values(y);
}
bool same(const EvaluationReport& x, const EvaluationReport& y) {
    const auto values = [](const EvaluationReport& report) {
        const auto& [a, b, c, d, e] = report;
        return std::make_tuple(a, b, c, d, e);
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

// ---- Random messages: every field, by reflection, so that a field added to the wire is seen.

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
    if (field == "documents") return "separate";
    if (field == "positions") return "running";
    if (field == "place" || field == "kept") return "host";
    if (field == "keep") return "input";
    if (field == "offload" || field == "windows") return "off";
    if (field == "working") return "windows";
    if (field == "arena") return "separate";
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
    for (const char* key : {"keep", "offload", "windows", "prefetch", "arena"}) {
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
