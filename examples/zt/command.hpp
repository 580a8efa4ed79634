// SPDX-License-Identifier: MIT
//
// What the subcommands have in common: how they are registered, and what the program's exit codes mean.
#ifndef ZTENSOR_EXAMPLES_ZT_COMMAND_HPP
#define ZTENSOR_EXAMPLES_ZT_COMMAND_HPP

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>

namespace zt {

/// Scripts rely on these.
enum exit_code : int {
    good = 0,
    bad = 1,     ///< a file, or what is in it, is damaged, differs, or can't become what was asked for
    usage = 2,   ///< the command line asks for what there is not
    refused = 3, ///< the system: no such file, no permission, no room, no memory
};

/// A command line that parses and makes no sense.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Content that can't be what was asked for.
class content_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Runs once the whole command line is parsed.
using action = std::function<exit_code()>;

/// The program: its subcommands, and the one that was chosen.
struct tool {
    CLI::App app;
    action chosen;
};

/// Adds a subcommand that does `run`. `example` is a command line, without the program's name, and what it does.
CLI::App* add_command(tool& to, const std::string& name, const std::string& summary, const std::string& example,
                      action run);

/// Does the work; what it throws becomes a line on the standard error and an exit code.
exit_code run(const action& chosen);

/// An option that is given once for each value: what follows it is no second one.
CLI::Option* each_once(CLI::Option* option);

// Each in a file of its own.
void add_info(tool& to);
void add_stats(tool& to);
void add_report(tool& to);
void add_verify(tool& to);
void add_lint(tool& to);
void add_convert(tool& to);
void add_copy(tool& to);
void add_merge(tool& to);
void add_split(tool& to);
void add_migrate(tool& to);
void add_diff(tool& to);
void add_extract(tool& to);
void add_print(tool& to);
void add_attributes(tool& to);
void add_append(tool& to);
void add_remove(tool& to);
void add_rename(tool& to);
void add_compact(tool& to);
void add_recover(tool& to);
void add_sweep(tool& to);
void add_id(tool& to);
void add_bench(tool& to);
void add_completion(tool& to);

/// Lays out what --help prints of `app`, and of the subcommands that are added afterwards.
void set_help_layout(CLI::App& app);

/// The manual page of all that was added.
std::string man_page(const CLI::App& app);

} // namespace zt

#endif
