// SPDX-License-Identifier: MIT
//
// Which objects a subcommand takes, and what they are called afterwards: --only, --exclude, --rename.
#ifndef ZTENSOR_EXAMPLES_ZT_SELECTION_HPP
#define ZTENSOR_EXAMPLES_ZT_SELECTION_HPP

#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zt {

/// As a shell matches names: * stands for anything, dots and slashes too, ? for one character.
bool matches(std::string_view pattern, std::string_view text);

class selection {
public:
    void add_options(CLI::App& command);
    void add_rename_option(CLI::App& command);

    /// Throws usage_error for a pattern that no object of `files` matches, and for what is no OLD=NEW.
    void check(const std::vector<ztensor::reader>& files);

    [[nodiscard]] bool takes(const ztensor::object_view& object) const;
    [[nodiscard]] std::string name_for(std::string_view old_name) const;
    [[nodiscard]] bool is_everything() const { return only_.empty() && excluded_.empty(); }

private:
    struct renaming {
        std::string from; ///< may hold one *
        std::string to;   ///< which gets what that stood for
    };
    void parse_renames();

    std::vector<std::string> only_;
    std::vector<std::string> excluded_;
    std::vector<std::string> rename_texts_;
    std::vector<renaming> renames_;
};

} // namespace zt

#endif
