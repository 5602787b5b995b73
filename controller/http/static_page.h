#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "service/http/http_server.h"

namespace rm {

// A file of the built-in page, compressed when this program was built.
struct PageFile {
    std::string_view path;  // of the URL
    std::string_view content_type;
    std::string_view etag;  // with its quotes
    std::string_view gzip;
    bool hashed = false;  // the path names the contents: they never change
};

// The files of dashboards/web in this program (cmake/pack_page.py).
std::span<const PageFile> page_files();

// Serves the files to every caller: they hold no secret, and the page asks the API with the
// caller's credential. /runs/ID and the page's other places are its index.html. Nothing: not a
// path of the page.
std::optional<HttpResponse> static_page(const HttpRequest& request,
                                        std::span<const PageFile> files);

}  // namespace rm
