#include "tests/worker/http_get.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <utility>

namespace rm {

std::string http_get(const std::string& host_port, const std::string& path) {
    namespace http = boost::beast::http;
    const std::size_t colon = host_port.rfind(':');
    const std::string host = host_port.substr(0, colon);
    boost::asio::io_context context;
    boost::beast::tcp_stream stream(context);
    boost::system::error_code failed;
    stream.connect({boost::asio::ip::make_address(host),
                    static_cast<unsigned short>(std::stoi(host_port.substr(colon + 1)))},
                   failed);
    if (failed) return {};
    http::request<http::empty_body> request(http::verb::get, path, 11);
    request.set(http::field::host, host_port);
    http::write(stream, request, failed);
    boost::beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::read(stream, buffer, response, failed);
    return !failed && response.result() == http::status::ok ? response.body() : std::string();
}

}  // namespace rm
