// SPDX-License-Identifier: MIT
//
// Any text as a file of settings, the name of an object, an endpoint, a URL to sign, and an answer of S3: a file that is read is read
// again when it is written out; a URL has only characters that URLs may have, and leads to the server that was named.
#include "fuzz/fuzzing.hpp"

#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/detail/http/s3_replies.hpp>

#include <string>
#include <string_view>

namespace detail = ztensor::detail;

const std::size_t fuzzing::working_bytes = std::size_t{1} << 20;

namespace {

/// The first line, which is taken off.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

void read_settings(std::string_view text) {
    const auto file = detail::parse_ini(text);
    if (!file) {
        return;
    }
    std::string written;
    bool is_plain = true; // without what is only one kind of line in its place
    for (const auto& [section, properties] : *file) {
        written += '[' + section + "]\n";
        for (const auto& [key, value] : properties) {
            is_plain = is_plain && key.front() != '[' && value.find('\n') == std::string::npos;
            written += key + '=' + value + '\n';
        }
    }
    if (is_plain) {
        const auto again = detail::parse_ini(written);
        fuzzing::require(again.has_value() && *again == *file, "what was read is read again", written);
    }
    const detail::aws_files files = {*file, *file};
    const auto account = detail::resolve_s3_account({}, {}, files);
    fuzzing::require(account.has_value() || account.error().code() == ztensor::errc::invalid_argument,
                     "settings give an account or are refused");
}

void check_url(const ztensor::result<std::string>& url, std::string_view start) {
    if (!url) {
        fuzzing::require(url.error().code() == ztensor::errc::invalid_argument, "a name is a URL or refused");
        return;
    }
    for (const char c : *url) {
        fuzzing::require(detail::is_url_unreserved(c) || std::string_view("%/:[]").find(c) != std::string_view::npos,
                         "a URL has no other characters", *url);
    }
    fuzzing::require(url->compare(0, start.size(), start) == 0, "a URL leads to its server", *url);
    const auto parts = detail::split_url(*url);
    fuzzing::require(parts && parts->query.empty() && !detail::has_dot_segment(parts->path),
                     "a URL names one object and no query", *url);
}

void name_object(std::string_view uri, std::string_view endpoint) {
    check_url(detail::hub_url(uri, ""), "https://huggingface.co/");
    check_url(detail::hub_url(uri, endpoint), "http");
    if (const auto object = detail::parse_s3_uri(uri)) {
        check_url(detail::s3_url(*object, {}), "https://");
        check_url(detail::s3_url(*object, {"auto", std::string(endpoint), true}), "http");
        check_url(detail::s3_url(*object, {"auto", std::string(endpoint), false}), "http");
    }
}

void sign_request(std::string_view url, std::string_view value) {
    const detail::s3_header headers[] = {{"If-Match", std::string(value)}};
    const detail::s3_request request = {"GET", url, headers, detail::unsigned_payload, "auto", 1369353600};
    const auto added = detail::sign_s3_request(request, {"id", "secret", std::string(value)});
    if (added) {
        for (const auto& [name, text] : *added) {
            fuzzing::require(text.find_first_of("\r\n") == std::string::npos, "a header is one line", name);
        }
    }
}

void read_reply(std::string_view text) {
    const auto reply = detail::parse_s3_reply(text);
    fuzzing::require(!reply || reply->is_error() || detail::error_code_of(text).empty(), "only an error has a code");
    if (!reply) {
        return;
    }
    fuzzing::require(reply->code.size() <= 64 && reply->region.size() <= 63 && reply->upload_id.size() <= 2048,
                     "what is kept is short");
    for (const char c : reply->code + reply->region + reply->upload_id + reply->tag) {
        fuzzing::require(c > ' ' && c < 0x7f, "what is kept can be sent back");
    }
    const std::string tags[] = {reply->tag, reply->upload_id};
    fuzzing::require(detail::parse_s3_reply(detail::s3_parts_list(tags)).has_value(), "a list of parts is XML");
    const std::string name(reply->root);
    std::string body;
    for (const char c : reply->upload_id) {
        body += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    if (!body.empty()) {
        const auto again = detail::parse_s3_reply("<" + name + "><UploadId>" + body + "</UploadId></" + name + ">");
        fuzzing::require(body.size() > 2048 || (again && again->upload_id == reply->upload_id), "a value reads back");
    }
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    std::string_view text = as_text(input);
    read_settings(text);
    read_reply(text);
    const std::string_view first = take_line(text);
    name_object(first, take_line(text));
    sign_request(first, text);
}
