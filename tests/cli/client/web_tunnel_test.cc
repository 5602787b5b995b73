#include "cli/client/web_tunnel.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "service/http/event_feed.h"
#include "service/http/http_server.h"
#include "service/security/tokens.h"
#include "tests/support/raw_http.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using test::RawHttp;

// A controller that says which credential a request has, and the tunnel to it.
struct Tunnelled {
    TempDir directory;
    const std::string token = make_token();
    EventFeed feed{"f"};
    std::unique_ptr<HttpServer> controller =
        HttpServer::start("127.0.0.1:0", [this](auto& request) { return answer(request); }).value();
    std::unique_ptr<WebTunnel> tunnel;

    Tunnelled() {
        directory.write("token", token + "\n");
        ::chmod(directory.file("token").c_str(), 0600);
        tunnel = WebTunnel::start(0, {"127.0.0.1", controller->port()},
                                  {.token_file = directory.file("token")})
                     .value();
    }

    HttpResponse answer(const HttpRequest& request) {
        if (request.path == "/stream") return {.feed = &feed};
        return {.body = format("{} {} {} '{}'", request.method, request.path, request.authorization,
                               request.cookie)};
    }
    std::string at(const std::string& path, const std::string& headers = "") const {
        RawHttp http(format("127.0.0.1:{}", tunnel->port()));
        http.get(path, headers);
        return http.read_all();
    }
    std::string cookie() const {
        const std::string secret = tunnel->address().substr(tunnel->address().find('?') + 1);
        return "Cookie: ringmaster-web=" + secret + "\r\n";
    }
};

TEST(WebTunnel, OpensItsAddressForACookieThatNoScriptReads) {
    const Tunnelled tunnelled;
    const std::string address = tunnelled.tunnel->address();
    const std::string opened = tunnelled.at(address.substr(address.find("/open")));
    EXPECT_TRUE(opened.starts_with("HTTP/1.1 303")) << opened;
    EXPECT_NE(opened.find("Location: /\r\n"), std::string::npos);
    EXPECT_NE(opened.find("Path=/; HttpOnly; SameSite=Strict"), std::string::npos) << opened;
}

TEST(WebTunnel, PassesARequestOnWithTheTokenAndWithoutTheCookie) {
    const Tunnelled tunnelled;
    const std::string answer =
        tunnelled.at("/runs", tunnelled.cookie() + "Authorization: Bearer other\r\n");
    EXPECT_TRUE(answer.ends_with(format("GET /runs Bearer {} ''", tunnelled.token))) << answer;
}

TEST(WebTunnel, RefusesThoseWhoDoNotHaveTheSecret) {
    const Tunnelled tunnelled;
    for (const std::string& headers :
         {std::string(), "Cookie: ringmaster-web=" + make_token() + "\r\n"}) {
        const std::string answer = tunnelled.at("/", headers);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 403")) << answer;
        EXPECT_EQ(answer.find(tunnelled.token), std::string::npos);
    }
    EXPECT_TRUE(tunnelled.at("/open?" + make_token()).starts_with("HTTP/1.1 403"));
}

TEST(WebTunnel, PassesAStreamAsItComesAndEndsWithIt) {
    Tunnelled tunnelled;
    RawHttp page(format("127.0.0.1:{}", tunnelled.tunnel->port()));
    page.get("/stream", tunnelled.cookie());
    EXPECT_NE(page.read_to("event: reset"), "");
    tunnelled.feed.publish("step", "{}");
    EXPECT_NE(page.read_to("event: step").find("id: f.1"), std::string::npos);
    tunnelled.tunnel.reset();
    page.read_all();
}

TEST(WebTunnel, SaysThatNoControllerIsThere) {
    const auto tunnel = WebTunnel::start(0, {"127.0.0.1", 1}, {});
    ASSERT_FALSE(tunnel);
    EXPECT_NE(tunnel.error().message.find("connecting to 127.0.0.1:1"), std::string::npos)
        << tunnel.error().message;
}

}  // namespace
}  // namespace rm
