// SPDX-License-Identifier: MIT
//
// Where the keys, the region and the endpoint for S3 come from: what the caller chose, environment variables, and the
// files of the AWS tools. No error quotes what may be a secret.
#ifndef ZTENSOR_DETAIL_HTTP_S3_CREDENTIALS_HPP
#define ZTENSOR_DETAIL_HTTP_S3_CREDENTIALS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/s3_request.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/error.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/result.hpp>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <map>
#include <system_error>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- INI files, as the AWS tools write them

using ini_section = std::map<string, string, std::less<>>;
using ini_file = std::map<string, ini_section, std::less<>>;

inline constexpr size_t max_ini_bytes = size_t{256} << 10;

[[nodiscard]] inline string_view without_blanks(string_view text) noexcept {
    return without_outer_space(text, " \t\r");
}

/// Reads one line after the other.
class ini_parser {
public:
    /// Returns what is wrong with the line, or null.
    [[nodiscard]] const char* take(string_view line) {
        if (std::any_of(line.begin(), line.end(),
                        [](char c) { return is_ascii_control(c) && c != '\t' && c != '\r'; })) {
            return "holds a control character";
        }
        const string_view content = without_blanks(line);
        if (content.empty() || is_comment(content.front())) {
            return nullptr;
        }
        const size_t indent = line.find_first_not_of(" \t");
        if (value_ != nullptr && indent > indent_) {
            return take_indented(content);
        }
        if (content.front() == '[') {
            return take_header(content);
        }
        if (section_ == nullptr) {
            return "is before the first [section]";
        }
        indent_ = indent;
        return take_property(content, "");
    }

    [[nodiscard]] ini_file take_file() && noexcept { return std::move(file_); }

private:
    [[nodiscard]] static bool is_comment(char c) noexcept { return c == '#' || c == ';'; }

    [[nodiscard]] const char* take_header(string_view content) {
        const size_t end = content.find(']');
        const string_view behind = end == string_view::npos ? "]" : without_blanks(content.substr(end + 1));
        const string_view name = without_blanks(content.substr(1, end == string_view::npos ? 0 : end - 1));
        if (name.empty() || (!behind.empty() && !is_comment(behind.front()))) {
            return "is no [section]";
        }
        const auto [place, is_new] = file_.try_emplace(string(name));
        section_ = &place->second;
        value_ = nullptr;
        return is_new ? nullptr : "begins a section for the second time";
    }

    /// A line that is indented more than the property above belongs to it: as a property of its own if that has no
    /// value, else as more of the value.
    [[nodiscard]] const char* take_indented(string_view content) {
        if (!is_group_) {
            value_->append(1, '\n').append(content);
            return nullptr;
        }
        string* const group = value_;
        const string start = group_ + '.';
        const char* const wrong = take_property(content, start);
        value_ = group;
        is_group_ = true;
        group_ = start.substr(0, start.size() - 1);
        return wrong;
    }

    [[nodiscard]] const char* take_property(string_view content, string_view start) {
        const size_t equals = content.find('=');
        const string_view key = without_blanks(content.substr(0, equals));
        if (equals == string_view::npos || key.empty()) {
            return "is neither [section] nor key = value";
        }
        string_view value = content.substr(equals + 1);
        for (size_t i = 1; i < value.size(); ++i) { // a comment starts behind a blank
            if (is_comment(value[i]) && (value[i - 1] == ' ' || value[i - 1] == '\t')) {
                value = value.substr(0, i);
            }
        }
        value = without_blanks(value);
        const auto [place, is_new] = section_->try_emplace(string(start) + ascii_lower(key), value);
        value_ = &place->second;
        is_group_ = value.empty();
        group_ = place->first;
        return is_new ? nullptr : "gives a key for the second time";
    }

    ini_file file_;
    ini_section* section_ = nullptr;
    string* value_ = nullptr; ///< of the last property in the section; null if there is none
    string group_;            ///< its key
    bool is_group_ = false;   ///< it has no value
    size_t indent_ = 0;       ///< of its line
};

