// SPDX-License-Identifier: MIT
//
// Objects in S3, and in stores that speak its protocol, read and written; and files on Hugging Face. Needs what
// http.hpp needs: the CMake target ztensor::http.
#ifndef ZTENSOR_S3_HPP
#define ZTENSOR_S3_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/detail/http/s3_request.hpp>
#include <ztensor/detail/http/s3_store.hpp>
#include <ztensor/detail/http/source.hpp>
#include <ztensor/detail/http/url.hpp>
#include <ztensor/http.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct s3_access;

} // namespace detail

/// Keys for S3.
struct s3_credentials {
    std::string access_key_id;     ///< says whose key it is
    std::string secret_access_key; ///< signs; is never sent
    std::string session_token;     ///< of temporary keys; else empty
};

/// Options of what reads from S3. What is not set comes from where the AWS tools look for it: environment variables,
/// then the profile in the shared credentials file (AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials) and in the
/// config file (AWS_CONFIG_FILE, or ~/.aws/config). If region and credentials are set here, or anonymous(), and no
/// profile is, neither file is read.
///
/// Keys that are not in a file or variable (of the metadata service of EC2, of ECS, SSO, assumed roles) are not looked
/// for: a callback gets them, for which a program may use an SDK.
struct s3_options {
    /// Such as "eu-central-1". Unless set: AWS_REGION, AWS_DEFAULT_REGION, `region` of the profile, else "us-east-1".
    s3_options& region(std::string value) noexcept { return choices_.region = std::move(value), *this; }
    /// The URL of a server other than AWS: http:// or https://, host, and perhaps a port and a path, such as
    /// "http://localhost:9000". Unless set: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, `endpoint_url` of the profile (of
    /// its services first), else AWS.
    s3_options& endpoint(std::string value) noexcept { return choices_.endpoint = std::move(value), *this; }
    /// Whether the bucket is the first part of the path (true), or of the host's name (false). Unless set: as
    /// `addressing_style` of the profile says, else in the host's name on AWS if the bucket can be a part of that
    /// (lower-case letters, digits and hyphens: a certificate does not cover a bucket with dots), and in the path
    /// everywhere else.
    s3_options& path_style(bool value) noexcept { return choices_.path_style = value, *this; }
    /// The profile in the AWS files; its keys are then preferred to those in environment variables. Unless set:
    /// AWS_PROFILE, else "default".
    s3_options& profile(std::string value) noexcept { return choices_.profile = std::move(value), *this; }
    /// The keys to sign requests with. Of this call, the one with a callback, and anonymous(), the last one counts.
    /// Unless any is made: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else those of the
    /// profile.
    s3_options& credentials(std::string access_key_id, std::string secret_access_key, std::string session_token = {}) {
        choices_.keys = {std::move(access_key_id), std::move(secret_access_key), std::move(session_token)};
        callback_ = nullptr;
        return *this;
    }
    /// A function that gives the keys. It is called before each request, from several threads at once: it keeps keys
    /// until they are about to expire. Its error is that of the request.
    s3_options& credentials(std::function<result<s3_credentials>()> callback) {
        choices_.keys.reset();
        choices_.searches_keys = callback == nullptr;
        callback_ = std::move(callback);
        return *this;
    }
    /// Requests are not signed: for public buckets.
    s3_options& anonymous(bool value = true) noexcept {
        choices_.keys.reset();
        choices_.searches_keys = !value;
        callback_ = nullptr;
        return *this;
    }

    // What was chosen.

    [[nodiscard]] const std::string& region() const noexcept { return choices_.region; }
    [[nodiscard]] const std::string& endpoint() const noexcept { return choices_.endpoint; }
    [[nodiscard]] const std::string& profile() const noexcept { return choices_.profile; }
    [[nodiscard]] std::optional<bool> path_style() const noexcept { return choices_.path_style; }
    [[nodiscard]] bool is_anonymous() const noexcept {
        return !choices_.keys && !choices_.searches_keys && callback_ == nullptr;
    }
    [[nodiscard]] const std::function<result<s3_credentials>()>& callback() const noexcept { return callback_; }

private:
    friend struct detail::s3_access;

    detail::s3_choices choices_;
    std::function<result<s3_credentials>()> callback_;
};

