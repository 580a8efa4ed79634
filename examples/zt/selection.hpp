// SPDX-License-Identifier: MIT
//
// Which objects a subcommand takes, and what they are called afterwards: --only, --exclude, --rename.
#ifndef ZTENSOR_EXAMPLES_ZT_SELECTION_HPP
#define ZTENSOR_EXAMPLES_ZT_SELECTION_HPP

#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zt {

/// As a shell matches names: * stands for anything, dots and slashes too, ? for one character.
bool matches(std::string_view pattern, std::string_view text);

/// Throws usage_error if no object of `files` is called so.
void require_match(const std::string& pattern, const std::vector<ztensor::reader>& files, const char* said_by);

/// Other names of objects.
class renamings {
public:
    /// Reads OLD=NEW: a * in OLD, of which there may be one, keeps in NEW what it stood for. `said_by` is what the texts
    /// come from. Throws usage_error for what is none.
    renamings() = default;
    renamings(const std::vector<std::string>& texts, const char* said_by);

    /// Throws usage_error for an OLD that no object of `files` is called.
    void check(const std::vector<ztensor::reader>& files) const;

    /// What an object is called afterwards: the first that fits says so.
    [[nodiscard]] std::string name_for(std::string_view old_name) const;

private:
    struct renaming {
        std::string from;
        std::string to;
    };

    std::vector<renaming> all_;
    std::unordered_map<std::string, std::size_t> whole_names_; ///< those without a *: there may be thousands
    std::vector<std::size_t> patterns_;
    const char* said_by_ = "";
};

class selection {
public:
    void add_options(CLI::App& command);
    void add_rename_option(CLI::App& command);

    /// Throws usage_error for a pattern that no object of `files` matches, and for what is no OLD=NEW.
    void check(const std::vector<ztensor::reader>& files);

    [[nodiscard]] bool takes(const ztensor::object_view& object) const;
    [[nodiscard]] std::string name_for(std::string_view old_name) const { return renames_.name_for(old_name); }
    [[nodiscard]] bool is_everything() const { return only_.empty() && excluded_.empty(); }

private:
    std::vector<std::string> only_;
    std::vector<std::string> excluded_;
    std::vector<std::string> rename_texts_;
    renamings renames_;
};

} // namespace zt

#endif
