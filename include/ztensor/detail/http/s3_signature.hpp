// SPDX-License-Identifier: MIT
//
// AWS Signature Version 4 for requests to S3: what authenticates a request, without any network or clock.
#ifndef ZTENSOR_DETAIL_HTTP_S3_SIGNATURE_HPP
#define ZTENSOR_DETAIL_HTTP_S3_SIGNATURE_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/http/s3_location.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- HMAC-SHA-256 (RFC 2104)

using sha256_digest = std::array<byte, 32>;

/// SHA-256 of the pieces, one after the other.
[[nodiscard]] inline sha256_digest sha256_of(std::initializer_list<bytes_view> pieces) noexcept {
    digest_memory memory;
    std::copy_n(sha256_start, 8, memory.words);
    for (const bytes_view each : pieces) {
        sha256_update(memory, each);
    }
    return sha256_value(memory);
}

[[nodiscard]] inline sha256_digest hmac_sha256(bytes_view key, bytes_view text) noexcept {
    std::array<byte, sha256_block_bytes> block{};
    if (key.size() <= block.size()) {
        std::copy_n(key.data(), key.size(), block.data());
    } else {
        const sha256_digest short_key = sha256_of({key});
        std::copy(short_key.begin(), short_key.end(), block.data());
    }
    std::array<byte, sha256_block_bytes> inner = block;
    for (size_t i = 0; i < block.size(); ++i) {
        inner[i] ^= byte{0x36};
        block[i] ^= byte{0x5c};
    }
    const sha256_digest inside = sha256_of({inner, text});
    return sha256_of({block, inside});
}

[[nodiscard]] inline string sha256_hex(bytes_view bytes) {
    return with_hex("", sha256_of({bytes}), "0123456789abcdef");
}

// -- the request

/// Name and value of a header.
using s3_header = std::pair<string, string>;

struct aws_keys {
    string access_key_id;
    string secret_access_key;
    string session_token; ///< "" for keys that do not expire
};

/// SHA-256 of no bytes: the hash of a GET's payload.
inline constexpr string_view empty_payload_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// In place of the hash if the payload is not signed, which S3 accepts over https.
inline constexpr string_view unsigned_payload = "UNSIGNED-PAYLOAD";

/// A request that is to be signed.
struct s3_request {
    string_view method; ///< "GET"
    string_view url;    ///< as it is sent, percent-encoded
    /// The headers to sign. Those that proxies change are left out, see is_signed_header(). `Range` is optional: a
    /// request may be sent with a Range that is not among these.
    span<const s3_header> headers;
    string_view payload_sha256 = empty_payload_sha256; ///< in hexadecimal digits
    string_view region;
    uint64_t unix_seconds = 0; ///< the time now, since 1970
};

/// The time as YYYYMMDDThhmmssZ.
[[nodiscard]] inline string amz_date(uint64_t unix_seconds) {
    // Years begin in March, and days are counted from 1 March of year 0, so that the leap day is the last of its year.
    const uint64_t days = unix_seconds / 86400 + 719468;
    const uint64_t era = days / 146097; // 400 years
    const uint64_t day_of_era = days % 146097;
    const uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t march_month = (5 * day_of_year + 2) / 153;
    const uint64_t day = day_of_year - (153 * march_month + 2) / 5 + 1;
    const uint64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    const uint64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
    string out = padded(year, 4);
    for (const uint64_t each : {month, day}) {
        out += padded(each, 2);
    }
    out += 'T';
    for (const uint64_t each : {unix_seconds / 3600 % 24, unix_seconds / 60 % 60, unix_seconds % 60}) {
        out += padded(each, 2);
    }
    return out += 'Z';
}

