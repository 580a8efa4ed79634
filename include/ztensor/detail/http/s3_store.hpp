// SPDX-License-Identifier: MIT
//
// What S3 adds to requests for one object and its neighbours: where they go, by which region they are signed, and what
// an answer says about both.
#ifndef ZTENSOR_DETAIL_HTTP_S3_STORE_HPP
#define ZTENSOR_DETAIL_HTTP_S3_STORE_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/detail/http/s3_location.hpp>
#include <ztensor/detail/http/s3_replies.hpp>
#include <ztensor/detail/http/s3_signature.hpp>
#include <ztensor/detail/os/system.hpp>
#include <ztensor/result.hpp>

#include <ctime>
#include <functional>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class s3_store final : public http_store {
public:
    using keys_function = std::function<result<aws_keys>()>;

    /// Requests are signed with the keys of `function`, if it is given, else with those of the account, if it has any.
    s3_store(string bucket, s3_account account, keys_function function)
        : bucket_(std::move(bucket)), keys_(std::move(account.keys)), function_(std::move(function)),
          place_(std::move(account.place)) {}

    /// Errors: invalid_argument; those of the function for keys.
    [[nodiscard]] result<http_fields> sign(string_view method, string_view url, const http_fields& fields,
                                           string_view payload_sha256) const override {
        const s3_place place = this->place();
        ZTENSOR_TRY_ASSIGN(const bool is_here, is_in(url, place));
        if (!is_here || (function_ == nullptr && !keys_)) {
            return http_fields();
        }
        s3_request request;
        request.method = method;
        request.url = url;
        request.headers = fields;
        request.payload_sha256 = !payload_sha256.empty() ? payload_sha256 : empty_payload_sha256;
        request.region = place.region;
        request.unix_seconds = static_cast<uint64_t>(std::time(nullptr));
        if (function_ == nullptr) {
            return sign_s3_request(request, *keys_);
        }
        ZTENSOR_TRY_ASSIGN(const aws_keys keys, function_());
        return sign_s3_request(request, keys);
    }

    /// The bucket is in another region; the keys have expired, and there is a function for new ones; or S3 did not get
    /// the request in time.
    [[nodiscard]] optional<string> correct(string_view url, const http_response_head& head,
                                           string_view body) const override {
        const unsigned status = head.status();
        const s3_reply reply = parse_s3_reply(body).value_or(s3_reply());
        const string region = !head.bucket_region().empty() ? string(head.bucket_region()) : reply.region;
        if ((status == 301 || status == 307 || status == 400) && is_made_of(region, "-")) {
            s3_place place = this->place();
            const bool is_other = place.region != region;
            place.region = region;
            const result<string> moved = moved_to(url, place);
            if (moved && (is_other || *moved != url)) {
                const os_lock lock(mutex_);
                place_.region = region;
                return *moved;
            }
        }
        const string& code = reply.code;
        const bool has_expired = code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired" ||
                                 code == "InvalidAccessKeyId";
        const bool may_pass = (function_ != nullptr && has_expired) || code == "RequestTimeout";
        return reply.is_error() && may_pass ? optional<string>(url) : std::nullopt;
    }

    /// s3://bucket/key of another object as a URL; other URLs as they are.
    [[nodiscard]] result<string> url_of(string text) const {
        if (text.compare(0, 5, "s3://") != 0) {
            return text;
        }
        ZTENSOR_TRY_ASSIGN(const s3_object object, parse_s3_uri(text));
        return s3_url(object, place());
    }

private:
    [[nodiscard]] s3_place place() const {
        const os_lock lock(mutex_);
        return place_;
    }

    /// Host and port of `place`, without a bucket.
    [[nodiscard]] static result<string> server_of(s3_place place) {
        place.path_style = true;
        ZTENSOR_TRY_ASSIGN(const string url, s3_url({"any", "any"}, place));
        return string(split_url(url).value_or(url_parts()).authority);
    }

    /// The URL is of the server that was named: signatures go nowhere else.
    [[nodiscard]] static result<bool> is_in(string_view url, const s3_place& place) {
        ZTENSOR_TRY_ASSIGN(const string server, server_of(place));
        const string_view host = split_url(url).value_or(url_parts()).authority;
        const size_t before = host.size() - (std::min)(server.size(), host.size());
        return host.substr(before) == server && (before == 0 || host[before - 1] == '.');
    }

    /// On AWS the region is a part of the host's name; servers of the caller's own stay where they are.
    [[nodiscard]] result<string> moved_to(string_view url, const s3_place& place) const {
        const optional<url_parts> parts = split_url(url);
        if (!place.endpoint.empty() || !parts) {
            return string(url);
        }
        ZTENSOR_TRY_ASSIGN(const string other, s3_url({bucket_, "any"}, place));
        const string_view host = split_url(other).value_or(url_parts()).authority;
        string moved = sentence("{}://{}{}", {parts->scheme, host, parts->path});
        return parts->query.empty() ? moved : moved.append(1, '?').append(parts->query);
    }

    string bucket_;
    optional<aws_keys> keys_;
    keys_function function_;
    mutable os_mutex mutex_;
    mutable s3_place place_; ///< whose region changes
};

/// What requests for an object are made with.
struct s3_target {
    string url;
    std::shared_ptr<const http_settings> settings;
};

/// Errors: invalid_argument; those of find_s3_account().
[[nodiscard]] ZTENSOR_COLD inline result<s3_target>
find_s3_target(string_view uri, const s3_choices& chosen, s3_store::keys_function function, http_settings settings) {
    ZTENSOR_TRY_ASSIGN(s3_object object, parse_s3_uri(uri));
    if (settings.sign) {
        return fail(errc::invalid_argument, "requests to S3 are signed as s3_options say, not by http_options::sign()");
    }
    ZTENSOR_TRY_ASSIGN(s3_account account, find_s3_account(chosen));
    s3_target target;
    ZTENSOR_TRY_ASSIGN(target.url, s3_url(object, account.place));
    if (settings.ca_file.empty()) {
        settings.ca_file = account.ca_bundle;
    }
    const auto store =
        std::make_shared<const s3_store>(std::move(object.bucket), std::move(account), std::move(function));
    settings.store = store;
    if (settings.shard_url) {
        settings.shard_url = [of = std::move(settings.shard_url), store](string_view name,
                                                                         string_view digest) -> result<string> {
            ZTENSOR_TRY_ASSIGN(string text, of(name, digest));
            return store->url_of(std::move(text));
        };
    }
    target.settings = std::make_shared<const http_settings>(std::move(settings));
    return target;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
