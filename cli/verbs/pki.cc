#include "service/security/pki.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/verb.h"
#include "service/security/tokens.h"
#include "service/state_dir.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

OptionRules days_rules() {
    return {.type = "N", .check = whole_number(1, 36'500)};
}

struct PkiOptions : VerbOptions {
    std::string directory =
        add("--dir", directory, "The authority's directory", {.type = "DIR", .required = true});
};

struct PkiInitOptions : PkiOptions {
    std::string name = add("--name", name, "Its name [ringmaster]", {.type = "NAME"}, "ringmaster");
    int days = add("--days", days, "Days until it expires [3650]", days_rules(), 3650);
};

struct PkiIssueOptions : PkiOptions {
    std::string role = add("--role", role, "Role of its holder",
                           required(one_word_of("viewer|submitter|admin|worker|server")));
    std::string name = add(
        "--name", name, "Name of its holder; for a worker, its node id or a prefix followed by *",
        {.type = "NAME", .required = true});
    std::vector<std::string> subject_names =
        add("--san", subject_names,
            "A host name or address that a server answers to; may be given several times",
            {.type = "NAME"});
    int days = add("--days", days, "Days until it expires [365]", days_rules(), 365);
    std::string output = add("-o,--output", output, "Write PREFIX.crt and PREFIX.key",
                             {.type = "PREFIX", .required = true});
};

struct PkiRevokeOptions : PkiOptions {
    // A serial, or a file.
    std::string certificate =
        add("CERTIFICATE", certificate, "Its serial, or its file", {.required = true});
};

struct PkiTokenOptions : PkiOptions {
    std::string role =
        add("--role", role, "Role of its holder", required(one_word_of("viewer|submitter|admin")));
    std::string name =
        add("--name", name, "Name of its holder", {.type = "NAME", .required = true});
    // 0: until it is removed from the file.
    int days = add("--days", days, "Days until it expires [until it is removed]", days_rules());
    std::string output =
        add("-o,--output", output, "Write it to FILE, which only its owner can read [print it]",
            {.type = "FILE"});
};

constexpr double kDaySeconds = 86400;

// The files of an authority.
struct PkiDirectory {
    std::string path;

    std::string certificate() const { return path + "/ca.crt"; }
    std::string key() const { return path + "/ca.key"; }
    std::string deny_list() const { return path + "/deny-list"; }
    std::string tokens() const { return path + "/tokens.yaml"; }
    std::string issued() const { return path + "/issued"; }  // a record for people
};

WallTime in_days(WallTime now, int days) {
    return now + Seconds{days * kDaySeconds};
}

Status check_absent(const std::string& path) {
    if (!fs::exists(path)) return {};
    return make_error(ErrorCode::already_exists, "{} exists and is not overwritten", path);
}

Status make_directory(const std::string& path) {
    std::error_code failure;
    if (fs::create_directories(path, failure)) {
        fs::permissions(path, fs::perms::owner_all, failure);
    }
    if (!failure) return {};
    return make_error(ErrorCode::permission_denied, "cannot make {}: {}", path, failure.message());
}

// A daemon under another user may read the file: keep its owner and permissions.
Status append(const std::string& path, const std::string& line) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        return make_error(ErrorCode::not_found,
                          "cannot append to {}: {}; `ringmaster pki init` "
                          "makes it",
                          path, std::strerror(errno));
    }
    const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    const bool kept = written && ::fsync(fd) == 0;
    const int number = errno;
    ::close(fd);
    if (kept) return {};
    return make_error(ErrorCode::unavailable, "cannot write {}: {}", path, std::strerror(number));
}

Result<KeyPair> read_authority(const PkiDirectory& directory) {
    KeyPair pair;
    RM_TRY(pair.certificate, read_small_file(directory.certificate()));
    RM_TRY(pair.key, read_small_file(directory.key()));
    return pair;
}

// The key first: a certificate without its key is useless.
Status write_pair(const KeyPair& pair, const std::string& certificate, const std::string& key) {
    RM_RETURN_IF_ERROR(check_absent(certificate));
    RM_RETURN_IF_ERROR(check_absent(key));
    RM_RETURN_IF_ERROR(write_file_atomically(key, pair.key));
    return write_file_atomically(certificate, pair.certificate);
}

Result<CertificateOrder> order_of(const PkiIssueOptions& options) {
    CertificateOrder order{.name = options.name,
                           .role = std::nullopt,
                           .subject_names = options.subject_names,
                           .days = options.days};
    if (options.role != "server") {
        RM_TRY(order.role, parse_word<Role>(options.role));
    }
    return order;
}

