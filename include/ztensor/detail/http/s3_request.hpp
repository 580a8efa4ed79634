// SPDX-License-Identifier: MIT
//
// Requests for an object in a store: where they go, by names such as s3://bucket/key and hf://owner/name/file, and what
// authenticates them, AWS Signature Version 4. Pure functions on text, without any network or clock.
#ifndef ZTENSOR_DETAIL_HTTP_S3_REQUEST_HPP
#define ZTENSOR_DETAIL_HTTP_S3_REQUEST_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/codec/sha256.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- URLs

/// The parts of a URL. The fragment is dropped.
struct url_parts {
    string_view scheme;
    string_view authority; ///< host and perhaps port
    string_view path;      ///< "" or from its first '/'
    string_view query;     ///< without the '?'
};

[[nodiscard]] inline optional<url_parts> split_url(string_view url) noexcept {
    constexpr size_t none = string_view::npos;
    url = url.substr(0, url.find('#'));
    const size_t scheme_end = url.find("://");
    if (scheme_end == none) {
        return std::nullopt;
    }
    url_parts parts;
    parts.scheme = url.substr(0, scheme_end);
    url.remove_prefix(scheme_end + 3);
    if (const size_t mark = url.find('?'); mark != none) {
        parts.query = url.substr(mark + 1);
        url = url.substr(0, mark);
    }
    const size_t path = (std::min)(url.find('/'), url.size());
    parts.authority = url.substr(0, path);
    parts.path = url.substr(path);
    return parts;
}

/// True if a segment is "." or "..": HTTP clients remove such segments, and then the URL names another object, perhaps
/// in another bucket.
[[nodiscard]] inline bool has_dot_segment(string_view path) noexcept {
    while (!path.empty()) {
        if (const string_view segment = take_until(path, '/'); segment == "." || segment == "..") {
            return true;
        }
    }
    return false;
}

/// A server, and perhaps a folder of it that all paths start with.
struct http_endpoint {
    string scheme;    ///< "http" or "https"
    string authority; ///< lower case, without a port that is the scheme's own, as HTTP clients send it
    string path;      ///< "" or "/..." without a '/' at the end
};

[[nodiscard]] inline bool is_url_host(string_view host) noexcept {
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') { // IPv6
        return is_made_of(host.substr(1, host.size() - 2), ":.");
    }
    return host.size() <= 253 && is_made_of(host, ".-_") && is_ascii_alphanumeric(host.front());
}

/// Errors: invalid_argument. The message does not quote the text, which might hold a password.
[[nodiscard]] inline result<http_endpoint> parse_endpoint(string_view text) {
    const optional<url_parts> parts = split_url(text);
    http_endpoint found;
    found.scheme = parts ? ascii_lower(parts->scheme) : string();
    if (found.scheme != "http" && found.scheme != "https") {
        return fail(errc::invalid_argument, "an endpoint starts with https:// or http://");
    }
    string_view host = parts->authority;
    const size_t colon = host.rfind(':');
    const bool has_port = colon != string_view::npos && host.find(']', colon) == string_view::npos;
    const string_view port = has_port ? host.substr(colon + 1) : string_view();
    host = has_port ? host.substr(0, colon) : host;
    string_view path = parts->path;
    while (!path.empty() && path.back() == '/') {
        path.remove_suffix(1);
    }
    const auto is_digits = [](string_view digits) { return std::all_of(digits.begin(), digits.end(), is_ascii_digit); };
    const bool is_port = !has_port || (!port.empty() && port.size() <= 5 && is_digits(port) && port.front() != '0' &&
                                       (port.size() < 5 || port <= "65535"));
    if (!is_url_host(host) || !is_port || (!path.empty() && !is_made_of(path, "/-._~")) || has_dot_segment(path) ||
        text.find_first_of("?#") != string_view::npos) {
        return fail(errc::invalid_argument, "an endpoint is https:// or http://, a host, and perhaps a port and a path "
                                            "of letters, digits and any of -._~/");
    }
    found.authority = ascii_lower(host);
    if (has_port && port != (found.scheme == "https" ? "443" : "80")) {
        found.authority.append(1, ':').append(port);
    }
    found.path = string(path);
    return found;
}

