// SPDX-License-Identifier: MIT
//
// Requests for ranges of bytes and the answers to them: what http_options hold, the status line and the few header
// fields that matter. Knows no network and no libcurl. Servers are hostile, so that what they send is parsed strictly
// and in bounded memory.
#ifndef ZTENSOR_DETAIL_HTTP_MESSAGES_HPP
#define ZTENSOR_DETAIL_HTTP_MESSAGES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- characters

[[nodiscard]] constexpr bool is_ascii_lower(char c) noexcept {
    return c >= 'a' && c <= 'z';
}
[[nodiscard]] constexpr bool is_ascii_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_ascii_alphanumeric(char c) noexcept {
    return is_ascii_lower(c) || (c >= 'A' && c <= 'Z') || is_ascii_digit(c);
}
[[nodiscard]] inline bool is_ascii_control(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}
/// The unreserved characters of RFC 3986, which stand for themselves in every part of a URL.
[[nodiscard]] constexpr bool is_url_unreserved(char c) noexcept {
    return is_ascii_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}
/// True if `text` is not empty and holds only letters, digits and characters of `others`.
[[nodiscard]] inline bool is_made_of(string_view text, string_view others) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_ascii_alphanumeric(c) || others.find(c) != string_view::npos;
    });
}

// -- percent-encoding

inline void append_percent_encoded(string& out, char c, bool keeps_slash) {
    if (is_url_unreserved(c) || (keeps_slash && c == '/')) {
        out += c;
        return;
    }
    append_hex(out += '%', static_cast<unsigned char>(c), "0123456789ABCDEF"); // upper-case, as S3 signs them
}

/// `text` as a part of a URL: every byte that is not unreserved becomes %XX. '/' stays if it separates segments.
[[nodiscard]] inline string percent_encoded(string_view text, bool keeps_slash) {
    string out;
    for (const char c : text) {
        append_percent_encoded(out, c, keeps_slash);
    }
    return out;
}

// -- field values
//
// RFC 9110, of each rule the form that clients must accept; anything else is nothing.

/// Without spaces and tabs at both ends, or other characters of that kind.
[[nodiscard]] inline string_view without_outer_space(string_view text, string_view space = " \t") noexcept {
    const size_t first = text.find_first_not_of(space);
    return first == string_view::npos ? string_view() : text.substr(first, text.find_last_not_of(space) - first + 1);
}

/// The name of a field: a token.
[[nodiscard]] inline bool is_field_name(string_view name) noexcept {
    return is_made_of(name, "!#$%&'*+-.^_`|~");
}

/// What a field may hold without becoming two: no control characters but tabs.
[[nodiscard]] inline bool is_field_value(string_view value) noexcept {
    return std::all_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte != 0x7f) || c == '\t';
    });
}

/// Content-Range.
struct http_content_range {
    uint64_t begin = 0;
    uint64_t end = 0; ///< behind the last byte; 0 where the server can't give the range ("*")
    uint64_t total = 0;
};

/// "bytes 0-4095/10000" or "bytes */10000". A total that the server does not know is nothing.
[[nodiscard]] inline optional<http_content_range> parse_content_range(string_view value) noexcept {
    constexpr string_view unit = "bytes ";
    const size_t slash = value.find('/');
    if (slash == string_view::npos || slash < unit.size() ||
        !equals_ignoring_case(value.substr(0, unit.size()), unit)) {
        return std::nullopt;
    }
    const optional<uint64_t> total = parse_decimal(value.substr(slash + 1));
    const string_view range = value.substr(unit.size(), slash - unit.size());
    if (!total) {
        return std::nullopt;
    }
    if (range == "*") {
        return http_content_range{0, 0, *total};
    }
    const size_t hyphen = range.find('-');
    if (hyphen == string_view::npos) {
        return std::nullopt;
    }
    const optional<uint64_t> first = parse_decimal(range.substr(0, hyphen));
    const optional<uint64_t> last = parse_decimal(range.substr(hyphen + 1));
    if (!first || !last || *first > *last || *last >= *total) {
        return std::nullopt;
    }
    return http_content_range{*first, *last + 1, *total};
}