// The serial given as text, or that of the certificate in the file.
Result<std::string> serial_in(const std::string& text) {
    if (!fs::exists(text)) return normal_serial(text);
    RM_TRY(const std::string pem, read_small_file(text));
    RM_TRY(const std::string serial, serial_of(pem));
    return normal_serial(serial);
}

Result<ExitCode> run_pki_init(const PkiInitOptions& options, VerbContext& context) {
    const PkiDirectory directory{options.directory};
    RM_TRY(const KeyPair authority,
           make_authority(options.name, context.clock.wall(), options.days));
    RM_RETURN_IF_ERROR(make_directory(directory.path));
    RM_RETURN_IF_ERROR(write_pair(authority, directory.certificate(), directory.key()));
    for (const std::string& list : {directory.deny_list(), directory.tokens(), directory.issued()})
        RM_RETURN_IF_ERROR(write_file_atomically(list, ""));
    context.console.out.stream << directory.certificate() << '\n' << directory.key() << '\n';
    context.console.note(format(
        "Whoever holds {} can impersonate anyone. Keep it off the controller.", directory.key()));
    return ExitCode::ok;
}

Result<ExitCode> run_pki_issue(const PkiIssueOptions& options, VerbContext& context) {
    const PkiDirectory directory{options.directory};
    RM_TRY(const CertificateOrder order, order_of(options));
    RM_TRY(const KeyPair authority, read_authority(directory));
    const WallTime now = context.clock.wall();
    RM_TRY(const KeyPair issued, issue(authority, order, now));
    RM_TRY(const std::string serial, serial_of(issued.certificate));
    const std::string certificate = options.output + ".crt";
    const std::string key = options.output + ".key";
    RM_RETURN_IF_ERROR(write_pair(issued, certificate, key));
    const std::string until = to_iso8601(in_days(now, order.days));
    RM_RETURN_IF_ERROR(append(directory.issued(), format("{} {} {} until {}\n", serial,
                                                         options.role, order.name, until)));
    context.console.out.stream << certificate << '\n' << key << '\n';
    context.console.note(
        format("serial {}, {} '{}', until {}", serial, options.role, order.name, until));
    return ExitCode::ok;
}

Result<ExitCode> run_pki_revoke(const PkiRevokeOptions& options, VerbContext& context) {
    const PkiDirectory directory{options.directory};
    RM_TRY(const std::string serial, serial_in(options.certificate));
    RM_RETURN_IF_ERROR(append(directory.deny_list(),
                              format("{}  # {}\n", serial, to_iso8601(context.clock.wall()))));
    context.console.note(
        format("{} is on {}; a controller that reads another copy needs this line too", serial,
               directory.deny_list()));
    return ExitCode::ok;
}

Result<ExitCode> run_pki_token(const PkiTokenOptions& options, VerbContext& context) {
    const PkiDirectory directory{options.directory};
    TokenFacts facts{.name = options.name, .role = Role::viewer, .expires = std::nullopt};
    RM_TRY(facts.role, parse_word<Role>(options.role));
    if (options.days > 0) facts.expires = in_days(context.clock.wall(), options.days);
    const std::string token = make_token();
    RM_TRY(const std::string line, token_line(hash_token(token), facts));
    if (!options.output.empty()) {
        RM_RETURN_IF_ERROR(check_absent(options.output));
        RM_RETURN_IF_ERROR(write_file_atomically(options.output, token + "\n"));
    }
    RM_RETURN_IF_ERROR(append(directory.tokens(), line));
    if (!options.output.empty()) {
        context.console.out.stream << options.output << '\n';
        return ExitCode::ok;
    }
    context.console.out.stream << token << '\n';
    context.console.note(
        "Store it in a file only its owner can read (-o FILE writes one); it will not be shown "
        "again.");
    return ExitCode::ok;
}

}  // namespace

Verb pki_verb() {
    return {
        "pki",
        "Make certificates and tokens, as files (docs/security.md)",
        nullptr,
        {verb_of("init", "Make a certificate authority", run_pki_init,
                 {{"ringmaster pki init --dir pki", "ca.crt, ca.key"}}),
         verb_of("issue", "Issue a certificate", run_pki_issue,
                 {{"ringmaster pki issue --dir pki --role server --name controller --san "
                   "controller.lab -o c",
                   ""},
                  {"ringmaster pki issue --dir pki --role worker --name lab-* -o worker", ""}}),
         verb_of("revoke", "Put a certificate on the deny list", run_pki_revoke,
                 {{"ringmaster pki revoke --dir pki alice.crt", "sessions end within seconds"}}),
         verb_of(
             "token", "Make a token: print it once, keep its hash", run_pki_token,
             {{"ringmaster pki token --dir pki --role viewer --name vera -o vera.token", ""}})}};
}

}  // namespace rm