/// Sections, keys (in lower case) and values; the properties below `s3 =` have keys such as "s3.addressing_style".
/// Errors: limit_exceeded; header_malformed, also for a section or key that is there twice. They name the line and
/// nothing in it.
[[nodiscard]] inline result<ini_file> parse_ini(string_view text) {
    if (text.size() > max_ini_bytes) {
        return fail(errc::limit_exceeded, "a file of settings has at most {} bytes, and this one has {}",
                    {max_ini_bytes, text.size()});
    }
    if (text.substr(0, 3) == "\xef\xbb\xbf") { // editors on Windows put it there
        text.remove_prefix(3);
    }
    ini_parser parser;
    for (size_t number = 1; !text.empty(); ++number) {
        if (const char* const wrong = parser.take(take_until(text, '\n')); wrong != nullptr) {
            return fail(errc::header_malformed, "line {} {}", {number, wrong});
        }
    }
    return std::move(parser).take_file();
}

// -- profiles

[[nodiscard]] inline string_view first_given(std::initializer_list<string_view> values) noexcept {
    for (const string_view each : values) {
        if (!each.empty()) {
            return each;
        }
    }
    return {};
}

/// The two files of the AWS tools.
struct aws_files {
    ini_file credentials; ///< ~/.aws/credentials
    ini_file config;      ///< ~/.aws/config
};

/// "profile x" -> "x", also if it is in quotes, for the section of that kind; else nothing.
[[nodiscard]] inline optional<string_view> name_in_section(string_view section, string_view kind) noexcept {
    if (section.size() <= kind.size() || section.substr(0, kind.size()) != kind ||
        (section[kind.size()] != ' ' && section[kind.size()] != '\t')) {
        return std::nullopt;
    }
    string_view name = without_blanks(section.substr(kind.size()));
    constexpr char quote = '"';
    if (name.size() > 1 && (name.front() == quote || name.front() == '\'') && name.front() == name.back()) {
        name = name.substr(1, name.size() - 2);
    }
    return name;
}

[[nodiscard]] inline const ini_section* find_config_section(const ini_file& config, string_view kind,
                                                            string_view name) noexcept {
    for (const auto& [section, properties] : config) {
        if (name_in_section(section, kind) == name) {
            return &properties;
        }
    }
    return nullptr;
}

/// What the files say of one profile.
class aws_profile {
public:
    aws_profile(const aws_files& files, string_view name) noexcept {
        const auto shared = files.credentials.find(name);
        shared_ = shared != files.credentials.end() ? &shared->second : nullptr;
        config_ = find_config_section(files.config, "profile", name);
        if (const auto plain = files.config.find(name);
            config_ == nullptr && name == "default" && plain != files.config.end()) {
            config_ = &plain->second;
        }
        if (const string_view services = property("services"); !services.empty()) {
            services_ = find_config_section(files.config, "services", services);
        }
    }

    [[nodiscard]] bool exists() const noexcept { return shared_ != nullptr || config_ != nullptr; }

    /// The value in either file, "" if there is none. The shared credentials file comes first.
    [[nodiscard]] string_view property(string_view key) const noexcept {
        return first_given({value_in(shared_, key), value_in(config_, key)});
    }
    [[nodiscard]] string_view endpoint() const noexcept {
        return first_given({value_in(services_, "s3.endpoint_url"), property("endpoint_url")});
    }
    [[nodiscard]] optional<aws_keys> shared_keys() const { return keys_in(shared_); }
    [[nodiscard]] optional<aws_keys> config_keys() const { return keys_in(config_); }

private:
    [[nodiscard]] static string_view value_in(const ini_section* section, string_view key) noexcept {
        if (section == nullptr) {
            return {};
        }
        const auto found = section->find(key);
        return found != section->end() ? string_view(found->second) : string_view();
    }
    [[nodiscard]] static optional<aws_keys> keys_in(const ini_section* section) {
        const string_view id = value_in(section, "aws_access_key_id");
        if (id.empty()) {
            return std::nullopt;
        }
        return aws_keys{string(id), string(value_in(section, "aws_secret_access_key")),
                        string(value_in(section, "aws_session_token"))};
    }

    const ini_section* shared_ = nullptr;
    const ini_section* config_ = nullptr;
    const ini_section* services_ = nullptr;
};

// -- choices

/// What the caller chose. "" is not chosen.
struct s3_choices {
    string region;
    string endpoint;
    string profile;
    optional<bool> path_style;
    optional<aws_keys> keys;
    bool searches_keys = true; ///< false for anonymous requests, and if a callback gives the keys
};