/// ETag: a text in quotes, perhaps behind W/.
[[nodiscard]] inline bool is_entity_tag(string_view value) noexcept {
    constexpr char quote = '"';
    value.remove_prefix(value.substr(0, 2) == "W/" ? 2 : 0);
    return value.size() >= 2 && value.front() == quote && value.back() == quote &&
           std::all_of(value.begin() + 1, value.end() - 1, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte > 0x20 && byte != 0x7f && c != quote;
           });
}
/// Bytes that differ have different tags of this kind.
[[nodiscard]] inline bool is_strong_tag(string_view tag) noexcept {
    return !tag.empty() && tag.front() == '"';
}
/// The part in quotes.
[[nodiscard]] inline string_view opaque_tag(string_view tag) noexcept {
    return tag.substr(tag.substr(0, 2) == "W/" ? 2 : 0);
}

/// "Sun, 06 Nov 1994 08:49:37 GMT" as seconds since 1970. The two forms that servers must not send any more are
/// nothing.
[[nodiscard]] inline optional<uint64_t> parse_http_date(string_view text) noexcept {
    constexpr string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    constexpr string_view days = "SunMonTueWedThuFriSat";
    constexpr string_view form = "___, __ ___ ____ __:__:__ GMT";
    if (text.size() != form.size()) {
        return std::nullopt;
    }
    for (size_t i = 0; i < form.size(); ++i) {
        if (form[i] != '_' && form[i] != text[i]) {
            return std::nullopt;
        }
    }
    const size_t month_at = months.find(text.substr(8, 3)), day_at = days.find(text.substr(0, 3));
    const optional<uint64_t> day = parse_decimal(text.substr(5, 2)), year = parse_decimal(text.substr(12, 4));
    const optional<uint64_t> hour = parse_decimal(text.substr(17, 2));
    const optional<uint64_t> minute = parse_decimal(text.substr(20, 2));
    const optional<uint64_t> second = parse_decimal(text.substr(23, 2));
    if (month_at % 3 != 0 || month_at >= months.size() || day_at % 3 != 0 || day_at >= days.size() || !day || !year ||
        !hour || !minute || !second || *day < 1 || *day > 31 || *year < 1970 || *hour > 23 || *minute > 59 ||
        *second > 60) {
        return std::nullopt;
    }
    // Days of the civil calendar, in years that begin in March, so that the leap day is a year's last.
    const uint64_t month = month_at / 3 + 1;
    const uint64_t years = *year - (month <= 2 ? 1 : 0);
    const uint64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + *day - 1;
    const uint64_t day_number = 365 * years + years / 4 - years / 100 + years / 400 + day_of_year;
    constexpr uint64_t first_of_1970 = 719468;
    if (day_number < first_of_1970) {
        return std::nullopt;
    }
    return (((day_number - first_of_1970) * 24 + *hour) * 60 + *minute) * 60 + *second;
}

/// Retry-After: so many seconds from now on, whether the server gives seconds or a date.
[[nodiscard]] inline optional<uint64_t> parse_retry_after(string_view value, uint64_t now_seconds) noexcept {
    if (const optional<uint64_t> seconds = parse_decimal(value)) {
        return seconds;
    }
    const optional<uint64_t> date = parse_http_date(value);
    return date ? optional<uint64_t>(*date > now_seconds ? *date - now_seconds : 0) : std::nullopt;
}

/// The status of "HTTP/1.1 206 Partial Content" or "HTTP/2 206"; 0 for what is no status line.
[[nodiscard]] inline unsigned parse_status_line(string_view line) noexcept {
    constexpr string_view protocol = "HTTP/";
    const size_t space = line.find(' ');
    if (line.substr(0, protocol.size()) != protocol || space == string_view::npos || space == protocol.size()) {
        return 0;
    }
    const string_view version = line.substr(protocol.size(), space - protocol.size());
    const string_view code = line.substr(space + 1, 3);
    const bool ends = line.size() == space + 4 || (line.size() > space + 4 && line[space + 4] == ' ');
    const optional<uint64_t> status = parse_decimal(code);
    return version.find_first_not_of("0123456789.") == string_view::npos && code.size() == 3 && ends && status &&
                   *status >= 100
               ? static_cast<unsigned>(*status)
               : 0;
}

// -- response head

/// A short text that is kept without allocating.
template <size_t Capacity>
class bounded_text {
public:
    /// False where it does not fit; then it is empty.
    bool assign(string_view text) noexcept {
        size_ = text.size() <= Capacity ? text.size() : 0;
        std::copy_n(text.data(), size_, text_.data());
        return text.size() <= Capacity;
    }
    void clear() noexcept { size_ = 0; }
    [[nodiscard]] string_view view() const noexcept { return {text_.data(), size_}; }

private:
    std::array<char, Capacity> text_;
    size_t size_ = 0;
};

