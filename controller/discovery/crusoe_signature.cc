#include "controller/discovery/crusoe_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <vector>

#include "base/usize.h"

namespace rm {
namespace {

constexpr std::string_view kUnreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

std::string encode(std::string_view text) {
    std::string encoded;
    for (const char c : text) {
        if (kUnreserved.find(c) != kUnreserved.npos) {
            encoded += c;
        } else if (c == ' ') {
            encoded += '+';
        } else {
            constexpr std::string_view kDigits = "0123456789ABCDEF";
            const auto byte = static_cast<unsigned char>(c);
            encoded += '%';
            encoded += kDigits[byte >> 4];
            encoded += kDigits[byte & 15];
        }
    }
    return encoded;
}

// OpenSSL knows base64 with +, / and padding.
Result<std::vector<unsigned char>> decode(std::string text) {
    while (text.ends_with('='))
        text.pop_back();
    const std::size_t letters = text.size();
    for (char& c : text)
        c = c == '-' ? '+' : c == '_' ? '/' : c;
    text.resize((letters + 3) / 4 * 4, '=');
    std::vector<unsigned char> bytes(text.size() / 4 * 3);
    const int got =
        EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                        static_cast<int>(text.size()));
    if (got < 0 || letters % 4 == 1)
        return invalid_argument(
            "Crusoe's secret key is no base64url; copy it again as it was shown");
    bytes.resize(letters * 3 / 4);
    return bytes;
}

std::string to_base64url(const unsigned char* bytes, std::size_t size) {
    std::string text((size + 2) / 3 * 4 + 1, '\0');
    const int got = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes,
                                    static_cast<int>(size));
    text.resize(usize(got));
    while (text.ends_with('='))
        text.pop_back();
    for (char& c : text)
        c = c == '+' ? '-' : c == '/' ? '_' : c;
    return text;
}

}  // namespace

std::string encode_query(const Query& query) {
    std::string text;
    for (const auto& entry : query) {
        if (!text.empty()) text += '&';
        text += encode(entry.first) + '=' + encode(entry.second);
    }
    return text;
}

Result<std::string> crusoe_signature(const Secret& secret_key, const SignedParts& parts) {
    RM_TRY(const std::vector<unsigned char> key, decode(secret_key.reveal()));
    const std::string message =
        format("{}\n{}\n{}\n{}\n", parts.path, parts.query, parts.verb, parts.timestamp);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
         &size);
    return to_base64url(digest.data(), size);
}

}  // namespace rm
