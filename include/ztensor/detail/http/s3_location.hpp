// SPDX-License-Identifier: MIT
//
// Names of objects in a store, such as s3://bucket/key and hf://owner/name/file, as URLs. Pure functions on text.
#ifndef ZTENSOR_DETAIL_HTTP_S3_LOCATION_HPP
#define ZTENSOR_DETAIL_HTTP_S3_LOCATION_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
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
    while (true) {
        const size_t end = path.find('/');
        const string_view segment = path.substr(0, end);
        if (segment == "." || segment == "..") {
            return true;
        }
        if (end == string_view::npos) {
            return false;
        }
        path.remove_prefix(end + 1);
    }
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
    const size_t slash = (std::min)(uri.find('/'), uri.size());
    s3_object found = {string(uri.substr(0, slash)), string(uri.substr((std::min)(slash + 1, uri.size())))};
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
    const auto take = [&] { // the next segment
        const size_t end = (std::min)(uri.find('/'), uri.size());
        const string_view segment = uri.substr(0, end);
        uri.remove_prefix((std::min)(end + 1, uri.size()));
        return segment;
    };
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

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
