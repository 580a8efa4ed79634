// SPDX-License-Identifier: MIT
//
// Where keys, region and endpoint come from: INI files, also malformed ones, the order of the places, and no secret in
// any error.
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace {

using ztensor::detail::aws_environment;
using ztensor::detail::aws_files;
using ztensor::detail::aws_keys;
using ztensor::detail::parse_ini;
using ztensor::detail::resolve_s3_account;
using ztensor::detail::s3_account;
using ztensor::detail::s3_choices;

aws_files parsed_files(std::string_view credentials, std::string_view config) {
    return {parse_ini(credentials).value(), parse_ini(config).value()};
}

/// "id secret token" of the account, "none" without keys, or the message of the error.
std::string keys_of(const ztensor::result<s3_account>& account) {
    if (!account) {
        return account.error().what();
    }
    return account->keys ? account->keys->access_key_id + ' ' + account->keys->secret_access_key + ' ' +
                               account->keys->session_token
                         : "none";
}

aws_environment environment_with_keys() {
    aws_environment out;
    out.access_key_id = "env-id";
    out.secret_access_key = "env-hidden";
    out.session_token = "env-token";
    return out;
}

/// "ok", or the code and the message.
std::string outcome_of_ini(std::string_view text) {
    const auto parsed = parse_ini(text);
    return parsed ? "ok" : std::string(name(parsed.error().code())) + ' ' + parsed.error().sentence();
}

} // namespace

TEST_CASE("An INI file is read as the AWS tools read it") {
    const auto file = parse_ini("\xef\xbb\xbf# a comment\r\n"
                                "; another\r\n"
                                "[default]\r\n"
                                "AWS_Access_Key_Id = AKIA\r\n"
                                "aws_secret_access_key=a/b+c=d#e;f\r\n"
                                "empty =\n"
                                "\n"
                                "[ profile \"two words\" ] # behind\n"
                                "\tregion\t=\teu-west-1 ; behind\n"
                                "  \n"
                                "\tscopes = a,\n"
                                "\t  b\n"
                                "\ts3 =\n"
                                "\t\t# inside\n"
                                "\t\taddressing_style = path\n"
                                "\t\tmax_concurrent_requests = 20\n"
                                "\toutput = json")
                          .value();
    CHECK(file.size() == 2);
    CHECK(file.at("default").at("aws_access_key_id") == "AKIA");
    CHECK(file.at("default").at("aws_secret_access_key") == "a/b+c=d#e;f");
    CHECK(file.at("default").at("empty").empty());
    const auto& second = file.at("profile \"two words\"");
    CHECK(second.at("region") == "eu-west-1");
    CHECK(second.at("scopes") == "a,\nb");
    CHECK(second.at("s3.addressing_style") == "path");
    CHECK(second.at("s3.max_concurrent_requests") == "20");
    CHECK(second.at("output") == "json");
    CHECK(parse_ini("").value().empty());
}

TEST_CASE("A malformed INI file is refused by the number of its line alone") {
    CHECK(outcome_of_ini("hidden = hidden") == "header_malformed line 1 is before the first [section]");
    CHECK(outcome_of_ini("[a]\n\nhidden") == "header_malformed line 3 is neither [section] nor key = value");
    CHECK(outcome_of_ini("[a]\n= hidden") == "header_malformed line 2 is neither [section] nor key = value");
    CHECK(outcome_of_ini("[a]\ns3 =\n  hidden") == "header_malformed line 3 is neither [section] nor key = value");
    CHECK(outcome_of_ini("[hidden") == "header_malformed line 1 is no [section]");
    CHECK(outcome_of_ini("[]") == "header_malformed line 1 is no [section]");
    CHECK(outcome_of_ini("[ ]") == "header_malformed line 1 is no [section]");
    CHECK(outcome_of_ini("[a] hidden") == "header_malformed line 1 is no [section]");
    CHECK(outcome_of_ini("[a]\n[b]\n[a]") == "header_malformed line 3 begins a section for the second time");
    CHECK(outcome_of_ini("[a]\nk=1\nK = hidden") == "header_malformed line 3 gives a key for the second time");
    CHECK(outcome_of_ini("[a]\ns3=\n k=1\n k=2") == "header_malformed line 4 gives a key for the second time");
    CHECK(outcome_of_ini(std::string_view("[a]\nk = hid\0den", 15)) ==
          "header_malformed line 2 holds a control character");
    CHECK(outcome_of_ini("[a]\n# \x1b[31m") == "header_malformed line 2 holds a control character");
    const std::string line = "# comment\n";
    std::string large;
    while (large.size() <= ztensor::detail::max_ini_bytes) {
        large += line;
    }
    CHECK(support::refusal(parse_ini(large)) == ztensor::errc::limit_exceeded);
}

