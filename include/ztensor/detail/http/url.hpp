// SPDX-License-Identifier: MIT
//
// URLs as libcurl, from 7.68 on, takes them apart.
#ifndef ZTENSOR_DETAIL_HTTP_URL_HPP
#define ZTENSOR_DETAIL_HTTP_URL_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <curl/curl.h>
#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A URL of http or https as libcurl itself takes it apart, so that what is compared is what it will connect to.
class http_url {
public:
    /// Errors: invalid_argument. No sentence holds any of the text, for it may hold secrets.
    ZTENSOR_COLD static result<http_url> parse(string_view text) {
        if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) {
                const auto byte = static_cast<unsigned char>(c);
                return byte > 0x20 && byte != 0x7f;
            })) {
            return fail(errc::invalid_argument, "a URL is empty, or holds spaces or control characters");
        }
        const handle parts(::curl_url());
        return read(parts, string(text), CURLU_PATH_AS_IS | CURLU_NON_SUPPORT_SCHEME);
    }

    /// Where a reference leads, such as that of a redirect; with the user info of this one. Errors: invalid_argument.
    [[nodiscard]] ZTENSOR_COLD result<http_url> resolve(string_view location) const {
        string encoded; // some servers send what is no ASCII as it is
        for (const char c : location) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte <= 0x20 || byte >= 0x7f) {
                append_hex(encoded += '%', byte, "0123456789ABCDEF");
            } else {
                encoded += c;
            }
        }
        const handle parts(::curl_url());
        if (parts != nullptr) {
            ::curl_url_set(parts.get(), CURLUPART_URL, text_.c_str(), CURLU_PATH_AS_IS);
        }
        result<http_url> found = read(parts, encoded, CURLU_NON_SUPPORT_SCHEME);
        if (found) {
            found->user_ = user_;
            found->password_ = password_;
        }
        return found;
    }

    /// What is asked for: without user info and fragment.
    [[nodiscard]] const string& text() const noexcept { return text_; }
    [[nodiscard]] const string& host() const noexcept { return host_; }
    [[nodiscard]] const string& path() const noexcept { return path_; }
    /// User info, decoded; "" where there is none.
    [[nodiscard]] const string& user() const noexcept { return user_; }
    [[nodiscard]] const string& password() const noexcept { return password_; }
    [[nodiscard]] bool is_https() const noexcept { return is_https_; }

    /// For messages: without anything that may be a secret.
    [[nodiscard]] ZTENSOR_COLD string shown() const {
        return (is_https_ ? "https://" : "http://") + host_ + (is_default_port() ? "" : ":" + port_) + path_;
    }

    /// What `home` may be sent may be sent here, too: the same host and port, or those of https where it was http.
    [[nodiscard]] bool is_at_home_of(const http_url& home) const noexcept {
        if (host_ != home.host_) {
            return false;
        }
        return is_https_ == home.is_https_ ? port_ == home.port_
                                           : is_https_ && is_default_port() && home.is_default_port();
    }

private:
    struct closing {
        void operator()(CURLU* parts) const noexcept { ::curl_url_cleanup(parts); }
    };
    using handle = std::unique_ptr<CURLU, closing>;

    http_url() = default;

    [[nodiscard]] bool is_default_port() const noexcept { return port_ == (is_https_ ? "443" : "80"); }

    [[nodiscard]] ZTENSOR_COLD static error not_understood() noexcept {
        return fail(errc::invalid_argument, "a URL is not one of http or https");
    }

    [[nodiscard]] static string part(const handle& parts, CURLUPart which, unsigned flags) {
        char* text = nullptr;
        if (::curl_url_get(parts.get(), which, &text, flags) != CURLUE_OK || text == nullptr) {
            return {};
        }
        const std::unique_ptr<char, void (*)(void*)> owned(text, &::curl_free);
        return string(text);
    }

    static result<http_url> read(const handle& parts, const string& text, unsigned flags) {
        if (parts == nullptr || ::curl_url_set(parts.get(), CURLUPART_URL, text.c_str(), flags) != CURLUE_OK) {
            return not_understood();
        }
        return read_parts(parts);
    }

    static result<http_url> read_parts(const handle& parts) {
        http_url found;
        const string scheme = ascii_lower(part(parts, CURLUPART_SCHEME, 0));
        found.is_https_ = scheme == "https";
        found.user_ = part(parts, CURLUPART_USER, CURLU_URLDECODE);
        found.password_ = part(parts, CURLUPART_PASSWORD, CURLU_URLDECODE);
        for (const CURLUPart secret : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT}) {
            ::curl_url_set(parts.get(), secret, nullptr, 0);
        }
        found.host_ = ascii_lower(part(parts, CURLUPART_HOST, 0));
        found.port_ = part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        found.path_ = part(parts, CURLUPART_PATH, 0);
        found.text_ = part(parts, CURLUPART_URL, 0);
        const bool is_understood =
            (found.is_https_ || scheme == "http") && !found.host_.empty() && !found.text_.empty();
        const bool is_printable = is_field_value(found.user_ + found.password_ + found.host_);
        return is_understood && is_printable ? result<http_url>(std::move(found)) : not_understood();
    }

    string text_, host_, port_, path_, user_, password_;
    bool is_https_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