/// Options of s3_sink::open().
class s3_write_options {
    friend class s3_sink;

public:
    /// Refuses to replace an object: if there is one of that name when the upload ends, finish() is errc::io_error with
    /// an error::os_error() equal to std::errc::file_exists. The server decides (`If-None-Match: *`), so that of
    /// several writers one wins. Unless told otherwise, the object that finishes last stays.
    s3_write_options& create_only(bool value = true) noexcept { return settings_.is_create_only = value, *this; }
    /// An object of at most so many bytes is sent by one request; what is larger goes in parts of so many bytes. 8 MiB
    /// unless changed, from 5 MiB to 5 GiB. From the 2001st part on they grow, so that 10,000 parts hold 5 TiB.
    s3_write_options& part_bytes(std::uint64_t value) noexcept { return settings_.part_bytes = value, *this; }
    /// So many parts are under way at once, 4 unless changed. The sink takes memory for one more. Parts that have grown
    /// beyond 16 MiB are fewer at once, down to one, for the same memory.
    s3_write_options& parts_in_flight(unsigned value) noexcept { return settings_.parts_in_flight = value, *this; }
    /// Adds a header field to the request that creates the object, such as ("x-amz-storage-class", "STANDARD_IA"),
    /// ("x-amz-server-side-encryption", "AES256"), ("x-amz-meta-...", "...") or ("Content-Type", "...").
    s3_write_options& header(std::string_view name, std::string_view value) {
        return settings_.fields.emplace_back(name, value), *this;
    }

private:
    detail::s3_upload_settings settings_;
};

namespace detail {

/// What was chosen, for requests.
struct s3_access {
    [[nodiscard]] static const s3_choices& choices_of(const s3_options& options) noexcept { return options.choices_; }
};

/// What requests for s3://bucket/key are made with. Errors: those of find_s3_target().
inline result<s3_target> s3_target_of(std::string_view uri, const s3_options& where, const http_settings& how) {
    s3_store::keys_function function;
    if (where.callback() != nullptr) {
        function = [callback = where.callback()]() -> result<aws_keys> {
            ZTENSOR_TRY_ASSIGN(s3_credentials keys, callback());
            return aws_keys{std::move(keys.access_key_id), std::move(keys.secret_access_key),
                            std::move(keys.session_token)};
        };
    }
    return find_s3_target(uri, s3_access::choices_of(where), std::move(function), how);
}

} // namespace detail

/// An object in S3 as a source of bytes, for reader::from_source(), open_any() and others.
///
/// It is read as http_source reads a file behind a URL, with the same options and guarantees. Each request is signed
/// (AWS Signature Version 4) with the time and, if a callback gives them, the keys of that moment. Signatures, keys and
/// tokens go to the server of the bucket alone. If the answer says that the bucket is in another region, the request is
/// made once more, signed for that region, and so are those that follow. If it says that the keys have expired,
/// the callback is asked again. Shards are objects beside the root: their keys are "<stem>-<name>.zt" and
/// "blobs/<algorithm>/<hex>" in the same folder; http_options::shard_url() may give others, also as s3://bucket/key.
class s3_source {
public:
    s3_source() = delete;

    /// `uri` is s3://bucket/key, where '%', '?' and '#' are characters of the key. Errors: those of
    /// http_source::open(), where a sentence about a status ends with what S3 calls the error, such as
    /// SignatureDoesNotMatch; invalid_argument for what is no such name, for no or unusable credentials, and for
    /// http_options::sign(); header_malformed and io_error for the files of the AWS tools; what the callback returns.
    /// error::path() is the https URL of the object.
    static result<std::shared_ptr<const byte_source>> open(std::string_view uri, const s3_options& where = {},
                                                           const http_options& how = {}) {
        return detail::guard_memory([&]() -> result<std::shared_ptr<const byte_source>> {
            ZTENSOR_TRY_ASSIGN(const detail::s3_target target,
                               detail::s3_target_of(uri, where, detail::http_access::settings(how)));
            return detail::open_http_file(target.url, *target.settings);
        });
    }
};

