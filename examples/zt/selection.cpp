// SPDX-License-Identifier: MIT
#include "selection.hpp"

#include "command.hpp"
#include "terminal.hpp"

#include <algorithm>

namespace zt {
namespace {

/// What * of `pattern` (one, or none) stands for in `text`; false if it does not match.
bool match_once(const std::string& pattern, std::string_view text, std::string_view& stands_for) {
    const std::size_t star = pattern.find('*');
    if (star == std::string::npos) {
        return pattern == text;
    }
    const std::string_view before = std::string_view(pattern).substr(0, star);
    const std::string_view behind = std::string_view(pattern).substr(star + 1);
    const bool fits = text.size() >= before.size() + behind.size() && text.substr(0, before.size()) == before &&
                      text.substr(text.size() - behind.size()) == behind;
    if (fits) {
        stands_for = text.substr(before.size(), text.size() - before.size() - behind.size());
    }
    return fits;
}

bool any_matches(const std::vector<std::string>& patterns, std::string_view name) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const auto& each) { return matches(each, name); });
}

void require_match(const std::string& pattern, const std::vector<ztensor::reader>& files, const char* option) {
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            if (matches(pattern, object.name())) {
                return;
            }
        }
    }
    throw usage_error(option + (": " + files.front().find(pattern).error().sentence()));
}

} // namespace

bool matches(std::string_view pattern, std::string_view text) {
    std::size_t at = 0, in_text = 0;
    std::size_t star = std::string_view::npos, star_text = 0;
    while (in_text < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_text = in_text;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
            ++at;
            ++in_text;
        } else if (star != std::string_view::npos) { // the last star takes one character more
            at = star + 1;
            in_text = ++star_text;
        } else {
            return false;
        }
    }
    while (at < pattern.size() && pattern[at] == '*') {
        ++at;
    }
    return at == pattern.size();
}

void selection::add_options(CLI::App& command) {
    each_once(command.add_option("--only", only_, "Only objects whose name matches GLOB (*, ?); may be repeated")
                  ->type_name("GLOB"));
    each_once(
        command.add_option("--exclude", excluded_, "None whose name matches GLOB; may be repeated")->type_name("GLOB"));
}

void selection::add_rename_option(CLI::App& command) {
    each_once(command
                  .add_option("--rename", rename_texts_,
                              "Another name; a * in OLD keeps in NEW what it stood for; may be repeated")
                  ->type_name("OLD=NEW"));
}

void selection::parse_renames() {
    renames_.clear();
    for (const std::string& text : rename_texts_) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
            throw usage_error("--rename takes OLD=NEW, not \"" + printable(text) + '"');
        }
        renames_.push_back({text.substr(0, equals), text.substr(equals + 1)});
        const auto stars = [](const std::string& side) { return std::count(side.begin(), side.end(), '*'); };
        if (stars(renames_.back().from) > 1 || stars(renames_.back().to) > stars(renames_.back().from)) {
            throw usage_error("--rename takes at most one * on each side, not \"" + printable(text) + '"');
        }
    }
}

void selection::check(const std::vector<ztensor::reader>& files) {
    parse_renames();
    for (const std::string& each : only_) {
        require_match(each, files, "--only");
    }
    for (const renaming& each : renames_) {
        require_match(each.from, files, "--rename");
    }
}

bool selection::takes(const ztensor::object_view& object) const {
    return (only_.empty() || any_matches(only_, object.name())) && !any_matches(excluded_, object.name());
}

std::string selection::name_for(std::string_view old_name) const {
    for (const renaming& each : renames_) {
        std::string_view stood_for;
        if (match_once(each.from, old_name, stood_for)) {
            const std::size_t star = each.to.find('*');
            return star == std::string::npos
                       ? each.to
                       : each.to.substr(0, star) + std::string(stood_for) + each.to.substr(star + 1);
        }
    }
    return std::string(old_name);
}

} // namespace zt
