// SPDX-License-Identifier: MIT
//
// A range or a message on its way, over all its attempts, and what is said where it fails.
#ifndef ZTENSOR_DETAIL_HTTP_PIECES_HPP
#define ZTENSOR_DETAIL_HTTP_PIECES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/client.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/s3_replies.hpp>
#include <ztensor/detail/http/url.hpp>
#include <ztensor/error.hpp>

#include <array>
#include <memory>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- piece

/// A range that is read by one request at a time, repeated and continued until all of it is here; or a message that is
/// sent until it is answered.
struct http_progress {
    const http_message* message = nullptr; ///< null: a range is read
    uint64_t begin = 0;                    ///< of what is still to come
    uint64_t end = 0;                      ///< of a suffix that no response has placed yet, how many bytes
    http_destination to;
    bool is_suffix = false;
    bool may_be_short = false;
    optional<uint64_t> total; ///< of the file, as soon as it is known
    string tag;
    string tag_host; ///< which gave the tag, and is told to match it

    std::shared_ptr<const http_url> home; ///< what was given, or the last that refresh() gave
    uint64_t generation = 0;              ///< of `home`
    bool is_following = false;            ///< the next request goes to attempt.target: a redirect leads there
    bool has_gone_back = false;
    unsigned redirects = 0;
    unsigned refreshes = 0;
    unsigned tries = 0;
    unsigned corrections = 0; ///< by the store

    vector<struct http_open_request*> of; ///< which have their bytes from it
    optional<error> failure;
    bool is_refused = false; ///< the server does not take this kind of range
};

struct http_piece : http_progress {
    http_attempt attempt;

    http_piece() noexcept { attempt.room = room_; }
    void reset() noexcept { http_progress::operator=({}); }

private:
    std::array<char, 4096> room_;
};

enum class http_step { done, goes_on, failed };

/// In the place of what the caller of a call does not wait for.
[[nodiscard]] ZTENSOR_COLD inline error reading_was_stopped() {
    return fail(errc::cancelled, "reading was stopped");
}

// -- wording

/// What is the matter with an attempt that ended without what was asked for.
[[nodiscard]] ZTENSOR_COLD inline error describe_attempt(const http_piece& piece) {
    const http_attempt& attempt = piece.attempt;
    string more;
    if (attempt.target != nullptr && piece.home != nullptr && attempt.target->host() != piece.home->host()) {
        more += sentence(", at {} where it redirects to", {in_quotes(attempt.target->host())});
    }
    if (piece.tries != 0) {
        more += sentence(", at try {}", {piece.tries + 1});
    }
    if (const string code = error_code_of(attempt.reply()); !code.empty()) {
        more += sentence("; its answer says {}", {code});
    }
    const auto io = [&](const char* pattern) { return fail(errc::io_error, pattern, {more}); };
    const auto os = [&](const char* pattern, std::errc meaning) {
        return io(pattern).because(std::make_error_code(meaning));
    };
    const unsigned status = attempt.head.status();
    if (attempt.problem == http_problem::other_status) {
        switch (status) {
        case 401:
        case 403:
            return fail(errc::io_error,
                        "the server refuses access (status {}): credentials are missing, wrong or expired{}",
                        {status, more})
                .because(std::make_error_code(std::errc::permission_denied));
        case 404:
        case 410:
            return fail(errc::file_not_found, "the server has nothing at this URL (status {}){}", {status, more});
        case 412:
            return fail(errc::file_changed,
                        "the file has changed since it was opened: it has another ETag (status 412){}", {more});
        case 416:
            return attempt.head.range() && piece.total && attempt.head.range()->total != *piece.total
                       ? fail(errc::file_changed, "the file has become {} bytes large; it had {} (status 416){}",
                              {attempt.head.range()->total, *piece.total, more})
                       : io("the server refuses the range that was asked for (status 416){}");
        default:
            return fail(errc::io_error, "the server answers with status {}{}", {status, more});
        }
    }
    switch (attempt.failure) {
    case http_failure::none:
    case http_failure::stopped:
        break;
    case http_failure::cancelled:
        return reading_was_stopped();
    case http_failure::out_of_memory:
        return fail(errc::out_of_memory, "libcurl ran out of memory");
    case http_failure::no_address:
        return io("DNS has no address for the host{}");
    case http_failure::no_connection:
        return io("no connection to the host{}").because({attempt.os_error, std::system_category()});
    case http_failure::handshake:
        return fail(errc::io_error, "TLS can't be begun with the host ({}){}", {attempt.words, more});
    case http_failure::certificate:
        return fail(errc::io_error, "TLS: the host's certificate is not trusted ({}){}", {attempt.words, more});
    case http_failure::no_tls:
        return io("this libcurl can't speak HTTPS{}");
    case http_failure::connect_timed_out:
        return os("the host can't be reached in the time that http_options::connect_timeout() gives{}",
                  std::errc::timed_out);
    case http_failure::stalled:
        return os("the server sends nothing for the time that http_options::stall_timeout() gives{}",
                  std::errc::timed_out);
    case http_failure::timed_out:
        return os("a request takes more time than http_options::deadline() gives{}", std::errc::timed_out);
    case http_failure::broken:
        return os("the connection was reset or ended early{}", std::errc::connection_reset);
    case http_failure::other:
        return fail(errc::io_error, "libcurl: {}{}", {attempt.words, more});
    }
    switch (attempt.problem) {
    case http_problem::body_too_long:
        return io(piece.message != nullptr ? "the server's answer is too large{}"
                                           : "the server sends more bytes than the range has{}");
    case http_problem::whole_content:
        return io(
            "the server does not give ranges of the file: it answers with all of it (status 200 instead of 206){}");
    case http_problem::encoded:
        return io("the server compresses the file on the way, although it was told not to (Content-Encoding){}");
    case http_problem::no_range:
        return io("the server does not say which range it sends (Content-Range is absent or malformed){}");
    case http_problem::other_range:
        return io("the server sends another range than was asked for{}");
    case http_problem::other_total:
        return fail(errc::file_changed, "the file has become {} bytes large; it had {}{}",
                    {attempt.head.range() ? attempt.head.range()->total : 0, piece.total.value_or(0), more});
    case http_problem::other_tag:
        return fail(errc::file_changed, "the file has changed since it was opened: it has another ETag{}", {more});
    case http_problem::head_too_large:
        return io("the header of the server's response is too large{}");
    case http_problem::head_malformed:
    case http_problem::no_response:
        return io("what the server sends is no well-formed response of HTTP{}");
    case http_problem::none:
    case http_problem::other_status:
        break;
    }
    return piece.message != nullptr
               ? io("the server answers with an error and a status of success{}")
               : os("the server sends fewer bytes than the range has{}", std::errc::connection_reset);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
