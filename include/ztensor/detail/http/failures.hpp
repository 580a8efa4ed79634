// SPDX-License-Identifier: MIT
//
// What libcurl's codes say of a transfer that has ended.
#ifndef ZTENSOR_DETAIL_HTTP_FAILURES_HPP
#define ZTENSOR_DETAIL_HTTP_FAILURES_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/messages.hpp>

#include <curl/curl.h>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// libcurl keeps lines of up to 100 KiB, and says of a longer one that there is no memory for it.
[[nodiscard]] inline bool is_too_large_head(CURLcode code) noexcept {
#if LIBCURL_VERSION_NUM >= 0x080600
    return code == CURLE_OUT_OF_MEMORY || code == CURLE_TOO_LARGE;
#else
    return code == CURLE_OUT_OF_MEMORY;
#endif
}

/// `was_connected`: the request was sent; `has_head`: so much of the answer came; `is_late`: the deadline is over.
[[nodiscard]] inline http_failure failure_of(CURLcode code, bool was_connected, bool has_head, bool is_late) noexcept {
    switch (code) {
    case CURLE_OK:
        return http_failure::none;
    case CURLE_WRITE_ERROR:
        return http_failure::stopped;
    case CURLE_WEIRD_SERVER_REPLY: // no status line, or a field that is malformed
    case CURLE_FILESIZE_EXCEEDED:  // a Content-Length of more than 63 bits
        return has_head ? http_failure::broken : http_failure::stopped;
    case CURLE_OUT_OF_MEMORY:
        return http_failure::out_of_memory;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return http_failure::no_address;
    case CURLE_COULDNT_CONNECT:
        return http_failure::no_connection;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM: // of a certificate that the server asks for, which there is none of
        return http_failure::handshake;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return http_failure::certificate;
    case CURLE_UNSUPPORTED_PROTOCOL: // of the URL; or what came begins as no response of HTTP does
        return was_connected ? http_failure::stopped : http_failure::no_tls;
    case CURLE_OPERATION_TIMEDOUT:
        return was_connected || is_late ? http_failure::timed_out : http_failure::connect_timed_out;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return http_failure::broken;
    default:
        return http_failure::other;
    }
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
