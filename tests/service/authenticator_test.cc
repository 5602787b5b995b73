#include "service/security/authenticator.h"

#include <gtest/gtest.h>

#include "service/security/gatekeeper.h"
#include "service/security/pki.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

struct AuthenticatorTest : testing::Test {
    TempDir directory;
    ManualClock clock;
    const KeyPair authority = make_authority("test", clock.wall(), 10).value();

    AuthenticatorTest() {
        directory.write("ca", authority.certificate);
        directory.write("denied", "");
        directory.write("tokens", "");
    }
    std::unique_ptr<Authenticator> open(const AuthenticatorFiles& files) {
        auto opened = Authenticator::open(files);
        RM_CHECK(opened.ok(), "{}", opened.error().message);
        return *std::move(opened);
    }
    std::unique_ptr<Authenticator> open_all() {
        return open({directory / "ca", directory / "denied", directory / "tokens"});
    }
    std::string certificate(const std::string& name, Role role) {
        return issue(authority, {.name = name, .role = role, .days = 1}, clock.wall())
            .value()
            .certificate;
    }
    // "Bearer ..." of a new token.
    std::string bearer(const std::string& name, Role role,
                       std::optional<WallTime> expires = std::nullopt) {
        const std::string token = make_token();
        const std::string known = read_small_file(directory / "tokens").value();
        directory.write("tokens",
                        known + token_line(hash_token(token), {name, role, expires}).value());
        return "Bearer " + token;
    }
};

TEST_F(AuthenticatorTest, NamesThePrincipalOfATokenAndOfACertificate) {
    const auto all = open_all();
    const auto token = all->identify({.authorization = bearer("bob", Role::admin)}, clock.wall());
    ASSERT_TRUE(token) << token.error().message;
    EXPECT_EQ(token->name, "bob");
    EXPECT_EQ(token->role, Role::admin);
    EXPECT_EQ(token->credential, "token");
    const std::string pem = certificate("n1", Role::worker);
    const auto worker = all->identify({.certificate = pem}, clock.wall());
    ASSERT_TRUE(worker) << worker.error().message;
    EXPECT_EQ(worker->role, Role::worker);
    EXPECT_EQ(worker->credential, "certificate " + serial_of(pem).value());
}

TEST_F(AuthenticatorTest, JudgesAWrongCredentialAlsoWhereNoneIsNeeded) {
    const auto all = open_all();
    const Presented wrong{.transport = CallTransport::unix_socket, .authorization = "Bearer x"};
    EXPECT_EQ(all->identify(wrong, clock.wall()).error().message, "the token is not known");
    const Presented basic{.transport = CallTransport::unix_socket, .authorization = "Basic x"};
    EXPECT_FALSE(all->identify(basic, clock.wall()));
}

TEST_F(AuthenticatorTest, LoopbackIsTheAdministratorUntilThereAreTokens) {
    const Presented nothing{.transport = CallTransport::loopback};
    EXPECT_EQ(open({})->identify(nothing, clock.wall())->role, Role::admin);
    EXPECT_FALSE(open_all()->identify(nothing, clock.wall()));
    EXPECT_EQ(open_all()->identify({.transport = CallTransport::unix_socket}, clock.wall())->role,
              Role::admin);
    EXPECT_FALSE(open({})->identify({.transport = CallTransport::tls}, clock.wall()));
}

TEST_F(AuthenticatorTest, ATokenEndsAtItsTime) {
    const auto all = open_all();
    const Presented token{.authorization =
                              bearer("bob", Role::viewer, clock.wall() + Seconds{100})};
    EXPECT_TRUE(all->identify(token, clock.wall()));
    clock.advance(Seconds{101});
    EXPECT_FALSE(all->identify(token, clock.wall()));
}

TEST_F(AuthenticatorTest, RevokedSerialsAreReadInAnyCaseAndWithLeadingZeros) {
    const auto all = open_all();
    const std::string pem = certificate("alice", Role::viewer);
    std::string serial = serial_of(pem).value();
    for (char& c : serial)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    directory.write("denied", "  00" + serial + "  # alice\n");
    EXPECT_NE(all->identify({.certificate = pem}, clock.wall()).error().message.find("is revoked"),
              std::string::npos);
}

TEST_F(AuthenticatorTest, AListThatCannotBeReadLetsNobodyIn) {
    const auto all = open_all();
    const std::string token = bearer("bob", Role::viewer);
    const std::string pem = certificate("alice", Role::viewer);
    std::filesystem::remove(directory / "denied");
    EXPECT_FALSE(all->identify({.certificate = pem}, clock.wall()));
    EXPECT_TRUE(all->identify({.authorization = token}, clock.wall())) << "another list";
    directory.write("tokens", "- {name: x}\n");
    EXPECT_FALSE(all->identify({.authorization = token}, clock.wall()));
}

TEST_F(AuthenticatorTest, MistakesInFilesShowAtTheStart) {
    EXPECT_FALSE(Authenticator::open({.client_ca = directory / "tokens"}));
    EXPECT_FALSE(Authenticator::open({.deny_list = directory / "none"}));
    directory.write("bad", "- {name: x, role: king, sha256: 00}\n");
    EXPECT_NE(Authenticator::open({.tokens = directory / "bad"}).error().message.find("'king'"),
              std::string::npos);
}

TEST(Tokens, AreLongRandomAndKeptAsTheirHash) {
    const std::string token = make_token();
    EXPECT_EQ(token.size(), 67u);
    EXPECT_NE(token, make_token());
    // SHA-256 of "abc", FIPS 180-2.
    EXPECT_EQ(hash_token("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const std::string line =
        token_line(hash_token(token), {"o'neil", Role::viewer, WallTime{0}}).value();
    EXPECT_EQ(line.find(token), std::string::npos);
    const auto parsed = parse_tokens(line, "t").value();
    EXPECT_EQ(parsed.at(hash_token(token)).name, "o'neil");
    EXPECT_EQ(parsed.at(hash_token(token)).expires, WallTime{0});
    EXPECT_FALSE(token_line("", {"a\"b", Role::viewer, {}}));
    EXPECT_FALSE(token_line("", {"default", Role::viewer, {}})) << "the owner of local jobs";
    const std::string smuggled =
        format("- {{name: default, role: viewer, sha256: \"{}\"}}\n", hash_token(make_token()));
    EXPECT_FALSE(parse_tokens(smuggled, "t"));
}

TEST(Roles, IncludeWhatIsBelowThemAndWorkersStandApart) {
    EXPECT_TRUE(includes(Role::submitter, Role::viewer));
    EXPECT_FALSE(includes(Role::viewer, Role::submitter));
    EXPECT_FALSE(includes(Role::submitter, Role::admin));
    EXPECT_FALSE(includes(Role::worker, Role::viewer));
    EXPECT_FALSE(includes(Role::submitter, Role::worker));
    EXPECT_TRUE(includes(Role::admin, Role::worker));
}

TEST(Workers, SpeakForTheNodeTheirCertificateNames) {
    EXPECT_TRUE(speaks_for("n1", "n1"));
    EXPECT_FALSE(speaks_for("n1", "n10"));
    EXPECT_FALSE(speaks_for("n1", ""));
    EXPECT_TRUE(speaks_for("rack1-*", "rack1-7"));
    EXPECT_FALSE(speaks_for("rack1-*", "rack10-7"));
    EXPECT_TRUE(speaks_for("*", "anything"));
}

}  // namespace
}  // namespace rm