TEST_CASE("Any text is an INI file or an error") {
    std::mt19937 random(7);
    constexpr std::string_view alphabet = "[]=#;ab \t\r\n\n\n.\"'\xff";
    for (int round = 0; round < 20000; ++round) {
        std::string text = "[a]\n";
        for (std::size_t size = random() % 64; text.size() < size;) {
            text += alphabet[random() % alphabet.size()];
        }
        const auto parsed = parse_ini(text);
        if (!parsed && parsed.error().code() != ztensor::errc::header_malformed) {
            FAIL(text);
        }
    }
}

TEST_CASE("Keys come from the caller, then the environment, then the shared file, then the config file") {
    const aws_files files = parsed_files("[default]\naws_access_key_id=shared-id\naws_secret_access_key=shared-hidden\n"
                                         "[other]\naws_access_key_id=o-id\naws_secret_access_key=o-hidden\n"
                                         "aws_session_token=o-token\n",
                                         "[default]\naws_access_key_id=config-id\naws_secret_access_key=config-hidden\n"
                                         "[profile in-config]\naws_access_key_id=c-id\naws_secret_access_key=c-hidden");
    s3_choices chosen;
    chosen.keys = aws_keys{"my-id", "my-hidden", ""};
    CHECK(keys_of(resolve_s3_account(chosen, environment_with_keys(), files)) == "my-id my-hidden ");
    CHECK(keys_of(resolve_s3_account({}, environment_with_keys(), files)) == "env-id env-hidden env-token");
    CHECK(keys_of(resolve_s3_account({}, {}, files)) == "shared-id shared-hidden ");
    aws_environment other;
    other.profile = "other";
    CHECK(keys_of(resolve_s3_account({}, other, files)) == "o-id o-hidden o-token");
    other = environment_with_keys();
    other.profile = "other";
    CHECK(keys_of(resolve_s3_account({}, other, files)) == "env-id env-hidden env-token");
    s3_choices by_profile;
    by_profile.profile = "in-config"; // which is preferred to keys in the environment
    CHECK(keys_of(resolve_s3_account(by_profile, other, files)) == "c-id c-hidden ");
    s3_choices nobody;
    nobody.searches_keys = false;
    CHECK(keys_of(resolve_s3_account(nobody, environment_with_keys(), files)) == "none");
}

TEST_CASE("Where keys can't be found the error says where they were looked for, and tells no secret") {
    const auto message = [](const aws_environment& environment, const aws_files& files, std::string profile = {}) {
        s3_choices chosen;
        chosen.profile = std::move(profile);
        const auto account = resolve_s3_account(chosen, environment, files);
        REQUIRE(!account.has_value());
        CHECK(account.error().code() == ztensor::errc::invalid_argument);
        CHECK(account.error().what().find("hidden") == std::string::npos);
        return account.error().what();
    };
    CHECK_THAT(message({}, {}), support::contains_text("there are no credentials for S3"));
    CHECK_THAT(message({}, {}, "nowhere"), support::contains_text("has the profile \"nowhere\""));
    aws_environment half = environment_with_keys();
    half.secret_access_key.clear();
    CHECK_THAT(message(half, {}), support::contains_text("AWS_SECRET_ACCESS_KEY is not"));
    CHECK_THAT(message({}, parsed_files("[default]\naws_access_key_id = hidden", "")),
               support::contains_text("no aws_secret_access_key"));
    for (const char* const key : {"role_arn", "sso_session", "sso_start_url", "credential_process"}) {
        CHECK_THAT(message({}, parsed_files("", std::string("[default]\n") + key + " = hidden")),
                   support::contains_text(key));
    }
    const std::string keys = "[default]\naws_access_key_id=id\naws_secret_access_key=hidden\n";
    CHECK_THAT(message({}, parsed_files(keys, "[default]\nrole_arn=hidden")), support::contains_text("role_arn"));
    CHECK(keys_of(resolve_s3_account({}, {}, parsed_files(keys, "[default]\ncredential_process=x"))) == "id hidden ");
    CHECK_THAT(message({}, parsed_files("[default]\naws_access_key_id=hid den\naws_secret_access_key=hidden", "")),
               support::contains_text("access key id"));
    CHECK_THAT(message({}, parsed_files("[default]\naws_access_key_id=id\naws_secret_access_key=hidden\n more", "")),
               support::contains_text("secret access key"));
}