// -- s3://

/// Where buckets are.
struct s3_place {
    string region = "us-east-1";
    string endpoint;           ///< "" for AWS itself
    optional<bool> path_style; ///< unless set, virtual hosts on AWS, and paths elsewhere
};

struct s3_object {
    string bucket;
    string key;
};

/// The domain that the endpoints of a region are in. Its partition is known by how the region starts.
[[nodiscard]] inline string_view aws_domain(string_view region) noexcept {
    constexpr std::pair<string_view, string_view> partitions[] = {
        {"cn-", "amazonaws.com.cn"},   {"eusc-", "amazonaws.eu"},      {"us-iso-", "c2s.ic.gov"},
        {"us-isob-", "sc2s.sgov.gov"}, {"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"}};
    for (const auto& [start, domain] : partitions) {
        if (region.substr(0, start.size()) == start) {
            return domain;
        }
    }
    return "amazonaws.com";
}

/// Also of an endpoint that the caller gave, such as that of a VPC or with dual-stack addresses.
[[nodiscard]] inline bool is_aws_host(string_view host, string_view region) noexcept {
    const string_view domain = aws_domain(region);
    return ends_with(host, domain) && host.size() > domain.size() && host[host.size() - domain.size() - 1] == '.';
}

/// True if the name can be a label of a host's name, and so of the name in a TLS certificate for all buckets.
[[nodiscard]] inline bool is_host_label(string_view bucket) noexcept {
    return bucket.size() <= 63 && bucket.find_first_of("._") == string_view::npos && ascii_lower(bucket) == bucket;
}

/// Errors: invalid_argument. The message does not quote the bucket: some tools accept credentials in its place.
[[nodiscard]] inline result<void> check_s3_object(const s3_object& object) {
    const string_view bucket = object.bucket;
    // The names that AWS gave before 2018 may be longer and have other characters; other servers still give such.
    if (bucket.size() < 3 || bucket.size() > 255 || !is_made_of(bucket, ".-_") ||
        !is_ascii_alphanumeric(bucket.front()) || !is_ascii_alphanumeric(bucket.back()) ||
        bucket.find("..") != string_view::npos) {
        return fail(errc::invalid_argument, "a bucket's name is 3 to 255 letters, digits and any of .-_, and starts "
                                            "and ends with a letter or digit");
    }
    constexpr size_t max_key_bytes = 1024; // a rule of S3
    if (object.key.empty() || object.key.size() > max_key_bytes || !is_utf8(object.key) ||
        object.key.find('\0') != string::npos) {
        return fail(errc::invalid_argument, "a key is 1 to {} bytes of UTF-8 without U+0000, and this one is {} bytes",
                    {max_key_bytes, object.key.size()});
    }
    if (has_dot_segment(object.key)) {
        return fail(errc::invalid_argument, "a key with a segment \".\" or \"..\" can't be asked for over HTTP");
    }
    return {};
}

/// s3://bucket/key. The key is taken as it is: '%', '?' and '#' are characters of it. Errors: invalid_argument.
[[nodiscard]] inline result<s3_object> parse_s3_uri(string_view uri) {
    constexpr string_view scheme = "s3://";
    if (uri.substr(0, scheme.size()) != scheme) {
        return fail(errc::invalid_argument, "the name of an object in S3 is s3://bucket/key");
    }
    uri.remove_prefix(scheme.size());
    const string_view bucket = take_until(uri, '/');
    s3_object found = {string(bucket), string(uri)};
    ZTENSOR_TRY(check_s3_object(found));
    return found;
}

