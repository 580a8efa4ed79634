// SPDX-License-Identifier: MIT
//
// Files behind URLs of http and https, read by requests for ranges: opening takes one trip to the server, and many
// requests are under way at once. Only programs that include this header need libcurl, from 7.68 on: the CMake target
// ztensor::http links it.
#ifndef ZTENSOR_HTTP_HPP
#define ZTENSOR_HTTP_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/http/client.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/source.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

namespace detail {
struct http_access;
} // namespace detail

/// Header fields of a request, in order: name and value.
using http_headers = std::vector<std::pair<std::string, std::string>>;

/// Options of http_source::open() and open_url().
///
/// What may be a secret (header(), bearer(), user info in the URL, what sign() adds) goes to the host of the URL that
/// was given, and to no other host that it redirects to. No message of an error holds any of it, nor the query of a
/// URL. The functions given to refresh(), sign() and shard_url() are called by the threads that open and read, perhaps
/// several at once; they must not throw, nor read from the source that calls them.
class http_options {
    friend struct detail::http_access;

public:
    /// Larger ranges are read by several requests of so many bytes, 8 MiB unless changed.
    http_options& request_bytes(std::size_t value) noexcept { return settings_.request_bytes = value, *this; }
    /// So many requests are under way at once, for all that is read of a file and of its shards; 32 unless changed.
    /// Each takes a connection of its own, but for HTTP/2, where up to four share one.
    http_options& requests_in_flight(unsigned value) noexcept { return settings_.requests_in_flight = value, *this; }
    /// So many bytes between two ranges are read with them, because a request takes as long: 256 KiB unless changed.
    http_options& gap_bytes(std::size_t value) noexcept { return settings_.gap_bytes = value, *this; }
    /// How much of the file's end is asked for, and kept in memory, when it is opened; 256 KiB unless changed. That
    /// holds the index of most models. With 0, the end is not asked for beforehand.
    http_options& suffix_bytes(std::size_t value) noexcept { return settings_.suffix_bytes = value, *this; }
    /// How long one request of at most request_bytes() may take with all that it takes to repeat it; 300 s unless
    /// changed. Reading many of them may take longer.
    http_options& deadline(std::chrono::milliseconds value) noexcept {
        return settings_.deadline_ms = clamped(value), *this;
    }
    /// How long connecting may take, DNS and TLS included, before it is tried again; 15 s unless changed.
    http_options& connect_timeout(std::chrono::milliseconds value) noexcept {
        return settings_.connect_ms = clamped(value), *this;
    }
    /// After how long without a byte a request is broken off and repeated; 30 s unless changed.
    http_options& stall_timeout(std::chrono::milliseconds value) noexcept {
        return settings_.stall_ms = clamped(value), *this;
    }
    /// How often a request is repeated, after status 408, 429, 500, 502, 503 and 504, when the connection fails, and
    /// when a response ends early (it then goes on at the byte that was reached); 10 unless changed. Between two tries
    /// there is a random part of 100 ms, doubled each time up to 10 s; or as long as the server says (Retry-After). A
    /// host that can't be reached is tried at most three times when a file is opened.
    http_options& retries(unsigned value) noexcept { return settings_.retries = value, *this; }
    /// How many redirects are followed in a row, 10 unless changed: to http and https alone, and never from https to
    /// http. Where they lead is remembered as long as the file is found there.
    http_options& redirects(unsigned value) noexcept { return settings_.redirects = value, *this; }

    /// Adds a header field to all requests, such as ("Authorization", "..."). Not Range, If-Match, Accept-Encoding and
    /// those of the connection. Names and values are checked when the file is opened.
    http_options& header(std::string_view name, std::string_view value) {
        return settings_.headers.emplace_back(name, value), *this;
    }
    /// Adds "Authorization: Bearer TOKEN", as OAuth and Hugging Face have it.
    http_options& bearer(std::string_view token) { return header("Authorization", "Bearer " + std::string(token)); }
    /// Called when the server refuses access (status 401 or 403), as when a signed URL has expired: gives a new URL of
    /// the same file, which takes the place of the one that was given, and may have another host. `url` is the one that
    /// was given first, without user info and query. An error that it returns becomes that of the call.
    http_options& refresh(std::function<result<std::string>(std::string_view url)> function) {
        return settings_.refresh = std::move(function), *this;
    }
    /// Called for each request to the host of the URL, repeated ones too: gives header fields to be added, such as a
    /// signature of `method`, `url` and `headers`, which hold what will be sent so far. An error that it returns
    /// becomes that of the call.
    http_options&
    sign(std::function<result<http_headers>(std::string_view method, std::string_view url, const http_headers& headers)>
             function) {
        return settings_.sign = std::move(function), *this;
    }
    /// Gives the URL of a shard of a model of version 2, by its name and digest ("algorithm:hex"); an empty text if
    /// there is none. It may be of another host, which gets the same headers. Without it, shards are looked for beside
    /// the URL of the root by their names, "<stem>-<name>.zt" and "blobs/<algorithm>/<hex>".
    http_options&
    shard_url(std::function<result<std::string>(std::string_view name, std::string_view digest)> function) {
        return settings_.shard_url = std::move(function), *this;
    }
    /// Shards and other files beside the root are asked for with the query of its URL, as a token for a whole folder
    /// needs. Unless told otherwise, without: a signature is of one file.
    http_options& keep_query(bool value = true) noexcept { return settings_.keeps_query = value, *this; }

