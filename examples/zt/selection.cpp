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

void require_match(const std::string& pattern, const std::vector<ztensor::reader>& files, const char* said_by) {
    const bool is_name = pattern.find_first_of("*?") == std::string::npos;
    for (const ztensor::reader& file : files) {
        const auto is_meant = [&](const ztensor::object_view& object) { return matches(pattern, object.name()); };
        if (is_name ? file.contains(pattern) : std::any_of(file.begin(), file.end(), is_meant)) {
            return;
        }
    }
    throw usage_error(said_by + (": " + files.front().find(pattern).error().sentence()));
}

renamings::renamings(const std::vector<std::string>& texts, const char* said_by) : said_by_(said_by) {
    const auto stars = [](const std::string& side) { return std::count(side.begin(), side.end(), '*'); };
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
            throw usage_error(std::string(said_by) + " takes OLD=NEW, not \"" + printable(text) + '"');
        }
        const renaming made = {text.substr(0, equals), text.substr(equals + 1)};
        if (stars(made.from) > 1 || stars(made.to) > stars(made.from)) {
            throw usage_error(std::string(said_by) + " takes at most one * on each side, not \"" + printable(text) +
                              '"');
        }
        if (stars(made.from) != 0) {
            patterns_.push_back(all_.size());
        } else {
            whole_names_.try_emplace(made.from, all_.size());
        }
        all_.push_back(made);
    }
}

void renamings::check(const std::vector<ztensor::reader>& files) const {
    for (const renaming& each : all_) {
        require_match(each.from, files, said_by_);
    }
}

std::string renamings::name_for(std::string_view old_name) const {
    if (all_.empty()) {
        return std::string(old_name);
    }
    const auto whole = whole_names_.find(std::string(old_name));
    const std::size_t end = whole == whole_names_.end() ? all_.size() : whole->second;
    for (const std::size_t place : patterns_) {
        const renaming& each = all_[place];
        std::string_view stood_for;
        if (place < end && match_once(each.from, old_name, stood_for)) {
            const std::size_t star = each.to.find('*');
            return star == std::string::npos
                       ? each.to
                       : each.to.substr(0, star) + std::string(stood_for) + each.to.substr(star + 1);
        }
    }
    return end == all_.size() ? std::string(old_name) : all_[end].to;
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

void selection::check(const std::vector<ztensor::reader>& files) {
    renames_ = renamings(rename_texts_, "--rename");
    for (const std::string& each : only_) {
        require_match(each, files, "--only");
    }
    renames_.check(files);
}

bool selection::takes(const ztensor::object_view& object) const {
    return (only_.empty() || any_matches(only_, object.name())) && !any_matches(excluded_, object.name());
}

} // namespace zt
