#include "service/address.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(Address, HostAndPortAreToldApart) {
    EXPECT_EQ(*parse_host_port("127.0.0.1:7070"), (HostPort{"127.0.0.1", 7070}));
    EXPECT_EQ(*parse_host_port("localhost:0"), (HostPort{"localhost", 0}));
    EXPECT_EQ(*parse_host_port("[::1]:65535"), (HostPort{"::1", 65535}));
    EXPECT_EQ(to_string(HostPort{"::1", 1}), "[::1]:1");
    EXPECT_EQ(to_string(HostPort{"127.0.0.1", 1}), "127.0.0.1:1");
}

TEST(Address, WhatIsNotHostAndPortIsRefused) {
    for (const std::string_view bad :
         {"", ":", ":1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
          "127.0.0.1:-1", "127.0.0.1:1 ", "::1:7070", "[::1]", "[::1]7070", "[]:1", "[::1:1"}) {
        EXPECT_FALSE(parse_host_port(bad)) << bad;
    }
}

TEST(Address, LoopbackIsTheOnlyNetworkForPlainText) {
    EXPECT_EQ(parse_loopback("localhost:1")->host, "127.0.0.1");
    EXPECT_TRUE(check_address("127.0.0.1:7070"));
    EXPECT_TRUE(check_address("127.8.9.10:0"));
    EXPECT_TRUE(check_address("[::1]:7070"));
    for (const std::string_view bad :
         {"0.0.0.0:7070", "10.0.0.1:7070", "[::]:7070", "example.org:7070",
          "127.0.0.1.example.org:1", "128.0.0.1:1"}) {
        EXPECT_FALSE(check_address(bad)) << bad;
    }
    EXPECT_EQ(check_address("10.0.0.1:7070").error().message,
              "'10.0.0.1:7070' is not a loopback address, so TLS is required: give the certificate "
              "files (docs/security.md), or use 127.0.0.1:7070 or a Unix socket");
}

TEST(Address, TlsGoesAnywhereButToUnixSockets) {
    for (const std::string_view good :
         {"127.0.0.1:7070", "10.0.0.1:7070", "controller.lab:7070", "[fd00::1]:7070"}) {
        EXPECT_TRUE(check_address(good, Wire::tls)) << good;
    }
    EXPECT_FALSE(check_address("unix:/run/c.sock", Wire::tls));
    EXPECT_FALSE(check_address("controller.lab", Wire::tls));
}

TEST(Address, ListenersAreNumericAndLoopbackWithoutTls) {
    EXPECT_EQ(*parse_listener("0.0.0.0:7070", Wire::tls), (HostPort{"0.0.0.0", 7070}));
    EXPECT_EQ(parse_listener("localhost:1", Wire::tls)->host, "127.0.0.1");
    EXPECT_EQ(parse_listener("[::]:1", Wire::tls)->host, "::");
    EXPECT_FALSE(parse_listener("controller.lab:7070", Wire::tls));
    EXPECT_FALSE(parse_listener("0.0.0.0:7070", Wire::plain));
}

TEST(Address, UnixSocketsNeedAnAbsolutePathThatFits) {
    EXPECT_TRUE(check_address("unix:/run/ringmaster/controller.sock"));
    EXPECT_TRUE(check_address("unix:/" + std::string(106, 'x')));
    EXPECT_FALSE(check_address("unix:/" + std::string(107, 'x')));
    EXPECT_FALSE(check_address("unix:relative"));
    EXPECT_FALSE(check_address("unix:"));
}

}  // namespace
}  // namespace rm