/// The environment variables that count. "" is not set.
struct aws_environment {
    string access_key_id;     ///< AWS_ACCESS_KEY_ID
    string secret_access_key; ///< AWS_SECRET_ACCESS_KEY
    string session_token;     ///< AWS_SESSION_TOKEN
    string region;            ///< AWS_REGION, or AWS_DEFAULT_REGION
    string endpoint;          ///< AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL
    string ca_bundle;         ///< AWS_CA_BUNDLE
    string profile;           ///< AWS_PROFILE
    string credentials_file;  ///< AWS_SHARED_CREDENTIALS_FILE
    string config_file;       ///< AWS_CONFIG_FILE
    string home;              ///< HOME, or USERPROFILE on Windows
};

/// What requests are made with.
struct s3_account {
    s3_place place;
    optional<aws_keys> keys; ///< none: requests are not signed, or a callback gives the keys
    string ca_bundle;        ///< the path of a file of certificates; "" for those of the system
};

/// False if all that the files could add is chosen, apart from an endpoint. Then they are not read.
[[nodiscard]] inline bool needs_aws_files(const s3_choices& chosen) noexcept {
    const bool searches_keys = !chosen.keys && chosen.searches_keys;
    return searches_keys || chosen.region.empty() || !chosen.profile.empty();
}

