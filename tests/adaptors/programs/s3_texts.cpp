// SPDX-License-Identifier: MIT
//
// What the library makes of requests, names and files of settings, for s3_botocore.py. Each line of the input is a
// command and its words, separated by tabs; each answer is one line.
#include <ztensor/detail/http/s3_credentials.hpp>
#include <ztensor/detail/http/s3_request.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace detail = ztensor::detail;
using words = std::vector<std::string>;

words words_of(const std::string& line) {
    words found;
    for (std::size_t start = 0; start <= line.size();) {
        const std::size_t end = std::min(line.find('\t', start), line.size());
        found.push_back(line.substr(start, end - start));
        start = end + 1;
    }
    return found;
}

/// METHOD URL REGION SECONDS TOKEN HASH (NAME VALUE)...: the Authorization header.
ztensor::result<std::string> sign(const words& from) {
    std::vector<detail::s3_header> headers;
    for (std::size_t i = 7; i + 1 < from.size(); i += 2) {
        headers.emplace_back(from[i], from[i + 1]);
    }
    const detail::s3_request request = {from[1], from[2], headers, from[6], from[3], std::stoull(from[4])};
    const detail::aws_keys keys = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", from[5]};
    return detail::sign_s3_request(request, keys).transform([](const auto& added) { return added.back().second; });
}

/// BUCKET KEY REGION ENDPOINT STYLE: the URL.
ztensor::result<std::string> url(const words& from) {
    detail::s3_place place;
    place.region = from[3];
    place.endpoint = from[4];
    if (from[5] != "auto") {
        place.path_style = from[5] == "path";
    }
    return detail::s3_url({from[1], from[2]}, place);
}

/// PATH: the sections, keys and values in order, line breaks in values as "|".
ztensor::result<std::string> ini(const words& from) {
    return detail::read_ini(from[1]).transform([](const detail::ini_file& file) {
        std::string out;
        for (const auto& [section, properties] : file) {
            out += '[' + section + ']';
            for (const auto& [key, value] : properties) {
                out += '{' + key + '=' + value + '}';
            }
        }
        for (char& c : out) {
            c = c == '\n' ? '|' : c;
        }
        return out;
    });
}

} // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        const words from = words_of(line);
        const auto answer = from[0] == "sign" ? sign(from) : from[0] == "url" ? url(from) : ini(from);
        std::cout << (answer ? *answer : "error: " + answer.error().sentence()) << '\n';
    }
}