/// False of headers, in lower case, that proxies and HTTP clients change on the way, and of those that the signature
/// itself brings.
[[nodiscard]] inline bool is_signed_header(string_view name) noexcept {
    constexpr string_view others[] = {"accept",
                                      "accept-encoding",
                                      "authorization",
                                      "connection",
                                      "expect",
                                      "te",
                                      "transfer-encoding",
                                      "user-agent",
                                      "x-amz-date",
                                      "via",
                                      "x-amz-content-sha256",
                                      "x-amz-security-token",
                                      "x-amzn-trace-id"};
    return std::find(std::begin(others), std::end(others), name) == std::end(others);
}

/// A part of a URL in the one form that S3 signs, however the URL spells it: what need not be encoded is not, and the
/// digits are upper-case.
[[nodiscard]] inline string canonical_url_part(string_view part, bool keeps_slash) {
    const auto digit_of = [](char c) {
        return is_ascii_digit(c)      ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    };
    string out;
    for (size_t i = 0; i < part.size(); ++i) {
        char c = part[i];
        if (c == '%' && part.size() - i > 2 && digit_of(part[i + 1]) >= 0 && digit_of(part[i + 2]) >= 0) {
            c = static_cast<char>(digit_of(part[i + 1]) * 16 + digit_of(part[i + 2]));
            i += 2;
        }
        append_percent_encoded(out, c, keeps_slash);
    }
    return out;
}

[[nodiscard]] inline string canonical_query(string_view query) {
    vector<s3_header> pairs;
    while (!query.empty()) {
        const string_view each = query.substr(0, query.find('&'));
        query.remove_prefix((std::min)(each.size() + 1, query.size()));
        const size_t equals = (std::min)(each.find('='), each.size());
        if (!each.empty()) {
            pairs.emplace_back(canonical_url_part(each.substr(0, equals), false),
                               canonical_url_part(each.substr((std::min)(equals + 1, each.size())), false));
        }
    }
    std::sort(pairs.begin(), pairs.end());
    string out;
    for (const auto& [name, value] : pairs) {
        out.append(out.empty() ? "" : "&").append(name).append(1, '=').append(value);
    }
    return out;
}

/// Without white space around it, and with one space in place of several.
[[nodiscard]] inline string trimmed_value(string_view value) {
    string out;
    for (const char c : value) {
        const bool is_blank = c == ' ' || c == '\t';
        if (!is_blank || (!out.empty() && out.back() != ' ')) {
            out += is_blank ? ' ' : c;
        }
    }
    out.erase(out.size() - (!out.empty() && out.back() == ' ' ? 1 : 0));
    return out;
}

/// The headers that are signed: names in lower case, each once, in order.
[[nodiscard]] inline vector<s3_header> canonical_headers(span<const s3_header> headers, span<const s3_header> added) {
    vector<s3_header> out;
    for (const auto& [name, value] : headers) {
        string lower = ascii_lower(name);
        if (is_signed_header(lower)) {
            out.emplace_back(std::move(lower), trimmed_value(value));
        }
    }
    for (const auto& [name, value] : added) {
        out.emplace_back(ascii_lower(name), value);
    }
    std::stable_sort(out.begin(), out.end(), [](const s3_header& a, const s3_header& b) { return a.first < b.first; });
    size_t kept = 0;
    for (size_t i = 1; i < out.size(); ++i) {
        if (out[i].first == out[kept].first) {
            out[kept].second.append(1, ',').append(out[i].second);
        } else if (++kept != i) {
            out[kept] = std::move(out[i]);
        }
    }
    out.resize((std::min)(kept + 1, out.size()));
    return out;
}

// -- the signature

[[nodiscard]] inline sha256_digest aws_signing_key(string_view secret, string_view day, string_view region,
                                                   string_view service) {
    const string start = "AWS4" + string(secret);
    const sha256_digest of_day = hmac_sha256(as_bytes(start), as_bytes(day));
    const sha256_digest of_region = hmac_sha256(of_day, as_bytes(region));
    const sha256_digest of_service = hmac_sha256(of_region, as_bytes(service));
    return hmac_sha256(of_service, as_bytes(string_view("aws4_request")));
}