/// The head of the last response of a transfer: of those before it (100 Continue, 103 Early Hints) nothing is kept.
class http_response_head {
public:
    /// Of all heads of a transfer, trailers included.
    static constexpr size_t most_bytes = size_t{64} << 10;

    void clear() noexcept {
        bytes_ = 0;
        begin(0);
        is_malformed_ = false;
    }

    /// One line as it comes from the connection, with its end; the empty line ends the head. False where the head
    /// becomes too large: then there is no use in reading on.
    bool add_line(string_view line) noexcept {
        bytes_ = line.size() < most_bytes - bytes_ ? bytes_ + line.size() : most_bytes;
        if (bytes_ == most_bytes) {
            return false;
        }
        line.remove_suffix(!line.empty() && line.back() == '\n' ? 1 : 0);
        line.remove_suffix(!line.empty() && line.back() == '\r' ? 1 : 0);
        if (status_ == 0 || (is_complete_ && is_interim())) {
            begin(parse_status_line(line));
            is_malformed_ = is_malformed_ || status_ == 0;
        } else if (line.empty()) {
            is_complete_ = true;
        } else if (!is_complete_) { // what comes behind the body is not looked at
            add_field(line);
        }
        return true;
    }

    /// The head of a final response is here.
    [[nodiscard]] bool is_complete() const noexcept { return is_complete_ && !is_interim(); }
    [[nodiscard]] bool is_too_large() const noexcept { return bytes_ == most_bytes; }
    /// A line is none of HTTP, or a field that may stand once stands twice.
    [[nodiscard]] bool is_malformed() const noexcept { return is_malformed_; }
    [[nodiscard]] unsigned status() const noexcept { return status_; }
    [[nodiscard]] bool has_range() const noexcept { return has_range_; }
    /// Nothing where it is absent or malformed.
    [[nodiscard]] const optional<http_content_range>& range() const noexcept { return range_; }
    /// As it stands there, quotes and W/ included; "" where there is none, or none that can be sent back.
    [[nodiscard]] string_view tag() const noexcept { return tag_.view(); }
    [[nodiscard]] string_view location() const noexcept { return location_.view(); }
    [[nodiscard]] string_view retry_after() const noexcept { return retry_after_.view(); }
    /// Where S3 has the bucket (x-amz-bucket-region); "" where it does not say so.
    [[nodiscard]] string_view bucket_region() const noexcept { return bucket_region_.view(); }
    /// Nothing where it is absent or malformed.
    [[nodiscard]] const optional<uint64_t>& content_length() const noexcept { return content_length_; }
    /// The body's bytes are those of the file: no content coding is applied.
    [[nodiscard]] bool is_identity() const noexcept { return is_identity_; }

private:
    [[nodiscard]] bool is_interim() const noexcept { return status_ / 100 == 1; }

    void begin(unsigned status) noexcept {
        status_ = status;
        is_complete_ = false;
        is_identity_ = true;
        has_range_ = has_tag_ = has_location_ = has_retry_after_ = false;
        range_.reset();
        content_length_.reset();
        tag_.clear();
        location_.clear();
        retry_after_.clear();
        bucket_region_.clear();
    }

    void add_field(string_view line) noexcept {
        const size_t colon = line.find(':');
        const string_view name = line.substr(0, colon);
        if (colon == string_view::npos || !is_field_name(name)) { // also a line that goes on with the one before
            is_malformed_ = true;
            return;
        }
        const string_view value = without_outer_space(line.substr(colon + 1));
        const auto is = [&](string_view wanted, bool& is_there) {
            const bool same = equals_ignoring_case(name, wanted);
            is_malformed_ = is_malformed_ || (same && is_there);
            is_there = is_there || same;
            return same;
        };
        if (is("content-range", has_range_)) {
            range_ = parse_content_range(value);
        } else if (is("etag", has_tag_)) {
            if (!is_entity_tag(value) || !tag_.assign(value)) {
                tag_.clear();
            }
        } else if (is("location", has_location_)) {
            is_malformed_ = is_malformed_ || !location_.assign(value);
        } else if (is("retry-after", has_retry_after_)) {
            retry_after_.assign(value);
        } else if (equals_ignoring_case(name, "x-amz-bucket-region")) {
            bucket_region_.assign(value);
        } else if (equals_ignoring_case(name, "content-length")) { // of which libcurl refuses two
            content_length_ = parse_decimal(value);
        } else if (equals_ignoring_case(name, "content-encoding")) {
            is_identity_ = is_identity_ && (value.empty() || equals_ignoring_case(value, "identity"));
        }
    }