/// The keys that are not chosen: from the environment unless a profile is chosen, then from the profile.
[[nodiscard]] inline result<aws_keys> find_aws_keys(const s3_choices& chosen, const aws_environment& environment,
                                                    const aws_profile& profile, string_view profile_name) {
    if (chosen.profile.empty() && !environment.access_key_id.empty()) {
        if (environment.secret_access_key.empty()) {
            return fail(errc::invalid_argument, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
        }
        return aws_keys{environment.access_key_id, environment.secret_access_key, environment.session_token};
    }
    optional<aws_keys> keys = profile.shared_keys();
    string_view provider;
    // What the AWS tools ask before they look for keys in the profile, and after those of the shared credentials file.
    for (const string_view each : {"role_arn", "sso_session", "sso_start_url", "credential_process"}) {
        if (provider.empty() && !profile.property(each).empty() && (each != "credential_process" || !keys)) {
            provider = each;
        }
    }
    if (!provider.empty()) {
        return fail(errc::invalid_argument,
                    "the profile {} gets its credentials by {}, which the library does not do: s3_options can be given "
                    "credentials, or a callback that gets them",
                    {in_quotes(profile_name), provider});
    }
    keys = keys ? std::move(keys) : profile.config_keys();
    if (!keys) {
        return fail(
            errc::invalid_argument,
            "there are no credentials for S3: none in s3_options, in AWS_ACCESS_KEY_ID, or in the profile {} of "
            "the AWS files; s3_options::anonymous() sends requests without any",
            {in_quotes(profile_name)});
    }
    if (keys->secret_access_key.empty()) {
        return fail(errc::invalid_argument, "the profile {} has aws_access_key_id, and no aws_secret_access_key",
                    {in_quotes(profile_name)});
    }
    return *std::move(keys);
}

/// Everything together, in the order of the AWS tools: what is chosen, the environment, the files. Errors:
/// invalid_argument.
[[nodiscard]] inline result<s3_account> resolve_s3_account(const s3_choices& chosen, const aws_environment& environment,
                                                           const aws_files& files) {
    const string_view wanted = first_given({chosen.profile, environment.profile});
    const string_view profile_name = first_given({wanted, "default"});
    const aws_profile profile(files, profile_name);
    if (!wanted.empty() && !profile.exists() && needs_aws_files(chosen)) {
        return fail(errc::invalid_argument, "neither of the AWS files has the profile {}", {in_quotes(profile_name)});
    }
    s3_account account;
    account.place.region =
        first_given({chosen.region, environment.region, profile.property("region"), account.place.region});
    account.place.endpoint = first_given({chosen.endpoint, environment.endpoint, profile.endpoint()});
    account.ca_bundle = first_given({environment.ca_bundle, profile.property("ca_bundle")});
    account.place.path_style = chosen.path_style;
    const string_view style = profile.property("s3.addressing_style");
    if (!chosen.path_style && (style == "path" || style == "virtual")) {
        account.place.path_style = style == "path";
    }
    account.keys = chosen.keys;
    if (!chosen.keys && chosen.searches_keys) {
        ZTENSOR_TRY_ASSIGN(account.keys, find_aws_keys(chosen, environment, profile, profile_name));
    }
    if (account.keys) {
        ZTENSOR_TRY(check_keys(*account.keys));
    }
    return account;
}

// -- the environment and the files

/// The value, or "".
[[nodiscard]] inline string environment_variable(const char* name) {
#if defined(_MSC_VER)
#pragma warning(push)
#pragma warning(disable : 4996) // which advises a function that only Microsoft has
#endif
    const char* const value = std::getenv(name);
#if defined(_MSC_VER)
#pragma warning(pop)
#endif
    return value != nullptr ? value : "";
}

[[nodiscard]] inline aws_environment read_aws_environment() {
    aws_environment found;
    found.access_key_id = environment_variable("AWS_ACCESS_KEY_ID");
    found.secret_access_key = environment_variable("AWS_SECRET_ACCESS_KEY");
    found.session_token = environment_variable("AWS_SESSION_TOKEN");
    found.region = first_given({environment_variable("AWS_REGION"), environment_variable("AWS_DEFAULT_REGION")});
    found.endpoint =
        first_given({environment_variable("AWS_ENDPOINT_URL_S3"), environment_variable("AWS_ENDPOINT_URL")});
    found.ca_bundle = environment_variable("AWS_CA_BUNDLE");
    found.profile = environment_variable("AWS_PROFILE");
    found.credentials_file = environment_variable("AWS_SHARED_CREDENTIALS_FILE");
    found.config_file = environment_variable("AWS_CONFIG_FILE");
#if defined(_WIN32)
    found.home = environment_variable("USERPROFILE");
#else
    found.home = environment_variable("HOME");
#endif
    return found;
}

/// The path that a variable gives, where "~" is the home directory, or the usual one; "" if neither is known.
[[nodiscard]] inline string aws_file_path(const string& given, const string& home, const char* usual) {
    if (given.substr(0, 2) == "~/" && !home.empty()) {
        return home + given.substr(1);
    }
    return !given.empty() ? given : !home.empty() ? home + usual : string();
}

/// A file of settings; an empty one if there is none, or this user may not look for it. Errors: those of file::open()
/// and parse_ini(), with the path.
[[nodiscard]] inline result<ini_file> read_ini(const string& path) {
    if (path.empty() || path == "/dev/null") { // as AWS_CONFIG_FILE often says that there is no file
        return ini_file();
    }
    const auto read = [&]() -> result<ini_file> {
        result<file> opened = file::open(file_path(path).native());
        if (!opened) {
            const std::error_code why = opened.error().os_error();
            const bool is_absent = opened.error().code() == errc::file_not_found || why == std::errc::not_a_directory ||
                                   why == std::errc::permission_denied;
            return is_absent ? result<ini_file>(ini_file()) : std::move(opened).error();
        }
        if (opened->size_bytes() > max_ini_bytes) {
            return fail(errc::limit_exceeded, "a file of settings has at most {} bytes, and this one has {}",
                        {max_ini_bytes, opened->size_bytes()});
        }
        vector<byte> content(static_cast<size_t>(opened->size_bytes()));
        ZTENSOR_TRY(opened->read_at(0, content));
        return parse_ini(as_text(content));
    };
    return in_file(read(), path);
}

/// What the caller chose, completed from the environment and, if that leaves something open, from the files of the AWS
/// tools. Errors: those of read_ini() and resolve_s3_account().
[[nodiscard]] inline result<s3_account> find_s3_account(const s3_choices& chosen) {
    const aws_environment environment = read_aws_environment();
    aws_files files;
    if (needs_aws_files(chosen)) {
        ZTENSOR_TRY_ASSIGN(files.credentials, read_ini(aws_file_path(environment.credentials_file, environment.home,
                                                                     "/.aws/credentials")));
        ZTENSOR_TRY_ASSIGN(files.config,
                           read_ini(aws_file_path(environment.config_file, environment.home, "/.aws/config")));
    }
    return resolve_s3_account(chosen, environment, files);
}

// -- Hugging Face

/// The header that authenticates requests to Hugging Face; none without a token. It must not be sent to the host that
/// Hugging Face redirects to. Errors: invalid_argument for a token that no header can hold, which is not quoted.
[[nodiscard]] inline result<vector<s3_header>> hub_headers(string_view token) {
    token = without_blanks(token);
    if (token.empty()) {
        return vector<s3_header>();
    }
    if (token.size() > 4096 || !std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
        return fail(errc::invalid_argument, "the token for Hugging Face has a character that none can have");
    }
    return vector<s3_header>{{"Authorization", "Bearer " + string(token)}};
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
