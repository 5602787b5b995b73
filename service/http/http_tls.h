#pragma once

#include <boost/asio/ssl/context.hpp>

#include <string>
#include <string_view>

#include "service/security/pki.h"

// TLS of the HTTP server; only its sources include this.
namespace rm {

// TLS 1.3 only. Asks clients for a certificate and accepts any: the handler judges it.
Result<boost::asio::ssl::context> http_tls(const KeyPair& own);

// Whether the context's own certificate is for this host name or address.
bool names(boost::asio::ssl::context& context, std::string_view host);

// The peer's certificate in PEM; empty: none.
std::string peer_certificate(SSL* connection);

}  // namespace rm
