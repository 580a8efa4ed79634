// SPDX-License-Identifier: MIT
#include "index/rule_files.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace rules {
namespace {

constexpr std::size_t most_bytes = 4096;

/// Tables made by loops have a hundred rows that say the same: the first is enough. By outcome, generation and
/// start.
bool is_new(const std::string& rule, std::string_view from, std::optional<ztensor::errc> refusal) {
    static std::set<std::string> seen;
    constexpr std::size_t start = 12;
    const std::string kind = refusal ? std::string(name(*refusal)) : "ok";
    return seen.insert(kind + ' ' + std::string(from) + ' ' + rule.substr(0, std::min(rule.find(':'), start))).second;
}

/// The rule as the name of a file.
std::string file_name(const std::string& rule, std::string_view from) {
    std::string out = std::string(from) + "-";
    for (const char c : rule.substr(0, 60)) {
        const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (is_plain || (!out.empty() && out.back() != '-')) {
            out += is_plain ? c : '-';
        }
    }
    while (out.back() == '-') {
        out.pop_back();
    }
    return out;
}

} // namespace

void keep_file(const std::string& rule, std::string_view from, const support::bytes& content,
               std::optional<ztensor::errc> refusal) {
    const char* const wanted = std::getenv("ZTENSOR_WRITE_RULE_FILES");
    if (wanted == nullptr || content.size() > most_bytes || !is_new(rule, from, refusal)) {
        return;
    }
    const std::filesystem::path folder = wanted;
    const std::filesystem::path kind = refusal ? "reject" : "valid";
    std::filesystem::create_directories(folder / kind);
    std::filesystem::path path = kind / (file_name(rule, from) + ".zt");
    for (int i = 2; std::filesystem::exists(folder / path); ++i) {
        path = kind / (file_name(rule, from) + "-" + std::to_string(i) + ".zt");
    }
    std::ofstream(folder / path, std::ios::binary) << content;
    std::ofstream lines(folder / "rules.tsv", std::ios::app | std::ios::binary);
    lines << path.generic_string() << '\t' << (refusal ? ztensor::name(*refusal) : "ok") << '\t' << rule << '\n';
    REQUIRE(lines.good());
}

} // namespace rules