/// The URL that a GET of the object is sent to. Errors: invalid_argument.
[[nodiscard]] inline result<string> s3_url(const s3_object& object, const s3_place& place) {
    ZTENSOR_TRY(check_s3_object(object));
    if (place.region.size() > 63 || !is_made_of(place.region, "-")) {
        return fail(errc::invalid_argument, "the name of a region is letters, digits and hyphens");
    }
    http_endpoint server = {"https", sentence("s3.{}.{}", {place.region, aws_domain(place.region)}), ""};
    if (!place.endpoint.empty()) {
        ZTENSOR_TRY_ASSIGN(server, parse_endpoint(place.endpoint));
    }
    const string_view host = string_view(server.authority).substr(0, server.authority.find(':'));
    const bool fits_host = is_host_label(object.bucket) && host.find('[') == string_view::npos;
    const bool is_virtual = place.path_style ? !*place.path_style : fits_host && is_aws_host(host, place.region);
    if (is_virtual && !fits_host) {
        return fail(errc::invalid_argument, "this bucket can't be a part of this host's name: path_style(true) puts it "
                                            "into the path");
    }
    string url = server.scheme + "://";
    url += is_virtual ? object.bucket + '.' + server.authority : server.authority;
    url += server.path;
    url += is_virtual ? string("/") : '/' + object.bucket + '/';
    return url += percent_encoded(object.key, true);
}

// -- hf://

/// hf://owner/name/file, a file in a repository of models on Hugging Face; hf://datasets/owner/name/file and
/// hf://spaces/owner/name/file likewise. A revision (a branch, tag or commit; else "main") stands behind '@', after the
/// name of the repository, as in huggingface_hub, or after the file. `endpoint` is "" for Hugging Face itself.
/// Errors: invalid_argument.
[[nodiscard]] inline result<string> hub_url(string_view uri, string_view endpoint) {
    constexpr string_view scheme = "hf://";
    const auto wrong = [] {
        return fail(errc::invalid_argument,
                    "the name of a file on Hugging Face is hf://owner/name/file, hf://owner/name@revision/file or "
                    "hf://owner/name/file@revision; datasets/ or spaces/ may stand before the owner");
    };
    if (uri.substr(0, scheme.size()) != scheme) {
        return wrong();
    }
    uri.remove_prefix(scheme.size());
    const auto take = [&] { return take_until(uri, '/'); }; // the next segment
    string_view owner = take();
    const bool has_kind = owner == "datasets" || owner == "spaces";
    const string kind = has_kind ? string(owner) + '/' : string();
    owner = has_kind ? take() : owner;
    string_view name = take();
    string revision = "main";
    if (const size_t at = name.find('@'); at != string_view::npos) {
        revision = string(name.substr(at + 1));
        name = name.substr(0, at);
        if (revision == "refs") { // refs/pr/1 and refs/convert/parquet are the revisions with a '/'
            revision.append(1, '/').append(take());
            revision.append(1, '/').append(take());
        }
    } else if (const size_t behind_file = uri.rfind('@'); behind_file != string_view::npos) {
        revision = string(uri.substr(behind_file + 1));
        uri = uri.substr(0, behind_file);
    }
    const auto is_path = [](string_view path) {
        return !path.empty() && path.size() <= 4096 && is_utf8(path) && path.find('\0') == string_view::npos &&
               !has_dot_segment(path) && path.front() != '/' && path.back() != '/' &&
               path.find("//") == string_view::npos;
    };
    if (!is_made_of(owner, "-._") || !is_made_of(name, "-._") || has_dot_segment(owner) || has_dot_segment(name) ||
        !is_path(uri) || !is_path(revision)) {
        return wrong();
    }
    http_endpoint server = {"https", "huggingface.co", ""};
    if (!endpoint.empty()) {
        ZTENSOR_TRY_ASSIGN(server, parse_endpoint(endpoint));
    }
    return sentence("{}://{}{}/{}{}/{}/resolve/{}/{}", {server.scheme, server.authority, server.path, kind, owner, name,
                                                        percent_encoded(revision, false), percent_encoded(uri, true)});
}

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
        if (string_view value = take_until(query, '&'); !value.empty()) {
            const string_view name = take_until(value, '=');
            pairs.emplace_back(canonical_url_part(name, false), canonical_url_part(value, false));
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