    size_t bytes_ = 0;
    unsigned status_ = 0;
    bool is_complete_ = false;
    bool is_malformed_ = false;
    bool is_identity_ = true;
    bool has_range_ = false;
    bool has_tag_ = false;
    bool has_location_ = false;
    bool has_retry_after_ = false;
    optional<http_content_range> range_;
    optional<uint64_t> content_length_;
    bounded_text<256> tag_;
    bounded_text<size_t{8} << 10> location_;
    bounded_text<64> retry_after_;
    bounded_text<63> bucket_region_;
};

// -- range request

/// What a range that was asked for and a response with a status of its own have to do with each other.
enum class http_problem : uint8_t {
    none,           ///< the body is the range
    no_response,    ///< what came is no response of HTTP
    head_too_large, ///< more than http_response_head::most_bytes
    head_malformed, ///< see http_response_head::is_malformed()
    other_status,   ///< any but 206 and 200
    whole_content,  ///< 200: the server does not heed Range
    encoded,        ///< compressed on the way
    no_range,       ///< without a Content-Range, or with one that says nothing
    other_range,    ///< another range than was asked for
    other_total,    ///< the file has another size than before
    other_tag,      ///< the file has another ETag than before
    body_too_long,  ///< more bytes than the response's own range has
};

/// What is the matter with the head of any response, whatever was asked for.
[[nodiscard]] inline http_problem check_form(const http_response_head& head) noexcept {
    return head.is_too_large()   ? http_problem::head_too_large
           : !head.is_complete() ? http_problem::no_response
           : head.is_malformed() ? http_problem::head_malformed
                                 : http_problem::none;
}

/// A request that sends something, in place of asking for a range. Its answer is short.
struct http_message {
    const char* method = "PUT"; ///< or "POST", "DELETE", "HEAD"
    string query;               ///< which follows the URL of the object; "" for none
    vector<std::pair<string, string>> fields;
    bytes_view body;       ///< stays where it is until the request is over
    string payload_sha256; ///< what the store is to sign for the body

    [[nodiscard]] static http_problem check(const http_response_head& head) noexcept {
        const http_problem problem = check_form(head);
        return problem != http_problem::none ? problem
               : head.status() / 100 != 2    ? http_problem::other_status
               : !head.is_identity()         ? http_problem::encoded
                                             : http_problem::none;
    }
};

/// A range as a request asks for it.
struct http_range_request {
    uint64_t begin = 0;
    uint64_t end = 0;          ///< behind the last byte; of a suffix, how many bytes
    bool is_suffix = false;    ///< the last bytes of the file, of which there may be fewer
    bool may_be_short = false; ///< the range may reach beyond the file's end, and is then shorter
    optional<uint64_t> total;  ///< of the file, where it is known
    string_view tag;           ///< likewise; "" where it is not

    [[nodiscard]] http_problem check(const http_response_head& head) const noexcept {
        if (const http_problem problem = check_form(head); problem != http_problem::none) {
            return problem;
        }
        if (head.status() != 206) {
            return head.status() == 200 ? http_problem::whole_content : http_problem::other_status;
        }
        if (!head.is_identity()) {
            return http_problem::encoded;
        }
        const optional<http_content_range>& range = head.range();
        if (!range || range->end == 0) {
            return http_problem::no_range;
        }
        if (total && range->total != *total) {
            return http_problem::other_total;
        }
        if (!tag.empty() && !head.tag().empty() && opaque_tag(tag) != opaque_tag(head.tag())) {
            return http_problem::other_tag;
        }
        const uint64_t first = !is_suffix ? begin : range->total > end ? range->total - end : 0;
        const uint64_t last = is_suffix || (may_be_short && range->total < end) ? range->total : end;
        return range->begin == first && range->end == last ? http_problem::none : http_problem::other_range;
    }
};

/// Why a transfer ended, apart from what the server said.
enum class http_failure : uint8_t {
    none,          ///< the response is complete
    stopped,       ///< by this side, because of what came: see http_attempt::problem
    cancelled,     ///< by the caller
    out_of_memory, ///< here
    no_address,    ///< of the host
    no_connection, ///< refused, unreachable
    handshake,     ///< TLS
    certificate,   ///< TLS: the server's is not trusted, or the file of trusted ones can't be read
    no_tls,        ///< this libcurl has none
    connect_timed_out,
    stalled,   ///< nothing came for too long
    timed_out, ///< the deadline has passed
    broken,    ///< the connection was reset or ended early
    other,
};

