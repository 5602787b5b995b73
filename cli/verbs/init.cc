#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "cli/client/target.h"
#include "cli/verb.h"
#include "service/security/pki.h"
#include "service/state_dir.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

struct InitOptions : VerbOptions {
    std::string name = add("--name", name, "Name of the cluster: of its CA and of the context",
                           {.type = "NAME", .required = true});
    std::vector<std::string> hosts =
        add("--san", hosts,
            "A host name or address at which workers and users reach the controller, the first "
            "one in what is printed; may be given several times",
            {.type = "HOST", .required = true});
    std::string config = add("--config-dir", config, "Directory to write to [/etc/ringmaster]",
                             {.type = "DIR"}, "/etc/ringmaster");
    std::string state =
        add("--state", state, "The controller's state directory [/var/lib/ringmaster]",
            {.type = "DIR"}, "/var/lib/ringmaster");
    std::string user =
        add("--user", user, "The controller's user [ringmaster]", {.type = "USER"}, "ringmaster");
};

constexpr int kAuthorityDays = 3650;
constexpr int kLeafDays = 1825;
constexpr int kPort = 7070;

// The user whom the controller runs as.
struct Owner {
    uid_t user = 0;
    gid_t group = 0;
};

Result<Owner> find_owner(const std::string& name) {
    const passwd* found = ::getpwnam(name.c_str());
    if (found == nullptr) {
        return make_error(ErrorCode::not_found,
                          "this machine has no user '{}': the package makes it; or give the "
                          "controller's user with --user",
                          name);
    }
    if (::geteuid() == 0 || ::geteuid() == found->pw_uid)
        return Owner{found->pw_uid, found->pw_gid};
    return make_error(ErrorCode::permission_denied,
                      "only root can give files to the user '{}': run it as root, or give yourself "
                      "with --user",
                      name);
}

// The readers of a file that the admin owns: no others, the controller too, or all.
enum class Readers { owner, controller, all };

// Makes what is missing below one directory, and knows whether that was anything.
class Setup {
public:
    Setup(const InitOptions& options, Owner owner, WallTime now)
        : options_(options), owner_(owner), now_(now) {}

    Status run(const std::string& cli_config) {
        RM_RETURN_IF_ERROR(directory(options_.config, 0755));
        RM_RETURN_IF_ERROR(directory(in("pki"), 0700));
        RM_RETURN_IF_ERROR(authorities());
        RM_RETURN_IF_ERROR(leaves());
        RM_RETURN_IF_ERROR(lists());
        RM_RETURN_IF_ERROR(once(in("controller.yaml"), Readers::all, [this] { return yaml(); }));
        RM_RETURN_IF_ERROR(state_directory());
        return context(cli_config);
    }

    const std::vector<std::string>& made() const { return made_; }
    std::string in(const std::string& name) const { return options_.config + "/" + name; }
    std::string address() const { return to_string(HostPort{options_.hosts.front(), kPort}); }

private:
    using Text = std::function<Result<std::string>()>;

    Status directory(const std::string& path, mode_t mode) {
        std::error_code failure;
        if (!fs::create_directories(path, failure) && !failure) return {};
        if (!failure && ::chmod(path.c_str(), mode) == 0) return made_.push_back(path), Status();
        return make_error(ErrorCode::permission_denied, "cannot make {}: {}", path,
                          failure.message());
    }

    Status give(const std::string& path, Readers readers) const {
        constexpr mode_t kModes[] = {0600, 0640, 0644};
        const bool own = ::geteuid() == owner_.user;
        const mode_t mode = own && readers == Readers::controller
                                ? 0600
                                : kModes[static_cast<std::size_t>(readers)];
        const gid_t group = readers == Readers::controller ? owner_.group : ::getegid();
        if (::chown(path.c_str(), ::geteuid(), group) == 0 && ::chmod(path.c_str(), mode) == 0)
            return {};
        return make_error(ErrorCode::permission_denied, "cannot change the mode of {}", path);
    }

    Status write(const std::string& path, Readers readers, const std::string& text) {
        RM_RETURN_IF_ERROR(write_file_atomically(path, text));
        made_.push_back(path);
        return give(path, readers);
    }

    Status once(const std::string& path, Readers readers, const Text& text) {
        if (fs::exists(path)) return {};
        RM_TRY(const std::string made, text());
        return write(path, readers, made);
    }

    // The key first: a certificate shows that both are there.
    Status pair(const std::string& stem, Readers readers,
                const std::function<Result<KeyPair>()>& make, const std::string& behind = "") {
        if (fs::exists(stem + ".crt")) return {};
        RM_TRY(const KeyPair made, make());
        RM_RETURN_IF_ERROR(write(stem + ".key", readers, made.key));
        return write(stem + ".crt", Readers::all, made.certificate + behind);
    }

    Result<KeyPair> authority() const { return read_key_pair(in("pki/ca.crt"), in("pki/ca.key")); }

    Status authorities() {
        RM_RETURN_IF_ERROR(pair(in("pki/ca"), Readers::owner, [this] {
            return make_authority(options_.name, now_, kAuthorityDays);
        }));
        RM_RETURN_IF_ERROR(
            once(in("ca.crt"), Readers::all, [this] { return read_small_file(in("pki/ca.crt")); }));
        return pair(in("nodes"), Readers::controller, [this]() -> Result<KeyPair> {
            RM_TRY(const KeyPair ca, authority());
            return make_node_authority(ca, options_.name + " nodes", now_, kAuthorityDays);
        });
    }