    /// A file of trusted certificates (PEM), in the place of those that libcurl was built to trust.
    http_options& ca_file(std::string_view path) { return settings_.ca_file = path, *this; }
    /// Accepts any certificate, and so any server that answers. For tests.
    http_options& insecure(bool value = true) noexcept { return settings_.is_insecure = value, *this; }
    /// The User-Agent, "ztensor/" and the version unless changed.
    http_options& user_agent(std::string_view value) { return settings_.user_agent = value, *this; }

private:
    [[nodiscard]] static std::uint32_t clamped(std::chrono::milliseconds time) noexcept {
        constexpr std::int64_t most = (std::numeric_limits<std::uint32_t>::max)();
        return static_cast<std::uint32_t>((std::min)((std::max)(std::int64_t{time.count()}, std::int64_t{0}), most));
    }

    detail::http_settings settings_;
};

namespace detail {

/// For http_source, and for adaptors that sign for a store of their own.
struct http_access {
    [[nodiscard]] static const http_settings& settings(const http_options& of) noexcept { return of.settings_; }
};

} // namespace detail

/// A file behind a URL as a source of bytes, for reader::from_source(), open_any() and others.
///
/// The server must answer requests for ranges with status 206 and exactly the range, uncompressed; one that ignores
/// them is an error, because it would send the whole file each time. The file must not change: a strong ETag goes with
/// each request (If-Match), and another ETag or size in any response is errc::file_changed. One thread reads from all
/// connections; it starts with the first request, and is joined when the last of the file and its shards goes. Bytes go
/// straight to where they are asked for. About 260 KiB of both ends of the file are kept in memory. Proxies are those
/// of libcurl's environment variables (https_proxy, no_proxy).
///
/// The source is destroyed by the process that opened it: in one that was forked off, reading fails with
/// errc::io_error.
class http_source {
public:
    http_source() = delete;

    /// Asks for the first 4 KiB and the end of the file at once. `url` is one of http or https; it may hold user info,
    /// and a query with a signature.
    ///
    /// Errors, here and when the source is read: file_not_found (status 404, 410); file_changed (another ETag or size,
    /// status 412); io_error for the rest, with a sentence that says which of them it was: DNS, no connection, TLS, a
    /// refused access (status 401, 403), a refused range (416), another status, a time that has passed, a broken
    /// connection, a redirect that is not followed, a response that is none. error::os_error() compares equal to
    /// std::errc::permission_denied for status 401 and 403, to std::errc::timed_out, std::errc::connection_refused and
    /// std::errc::connection_reset for these. Also invalid_argument (what is no such URL, options outside their range),
    /// out_of_memory, and what the functions of the options return. error::path() is the URL without user info, query
    /// and fragment.
    static result<std::shared_ptr<const byte_source>> open(std::string_view url, const http_options& how = {}) {
        return detail::open_http_file(url, detail::http_access::settings(how));
    }
};

/// Opens the file behind a URL, of any format that open_any() reads: `open_url("https://host/model.zt")`. What belongs
/// to it is found beside it: shards, the files of an index (".../model.safetensors.index.json"), the parts of a GGUF
/// model and the data of an ONNX model. There are no folders. reader::path() is the URL without user info, query and
/// fragment. Opening can't be cancelled: a silent server ends it by stall_timeout() and deadline() of http_options.
/// Errors: those of http_source::open() and open_any().
inline result<reader> open_url(std::string_view url, const read_options& options = {}, const http_options& how = {}) {
    return detail::guard_memory([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source, http_source::open(url, how));
        ZTENSOR_TRY_ASSIGN(const detail::http_url parts, detail::http_url::parse(url));
        return open_any(std::move(source), parts.shown(), options);
    });
}
inline result<reader> open_url(std::string_view url, const http_options& how) {
    return open_url(url, read_options(), how);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
