#include "controller/http/static_page.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace rm {
namespace {

constexpr std::string_view kIndex = "/index.html";
// The first part of the page's own places (dashboards/web/src/router.ts).
constexpr std::array<std::string_view, 5> kPlaces = {"", "runs", "compare", "cluster", "history"};

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool is_place(std::string_view path) {
    const std::string_view first = path.substr(1, path.find('/', 1) - 1);
    return std::find(kPlaces.begin(), kPlaces.end(), first) != kPlaces.end();
}

const PageFile* find_file(std::string_view path, std::span<const PageFile> files) {
    if (!path.starts_with('/')) return nullptr;
    const std::string_view wanted = is_place(path) ? kIndex : path;
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const PageFile& file) { return file.path == wanted; });
    return found == files.end() ? nullptr : &*found;
}

bool takes_gzip(std::string_view accepted) {
    return accepted.find("gzip") != accepted.npos || accepted.find('*') != accepted.npos;
}

HttpResponse with_headers(HttpResponse response, const PageFile& file) {
    response.cache_control = file.hashed ? "public, max-age=31536000, immutable" : "no-cache";
    response.headers = {{"ETag", std::string(file.etag)},
                        {"Vary", "Accept-Encoding"},
                        {"Content-Security-Policy", std::string(kPolicy)},
                        {"Cross-Origin-Opener-Policy", "same-origin"}};
    return response;
}

}  // namespace

std::optional<HttpResponse> static_page(const HttpRequest& request,
                                        std::span<const PageFile> files) {
    const PageFile* file = find_file(request.path, files);
    if (file == nullptr) return std::nullopt;
    if (request.method != "GET") {
        return HttpResponse{.status = 405,
                            .body = request.method + " is not allowed here; only GET\n"};
    }
    if (request.if_none_match.find(file->etag) != std::string::npos)
        return with_headers({.status = 304}, *file);
    if (!takes_gzip(request.accept_encoding)) {
        return HttpResponse{.status = 406,
                            .body = request.path +
                                    " is kept compressed; send Accept-Encoding: gzip, as "
                                    "curl --compressed does\n"};
    }
    HttpResponse response{.content_type = std::string(file->content_type),
                          .body = std::string(file->gzip)};
    response = with_headers(std::move(response), *file);
    response.headers.emplace_back("Content-Encoding", "gzip");
    return response;
}

}  // namespace rm