/// An object in S3 as a sink of bytes, for writer::to_sink().
///
/// The object appears when finish() succeeds, and all of it at once; an object of that name is replaced then. What is
/// small is sent by one request. The rest is a multipart upload: its parts are sent while the next one is filled, so
/// that write() waits only for memory. Each request is repeated as http_options say. If anything fails, and if the sink
/// is destroyed before finish(), the upload is aborted, so that no part is kept and paid for; that takes a request, for
/// which the destructor waits at most a tenth of http_options::deadline(). A program that is killed, or that can't
/// reach the server any more, leaves its parts behind invisibly: a rule for the bucket (AbortIncompleteMultipartUpload)
/// removes them.
class s3_sink {
public:
    s3_sink() = delete;

    /// Makes no request. `uri` is s3://bucket/key. Errors: invalid_argument, as s3_source::open(), and for options
    /// outside their range; those of the files of the AWS tools.
    ///
    /// Errors of write() and finish(): io_error, file_not_found (no such bucket), limit_exceeded (more than 10,000
    /// parts), out_of_memory, what the callback returns; with create_only(), io_error with std::errc::file_exists, and
    /// busy if another writer makes the object at the same moment; cancelled if the progress function of a copy
    /// ends it. Where the answer to the last request is lost, the object is looked at: finish() succeeds if it has the
    /// size and the ETag of what was written. It may be there although finish() fails if it can't be looked at, or if
    /// its ETag is no MD5, as of buckets that are encrypted with keys of KMS.
    static result<std::unique_ptr<byte_sink>> open(std::string_view uri, const s3_options& where = {},
                                                   const s3_write_options& what = {}, const http_options& how = {}) {
        return detail::guard_memory([&]() -> result<std::unique_ptr<byte_sink>> {
            detail::http_settings settings = detail::http_access::settings(how);
            settings.requests_in_flight = (std::max)(what.settings_.parts_in_flight, 1u);
            ZTENSOR_TRY_ASSIGN(detail::s3_target target, detail::s3_target_of(uri, where, settings));
            return detail::open_s3_upload(std::move(target), what.settings_);
        });
    }
};

/// Opens a file by its name in a store, of any format that open_any() reads:
///
/// - s3://bucket/key, an object in S3, see s3_source.
/// - hf://owner/name/file, a file on Hugging Face, with the token in HF_TOKEN if that is set (HF_ENDPOINT names another
///   server). hf://datasets/owner/name/file and hf://spaces/owner/name/file likewise. A revision stands behind '@',
///   after the name of the repository or of the file; else it is "main". The token goes to that server alone, not to
///   where it redirects; an Authorization header of http_options is preferred to it.
/// - http://, https://, as open_url().
///
/// Errors: those of s3_source::open() and open_url(). reader::path() is the URL that is asked for, without secrets.
inline result<reader> open_remote(std::string_view name, const read_options& options = {}, const http_options& how = {},
                                  const s3_options& where = {}) {
    return detail::guard_memory([&]() -> result<reader> {
        if (name.substr(0, 5) == "s3://") {
            ZTENSOR_TRY_ASSIGN(const detail::s3_target target,
                               detail::s3_target_of(name, where, detail::http_access::settings(how)));
            ZTENSOR_TRY_ASSIGN(const detail::http_url url, detail::http_url::parse(target.url));
            ZTENSOR_TRY_ASSIGN(std::shared_ptr<const byte_source> source,
                               detail::open_http_file(target.url, *target.settings));
            return open_any(std::move(source), url.shown(), options);
        }
        if (name.substr(0, 5) != "hf://") {
            return open_url(name, options, how);
        }
        ZTENSOR_TRY_ASSIGN(const std::string url, detail::hub_url(name, detail::environment_variable("HF_ENDPOINT")));
        http_options with_token = how;
        if (!detail::has_field(detail::http_access::settings(how).headers, "Authorization")) {
            ZTENSOR_TRY_ASSIGN(const std::vector<detail::s3_header> token,
                               detail::hub_headers(detail::environment_variable("HF_TOKEN")));
            for (const auto& [field, value] : token) {
                with_token.header(field, value);
            }
        }
        return open_url(url, options, with_token);
    });
}
inline result<reader> open_remote(std::string_view name, const s3_options& where) {
    return open_remote(name, read_options(), http_options(), where);
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