/// Errors: invalid_argument for keys that no header can hold. The message does not quote them.
[[nodiscard]] inline result<void> check_keys(const aws_keys& keys) {
    const auto is_printable = [](string_view text, string_view without) {
        return text.size() <= 65536 && std::all_of(text.begin(), text.end(), [&](char c) {
                   return c > ' ' && c < 0x7f && without.find(c) == string_view::npos;
               });
    };
    if (keys.access_key_id.empty() || !is_printable(keys.access_key_id, "/,")) {
        return fail(errc::invalid_argument, "the access key id is empty, or has a character that none can have");
    }
    if (keys.secret_access_key.empty() ||
        std::any_of(keys.secret_access_key.begin(), keys.secret_access_key.end(), is_ascii_control)) {
        return fail(errc::invalid_argument, "the secret access key is empty, or has a line break or control character");
    }
    if (!is_printable(keys.session_token, "")) {
        return fail(errc::invalid_argument, "the session token has a character that none can have");
    }
    return {};
}

/// The headers that `request` needs besides its own: x-amz-content-sha256, x-amz-date, x-amz-security-token for keys
/// with a token, and Authorization. The request must then be sent to that URL as it is, without removing segments or
/// encoding anything again. Errors: invalid_argument.
[[nodiscard]] inline result<vector<s3_header>> sign_s3_request(const s3_request& request, const aws_keys& keys) {
    ZTENSOR_TRY(check_keys(keys));
    const optional<url_parts> parts = split_url(request.url);
    constexpr uint64_t year_10000 = 253402300800;
    if (!parts || parts->authority.empty() || request.unix_seconds >= year_10000 || !is_made_of(request.region, "-")) {
        return fail(errc::invalid_argument, "a request to sign has a URL, a region, and a time before the year 10000");
    }
    bool has_host = false;
    for (const auto& [name, value] : request.headers) {
        if (std::any_of(value.begin(), value.end(), [](char c) { return is_ascii_control(c) && c != '\t'; })) {
            return fail(errc::invalid_argument, "the header {} has a line break or control character",
                        {in_quotes(name)});
        }
        has_host = has_host || ascii_lower(name) == "host";
    }
    const string time = amz_date(request.unix_seconds);
    const string day = time.substr(0, 8);
    vector<s3_header> added = {{"x-amz-content-sha256", string(request.payload_sha256)}, {"x-amz-date", time}};
    if (!keys.session_token.empty()) {
        added.emplace_back("x-amz-security-token", keys.session_token);
    }
    vector<s3_header> with_host = added;
    if (!has_host) {
        // HTTP clients leave out a port that is the scheme's own.
        const string_view own_port = parts->scheme == "https" ? ":443" : ":80";
        string_view host = parts->authority;
        const bool has_own_port = host.size() > own_port.size() && ends_with(host, own_port);
        with_host.emplace_back("host", string(host.substr(0, host.size() - (has_own_port ? own_port.size() : 0))));
    }
    string header_lines;
    string names;
    for (const auto& [name, value] : canonical_headers(request.headers, with_host)) {
        header_lines.append(name).append(1, ':').append(value).append(1, '\n');
        names.append(names.empty() ? "" : ";").append(name);
    }
    const string path = parts->path.empty() ? string("/") : canonical_url_part(parts->path, true);
    const string canonical_request =
        sentence("{}\n{}\n{}\n{}\n{}\n{}",
                 {request.method, path, canonical_query(parts->query), header_lines, names, request.payload_sha256});
    const string scope = sentence("{}/{}/s3/aws4_request", {day, request.region});
    const string to_sign =
        sentence("AWS4-HMAC-SHA256\n{}\n{}\n{}", {time, scope, sha256_hex(as_bytes(string_view(canonical_request)))});
    const sha256_digest key = aws_signing_key(keys.secret_access_key, day, request.region, "s3");
    added.emplace_back("Authorization",
                       sentence("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                                {keys.access_key_id, scope, names,
                                 with_hex("", hmac_sha256(key, as_bytes(string_view(to_sign))), "0123456789abcdef")}));
    return added;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
