#include "controller/access.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>

#include <set>

#include "tests/controller/secured.h"

// Reflection finds every method that a running controller serves: each has its least role in the
// table and refuses lower ones.
namespace rm::test {
namespace {

using google::protobuf::UnknownField;

constexpr const char* kReflection =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// Sends one message to a method by its name and returns the first reply, as bytes.
grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& sent, std::string* received = nullptr) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    grpc::CompletionQueue queue;
    const grpc::Slice slice(sent);
    auto reader = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
    reader->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    reader->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (received == nullptr || !status.ok() || !reply.Dump(&slices).ok()) return status;
    for (const grpc::Slice& part : slices)
        received->append(reinterpret_cast<const char*>(part.begin()), part.size());
    return status;
}

// Messages of reflection.proto, whose generated code is not installed: every field read here is
// length-delimited.
std::vector<std::string> fields(const std::string& message, int number) {
    google::protobuf::Empty any;
    RM_CHECK(any.ParseFromString(message), "not a message");
    std::vector<std::string> found;
    const auto& unknown = any.GetReflection()->GetUnknownFields(any);
    for (int i = 0; i < unknown.field_count(); ++i) {
        const UnknownField& field = unknown.field(i);
        const bool wanted =
            field.number() == number && field.type() == UnknownField::TYPE_LENGTH_DELIMITED;
        if (wanted) found.push_back(field.length_delimited());
    }
    return found;
}

std::string reflect(const std::shared_ptr<grpc::Channel>& channel, char field,
                    const std::string& text) {
    std::string request{static_cast<char>(field << 3 | 2), static_cast<char>(text.size())};
    std::string reply;
    const grpc::Status status = call(channel, kReflection, request + text, &reply);
    RM_CHECK(status.ok(), "{}", status.error_message());
    return reply;
}

std::vector<std::string> services_of(const std::shared_ptr<grpc::Channel>& channel) {
    std::vector<std::string> names;
    for (const std::string& list : fields(reflect(channel, 7, ""), 6)) {
        for (const std::string& service : fields(list, 1))
            names.push_back(fields(service, 1).at(0));
    }
    return names;
}

std::vector<std::string> methods_of(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::string& service) {
    std::vector<std::string> methods;
    for (const std::string& answer : fields(reflect(channel, 4, service), 4)) {
        google::protobuf::FileDescriptorProto file;
        RM_CHECK(file.ParseFromString(fields(answer, 1).at(0)), "not a file descriptor");
        for (const auto& found : file.service()) {
            if (file.package() + "." + found.name() != service) continue;
            for (const auto& method : found.method())
                methods.push_back("/" + service + "/" + method.name());
        }
    }
    return methods;
}

struct Access : testing::Test, Secured {
    std::shared_ptr<grpc::Channel> admin = channel(as(Role::admin));
    std::shared_ptr<grpc::Channel> stranger = channel(nobody());
    std::map<Role, std::shared_ptr<grpc::Channel>> by_role;

    Access() {
        for (const Role role : {Role::viewer, Role::submitter, Role::admin, Role::worker})
            by_role[role] = channel(with(authority.client("*", role)));
    }
    // The health service has no descriptor here: its methods are those of its specification.
    std::vector<std::string> all_methods() {
        std::vector<std::string> all = {"/grpc.health.v1.Health/Check",
                                        "/grpc.health.v1.Health/Watch"};
        for (const std::string& service : services_of(admin)) {
            const auto methods = methods_of(admin, service);
            all.insert(all.end(), methods.begin(), methods.end());
        }
        return all;
    }
    grpc::StatusCode code(Role role, const std::string& method) {
        return call(by_role.at(role), method, "").error_code();
    }
    static Role too_low(Role least) {
        switch (least) {
            case Role::viewer:
                return Role::worker;
            case Role::submitter:
            case Role::worker:
                return Role::viewer;
            case Role::joiner:
                return Role::admin;
            case Role::admin:
                break;
        }
        return Role::submitter;
    }
};

TEST_F(Access, EveryServedMethodIsInTheTableAndRefusesWhatIsBelowItsRole) {
    by_role[Role::joiner] = channel(with_join_token(make_join_token().token()));
    std::set<std::string> seen;
    for (const std::string& method : all_methods()) {
        SCOPED_TRACE(method);
        seen.insert(method);
        const auto table = access_table();
        const auto access = std::find_if(table.begin(), table.end(),
                                         [&](const auto& row) { return row.method == method; });
        ASSERT_NE(access, table.end()) << "give it an option (access) in its .proto";
        EXPECT_EQ(call(stranger, method, "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
        EXPECT_EQ(code(too_low(access->least), method), grpc::StatusCode::PERMISSION_DENIED);
        const grpc::StatusCode own = code(access->least, method);
        EXPECT_NE(own, grpc::StatusCode::UNAUTHENTICATED);
        EXPECT_NE(own, grpc::StatusCode::PERMISSION_DENIED);
        EXPECT_NE(own, grpc::StatusCode::UNIMPLEMENTED);
    }
    for (const char* service : {"JobService/Submit", "NodeService/List", "WorkerService/Session",
                                "RendezvousService/Exchange", "AdminService/Audit"}) {
        EXPECT_TRUE(seen.contains("/ringmaster.v1." + std::string(service))) << service;
    }
    EXPECT_TRUE(seen.contains(kReflection));
}

TEST_F(Access, ASubmitterDrainsNothing) {
    EXPECT_EQ(code(Role::submitter, "/ringmaster.v1.NodeService/Drain"),
              grpc::StatusCode::PERMISSION_DENIED);
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].method(), "/ringmaster.v1.NodeService/Drain");
    EXPECT_EQ(rows[0].reason(),
              "NodeService/Drain needs the role admin; '*' has the role submitter");
}

TEST_F(Access, AMethodNobodyHasWrittenDownIsRefusedToEverybodyAndNotRepeated) {
    EXPECT_EQ(code(Role::admin, "/made.up/Thing"), grpc::StatusCode::UNIMPLEMENTED);
    const auto rows = audit();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].method(), "unknown");
}

TEST(AccessTable, HasNoMethodTwice) {
    std::set<std::string_view> methods;
    for (const MethodAccess& access : access_table())
        EXPECT_TRUE(methods.insert(access.method).second) << access.method;
}

}  // namespace
}  // namespace rm::test