TEST_CASE("Region, endpoint, addressing and certificates come from the same places in the same order") {
    const aws_files files =
        parsed_files("[default]\naws_access_key_id=id\naws_secret_access_key=s",
                     "[default]\nregion = plain\n"
                     "[profile default]\nregion = from-file\nendpoint_url = http://file\nca_bundle = /file.pem\n"
                     "s3 =\n  addressing_style = virtual\n"
                     "[profile 'with services']\nservices = local\nendpoint_url = http://profile\n"
                     "aws_access_key_id=id\naws_secret_access_key=s\n"
                     "[services local]\nec2 =\n  endpoint_url = http://ec2\ns3 =\n  endpoint_url = http://service\n");
    s3_account account = resolve_s3_account({}, {}, files).value();
    CHECK(account.place.region == "from-file");
    CHECK(account.place.endpoint == "http://file");
    CHECK(account.place.path_style == false);
    CHECK(account.ca_bundle == "/file.pem");
    aws_environment environment;
    environment.region = "from-environment";
    environment.endpoint = "http://environment";
    environment.ca_bundle = "/environment.pem";
    account = resolve_s3_account({}, environment, files).value();
    CHECK(account.place.region == "from-environment");
    CHECK(account.place.endpoint == "http://environment");
    CHECK(account.ca_bundle == "/environment.pem");
    s3_choices chosen;
    chosen.region = "chosen";
    chosen.endpoint = "http://chosen";
    chosen.path_style = true;
    account = resolve_s3_account(chosen, environment, files).value();
    CHECK(account.place.region == "chosen");
    CHECK(account.place.endpoint == "http://chosen");
    CHECK(account.place.path_style == true);
    chosen = {};
    chosen.profile = "with services";
    CHECK(resolve_s3_account(chosen, {}, files).value().place.endpoint == "http://service");
    CHECK(resolve_s3_account({}, environment_with_keys(), {}).value().place.region == "us-east-1");
    CHECK_FALSE(resolve_s3_account({}, environment_with_keys(), {}).value().place.path_style.has_value());
}

TEST_CASE("A file of settings that is not there is empty, and one that can't be read is an error with its path") {
    const support::temp_dir folder;
    const auto path = [&](const char* name) { return (folder / name).string(); };
    CHECK(ztensor::detail::read_ini("").value().empty());
    CHECK(ztensor::detail::read_ini("/dev/null").value().empty());
    CHECK(ztensor::detail::read_ini(path("none")).value().empty());
    CHECK(ztensor::detail::read_ini(path("none/below")).value().empty());
    support::write_file(folder / "good", "[default]\nregion = r\n");
    CHECK(ztensor::detail::read_ini(path("good")).value().at("default").at("region") == "r");
    CHECK(ztensor::detail::read_ini(path("good/below")).value().empty());
    support::write_file(folder / "bad", "[default]\nhidden\n");
    const auto bad = ztensor::detail::read_ini(path("bad"));
    CHECK(support::refusal(bad) == ztensor::errc::header_malformed);
    CHECK(bad.error().path() == path("bad"));
    CHECK(bad.error().what().find("hidden") == std::string::npos);
    support::write_file(folder / "large", std::string(ztensor::detail::max_ini_bytes + 1, '#'));
    CHECK(support::refusal(ztensor::detail::read_ini(path("large"))) == ztensor::errc::limit_exceeded);
    CHECK(support::refusal(ztensor::detail::read_ini(folder.path().string())) == ztensor::errc::not_regular_file);
}

TEST_CASE("The paths of the files are those of variables, or below the home directory") {
    using ztensor::detail::aws_file_path;
    CHECK(aws_file_path("", "/home/u", "/.aws/config") == "/home/u/.aws/config");
    CHECK(aws_file_path("/etc/aws", "/home/u", "/.aws/config") == "/etc/aws");
    CHECK(aws_file_path("~/aws", "/home/u", "/.aws/config") == "/home/u/aws");
    CHECK(aws_file_path("~/aws", "", "/.aws/config") == "~/aws");
    CHECK(aws_file_path("", "", "/.aws/config").empty());
}

TEST_CASE("A token for Hugging Face becomes a header unless no header can hold it") {
    CHECK(ztensor::detail::hub_headers("").value().empty());
    CHECK(ztensor::detail::hub_headers(" hf_abc\r").value().front().second == "Bearer hf_abc");
    for (const char* const token : {"hidden\r\nX: y", "hidden x", "hidden\xc3\xa9"}) {
        const auto refused = ztensor::detail::hub_headers(token);
        CHECK(support::refusal(refused) == ztensor::errc::invalid_argument);
        CHECK(refused.error().what().find("hidden") == std::string::npos);
    }
}