    Result<KeyPair> leaf(const CertificateOrder& order) const {
        RM_TRY(const KeyPair ca, authority());
        return issue(ca, order, now_);
    }

    Status leaves() {
        // A worker that joins finds the authority behind the controller's certificate.
        RM_TRY(const std::string ca, read_small_file(in("ca.crt")));
        RM_RETURN_IF_ERROR(pair(
            in("controller"), Readers::controller,
            [this] {
                return leaf(
                    {options_.name + " controller", std::nullopt, options_.hosts, kLeafDays});
            },
            ca));
        return pair(in("admin"), Readers::owner, [this] {
            return leaf({"admin", Role::admin, {}, kLeafDays});
        });
    }

    // `ringmaster pki --dir CONFIG/pki` finds and changes the files that the controller reads.
    Status lists() {
        const Text nothing = [] { return Result<std::string>(std::string()); };
        for (const char* name : {"deny-list", "tokens.yaml"}) {
            RM_RETURN_IF_ERROR(once(in(name), Readers::controller, nothing));
            std::error_code there;
            fs::create_symlink(format("../{}", name), in(format("pki/{}", name)), there);
        }
        return once(in("pki/issued"), Readers::owner, nothing);
    }

    std::string yaml() const {
        return format(
            "# Made by `ringmaster init`: the flags of ringmaster-controller, without their --.\n"
            "state: \"{}\"\n"
            "listen: [\"0.0.0.0:{}\"]\n"
            "http: \"0.0.0.0:7071\"\n"
            "tls-cert: \"{}\"\n"
            "tls-key: \"{}\"\n"
            "client-ca: \"{}\"\n"
            "deny-list: \"{}\"\n"
            "tokens: \"{}\"\n"
            "node-authority: \"{}\"\n"
            "node-authority-key: \"{}\"\n",
            options_.state, kPort, in("controller.crt"), in("controller.key"), in("ca.crt"),
            in("deny-list"), in("tokens.yaml"), in("nodes.crt"), in("nodes.key"));
    }

    Status state_directory() {
        const std::size_t before = made_.size();
        RM_RETURN_IF_ERROR(directory(options_.state, 0700));
        if (made_.size() == before) return {};
        if (::chown(options_.state.c_str(), owner_.user, owner_.group) == 0) return {};
        return make_error(ErrorCode::permission_denied, "cannot give {} to the user '{}'",
                          options_.state, options_.user);
    }

    // A file that is there keeps its contexts; the caller adds this one.
    Status context(const std::string& path) {
        if (fs::exists(path)) return {};
        RM_RETURN_IF_ERROR(directory(fs::path(path).parent_path().string(), 0700));
        return write(path, Readers::owner,
                     format("current: \"{}\"\ncontexts:\n  \"{}\": {}\n", options_.name,
                            options_.name, target()));
    }

    std::string target() const {
        return format("{{address: \"{}\", ca: \"{}\", cert: \"{}\", key: \"{}\"}}", address(),
                      in("ca.crt"), in("admin.crt"), in("admin.key"));
    }

    const InitOptions& options_;
    const Owner owner_;
    const WallTime now_;
    std::vector<std::string> made_;
};

// Paths in files must not depend on where this command runs.
Status check_absolute(const InitOptions& options) {
    for (const std::string& path : {options.config, options.state}) {
        const bool plain = path.find_first_of("\"\\\n") == path.npos;
        if (!path.starts_with('/') || !plain)
            return invalid_argument("'{}' must be an absolute path without quotes", path);
    }
    return {};
}

Result<ExitCode> run_init(const InitOptions& options, VerbContext& context) {
    if (const Status paths = check_absolute(options); !paths)
        return complain(context.console, paths.error(), ExitCode::usage);
    RM_TRY(const Owner owner, find_owner(options.user));
    Setup setup(options, owner, context.clock.wall());
    const std::string cli_config =
        user_dir(environment_lookup, "XDG_CONFIG_HOME", ".config") + "/config.yaml";
    const bool had_contexts = fs::exists(cli_config);
    RM_RETURN_IF_ERROR(setup.run(cli_config));
    for (const std::string& path : setup.made())
        context.console.note(format("made {}", path));
    if (setup.made().empty()) context.console.note("everything is there: nothing was changed");
    if (had_contexts && !setup.made().empty()) {
        context.console.note(
            format("{} was there and is unchanged; --address {} --ca {} --cert {} "
                   "--key {} reach the controller",
                   cli_config, setup.address(), setup.in("ca.crt"), setup.in("admin.crt"),
                   setup.in("admin.key")));
    }
    RM_TRY(const std::string ca, read_small_file(setup.in("ca.crt")));
    RM_TRY(const std::string fingerprint, fingerprint_of(ca));
    context.console.note(format(
        "Start the controller (ringmaster-controller --config {}), make a token on this machine "
        "(`ringmaster token create --role join -o FILE`), and start on each machine:",
        setup.in("controller.yaml")));
    context.console.out.stream << format(
        "ringmaster-worker --state /var/lib/ringmaster-worker --controller {} --join-token FILE "
        "--ca-fingerprint {}\n",
        setup.address(), fingerprint);
    return ExitCode::ok;
}

}  // namespace

Verb init_verb() {
    return verb_of("init", "Make the CA, the credentials and the configuration of a new controller",
                   run_init,
                   {{"ringmaster init --name lab --san controller.lab --san 10.0.0.5",
                     "once, as root, on the controller's machine"}});
}

}  // namespace rm
