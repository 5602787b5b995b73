#include "service/security/grpc_auth.h"

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/security/auth_context.h>

#include "service/grpc/grpc_util.h"

namespace rm {
namespace {

constexpr const char* kAuthorization = "authorization";
constexpr const char* kPath = ":path";
constexpr std::size_t kMaxArguments = 300;

std::string text_of(grpc::string_ref text) {
    return {text.data(), text.size()};
}

template <typename Metadata>
std::string find_in(const Metadata& metadata, const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? "" : text_of(found->second);
}

std::string property_of(const grpc::AuthContext& context, const char* name) {
    const auto values = context.FindPropertyValues(name);
    return values.empty() ? "" : text_of(values.front());
}

class Processor final : public grpc::AuthMetadataProcessor {
public:
    Processor(const Gatekeeper& gatekeeper, CallTransport transport, std::string peer)
        : gatekeeper_(gatekeeper), transport_(transport), peer_(std::move(peer)) {}

    // Checking a signature takes a tenth of a millisecond, so it needs no thread of its own.
    bool IsBlocking() const override { return false; }

    grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata*,
                         OutputMetadata*) override {
        const Presented presented{transport_,
                                  property_of(*context, GRPC_X509_PEM_CERT_PROPERTY_NAME),
                                  find_in(metadata, kAuthorization)};
        const std::string method = find_in(metadata, kPath);
        const auto principal = gatekeeper_.admit(presented, {method, peer_});
        return principal ? grpc::Status::OK : to_grpc(principal.error());
    }

private:
    const Gatekeeper& gatekeeper_;
    const CallTransport transport_;
    const std::string peer_;
};

// The first of the fields that say what a message is about.
std::string subject_of(const google::protobuf::Message& message) {
    for (const char* name : {"job_id", "node_id", "id"}) {
        const auto* field = message.GetDescriptor()->FindFieldByName(name);
        if (field == nullptr || field->is_repeated() ||
            field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
            continue;
        }
        if (std::string id = message.GetReflection()->GetString(message, field); !id.empty()) {
            return id;
        }
    }
    return "";
}

// A request's words besides its subject, as in: now: true, reason: "fan". The files in it are in
// the job that it makes.
std::string arguments_of(const google::protobuf::Message& message) {
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    std::string text;
    for (const auto* field : fields) {
        const std::string& name = field->name();
        const bool is_known = name == "job_id" || name == "node_id" || name == "request_id";
        const bool is_large =
            field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE ||
            field->is_repeated();
        if (is_known || is_large) continue;
        std::string value;
        google::protobuf::TextFormat::PrintFieldValueToString(message, field, -1, &value);
        text += format("{}{}: {}", text.empty() ? "" : ", ", name, value);
    }
    if (text.size() > kMaxArguments) text.resize(kMaxArguments);
    return text;
}

using grpc::experimental::InterceptionHookPoints;

class Auditor final : public grpc::experimental::Interceptor {
public:
    Auditor(const Gatekeeper& gatekeeper, grpc::experimental::ServerRpcInfo& call)
        : gatekeeper_(gatekeeper), call_(call) {}

    void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
        if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
            begun();
            about(methods->GetRecvMessage());
            asked(methods->GetRecvMessage());
        }
        if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
            about(methods->GetSendMessage());
        }
        if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
            ended(methods->GetSendStatus());
        }
        methods->Proceed();
    }

private:
    // Asks now: once the caller has gone, the call has no address.
    void begun() {
        peer_ = call_.server_context()->peer();
        presented_ = presented_by(*call_.server_context());
    }

    // gRPC hands over a generated message as void*; Message is its only and first base.
    void about(const void* message) {
        if (message == nullptr) return;
        const std::string subject =
            subject_of(*static_cast<const google::protobuf::Message*>(message));
        if (!subject.empty()) subject_ = subject;
    }

    void asked(const void* message) {
        if (message == nullptr) return;
        arguments_ = arguments_of(*static_cast<const google::protobuf::Message*>(message));
    }

    void ended(const grpc::Status& status) {
        gatekeeper_.ended(presented_, {call_.method(), peer_, arguments_, since_begin_}, subject_,
                          status.ok() ? Status() : Status(from_grpc(status)));
    }

    const Gatekeeper& gatekeeper_;
    grpc::experimental::ServerRpcInfo& call_;
    Presented presented_;
    std::string peer_;
    std::string subject_;
    std::string arguments_;
    const Stopwatch since_begin_;
};

// For calls without an audit row, whose messages may be of any kind.
class CallEnd final : public grpc::experimental::Interceptor {
public:
    CallEnd(const Gatekeeper& gatekeeper, grpc::experimental::ServerRpcInfo& call)
        : gatekeeper_(gatekeeper), call_(call) {}

    void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
        if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
            const grpc::Status status = methods->GetSendStatus();
            gatekeeper_.ended({},
                              {.method = call_.method(), .peer = {}, .since_begin = since_begin_},
                              "", status.ok() ? Status() : Status(from_grpc(status)));
        }
        methods->Proceed();
    }

private:
    const Gatekeeper& gatekeeper_;
    grpc::experimental::ServerRpcInfo& call_;
    const Stopwatch since_begin_;
};

class AuditorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
public:
    explicit AuditorFactory(const Gatekeeper& gatekeeper) : gatekeeper_(gatekeeper) {}

    // gRPC owns the interceptor.
    grpc::experimental::Interceptor* CreateServerInterceptor(
        grpc::experimental::ServerRpcInfo* call) override {
        const MethodAccess* access = gatekeeper_.access(call->method());
        if (access == nullptr || !access->changes)
            return std::make_unique<CallEnd>(gatekeeper_, *call).release();
        return std::make_unique<Auditor>(gatekeeper_, *call).release();
    }

private:
    const Gatekeeper& gatekeeper_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> make_auth_processor(const Gatekeeper& gatekeeper,
                                                                 CallTransport transport,
                                                                 std::string peer) {
    return std::make_shared<Processor>(gatekeeper, transport, std::move(peer));
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> make_audit_interceptor(
    const Gatekeeper& gatekeeper) {
    return std::make_unique<AuditorFactory>(gatekeeper);
}

Presented presented_by(const grpc::ServerContextBase& context) {
    const auto properties = context.auth_context();
    const bool tls = property_of(*properties, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME) ==
                     GRPC_SSL_TRANSPORT_SECURITY_TYPE;
    const bool on_unix = context.peer().starts_with("unix:");
    return {tls       ? CallTransport::tls
            : on_unix ? CallTransport::unix_socket
                      : CallTransport::loopback,
            property_of(*properties, GRPC_X509_PEM_CERT_PROPERTY_NAME),
            find_in(context.client_metadata(), kAuthorization)};
}

}  // namespace rm