// -- settings
//
// What http_options hold, and whether it makes sense.

/// Header fields, in order: name and value.
using http_fields = vector<std::pair<string, string>>;

[[nodiscard]] inline bool has_field(const http_fields& fields, string_view name) noexcept {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const auto& each) { return equals_ignoring_case(each.first, name); });
}

/// What an adaptor for a store adds to HTTP, in place of http_options::sign(). Called by several threads at once.
class http_store {
public:
    http_store() = default;
    http_store(const http_store&) = delete;
    http_store& operator=(const http_store&) = delete;
    virtual ~http_store() = default;

    /// The fields that authenticate a request to the host of the URL that was given.
    [[nodiscard]] virtual result<http_fields> sign(string_view method, string_view url, const http_fields& fields,
                                                   string_view payload_sha256) const = 0;
    /// If the answer says what was wrong with a request of `url`, as far as it can be put right: the URL to ask for in
    /// its place, perhaps the same. `body` is the first part of an answer's body.
    [[nodiscard]] virtual optional<string> correct(string_view url, const http_response_head& head,
                                                   string_view body) const = 0;
};

struct http_settings {
    size_t request_bytes = size_t{8} << 20;
    size_t gap_bytes = size_t{256} << 10;
    size_t suffix_bytes = size_t{256} << 10;
    unsigned requests_in_flight = 32;
    unsigned retries = 10;
    unsigned redirects = 10;
    uint32_t deadline_ms = 300'000;
    uint32_t connect_ms = 15'000;
    uint32_t stall_ms = 30'000;
    bool is_insecure = false;
    bool keeps_query = false;
    http_fields headers;
    string ca_file;
    string user_agent = "ztensor/" + std::to_string(ZTENSOR_VERSION_MAJOR) + "." +
                        std::to_string(ZTENSOR_VERSION_MINOR) + "." + std::to_string(ZTENSOR_VERSION_PATCH);
    std::function<result<string>(string_view url)> refresh;
    std::function<result<http_fields>(string_view method, string_view url, const http_fields& headers)> sign;
    std::function<result<string>(string_view name, string_view digest)> shard_url;
    std::shared_ptr<const http_store> store; ///< of the adaptor for it; null for plain HTTP

    [[nodiscard]] uint32_t back_off_ms(unsigned tries) const noexcept {
        constexpr uint32_t first = 100, most = 10'000;
        return tries < 8 ? (std::min)(first << tries, most) : most;
    }
};

/// Fields that decide what a response means, and are the library's own.
[[nodiscard]] inline bool is_reserved_field(string_view name) noexcept {
    constexpr string_view reserved[] = {"range",      "if-match",       "if-range",          "accept-encoding",
                                        "connection", "content-length", "transfer-encoding", "upgrade"};
    return std::any_of(std::begin(reserved), std::end(reserved),
                       [&](string_view each) { return equals_ignoring_case(each, name); });
}

/// Errors: invalid_argument. Says the name of a header at most, for its value may be a secret.
ZTENSOR_COLD inline result<void> check_fields(const http_fields& fields) {
    for (const auto& [name, value] : fields) {
        if (!is_field_name(name) || !is_field_value(value)) {
            return fail(errc::invalid_argument, "{} is no name of a header, or its value holds control characters",
                        {in_quotes(name)});
        }
        if (is_reserved_field(name)) {
            return fail(errc::invalid_argument, "the library itself sends the header {}", {in_quotes(name)});
        }
    }
    return {};
}

/// Errors: invalid_argument.
ZTENSOR_COLD inline result<void> check_settings(const http_settings& settings) {
    if (settings.request_bytes == 0 || settings.requests_in_flight == 0) {
        return fail(errc::invalid_argument, "request_bytes and requests_in_flight of http_options must not be 0");
    }
    if (settings.deadline_ms == 0 || settings.connect_ms == 0 || settings.stall_ms == 0) {
        return fail(errc::invalid_argument, "the times of http_options must not be 0");
    }
    if (!is_field_value(settings.user_agent)) {
        return fail(errc::invalid_argument, "the user agent of http_options holds control characters");
    }
    return check_fields(settings.headers);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
