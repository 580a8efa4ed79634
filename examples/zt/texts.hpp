// SPDX-License-Identifier: MIT
//
// What the program says of itself, read from its own subcommands and options: for completions and the manual page.
#ifndef ZTENSOR_EXAMPLES_ZT_TEXTS_HPP
#define ZTENSOR_EXAMPLES_ZT_TEXTS_HPP

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zt {

std::vector<const CLI::App*> commands_of(const CLI::App& app);
/// Those that begin with --.
std::vector<const CLI::Option*> options_of(const CLI::App& command);
/// Those that don't, in their order.
std::vector<const CLI::Option*> arguments_of(const CLI::App& command);

/// "layout"
std::string long_name(const CLI::Option& option);
/// "--layout FILE.svg" or "-h, --help"
std::string option_synopsis(const CLI::Option& option);
/// "FILE" or, where several may follow each other, "FILE..."
std::string argument_synopsis(const CLI::Option& argument);
/// "zt info [OPTIONS] FILE"
std::string usage_of(const CLI::App& command);
/// `text` with every `from` replaced by `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

} // namespace zt

#endif
