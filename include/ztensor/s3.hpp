// SPDX-License-Identifier: MIT
//
// Options for objects in S3, and in stores that speak its protocol: where the buckets are, and who asks for them.
#ifndef ZTENSOR_S3_HPP
#define ZTENSOR_S3_HPP

#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/result.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Keys for S3.
struct s3_credentials {
    std::string access_key_id;
    std::string secret_access_key;
    std::string session_token; ///< of temporary keys; else empty
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
    [[nodiscard]] const detail::s3_choices& choices() const noexcept { return choices_; }

private:
    detail::s3_choices choices_;
    std::function<result<s3_credentials>()> callback_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
