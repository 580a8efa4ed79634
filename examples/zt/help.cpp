// SPDX-License-Identifier: MIT
//
// What --help prints. CLI11 lays it out otherwise from version to version, so zt does that itself.
#include "command.hpp"
#include "texts.hpp"

#include <memory>
#include <sstream>
#include <string>

namespace zt {
namespace {

constexpr std::size_t description_column = 30;

void write_row(std::ostream& out, const std::string& synopsis, const std::string& description) {
    const std::string row = "  " + synopsis;
    out << row
        << (row.size() + 1 < description_column ? std::string(description_column - row.size(), ' ')
                                                : '\n' + std::string(description_column, ' '))
        << description << '\n';
}

void write_help(std::ostream& out, const CLI::App& command) {
    const auto commands = commands_of(command);
    const auto arguments = arguments_of(command);
    out << command.get_description() << "\nUsage: " << usage_of(command) << '\n';
    if (!arguments.empty()) {
        out << "\nArguments:\n";
    }
    for (const CLI::Option* const each : arguments) {
        write_row(out, argument_synopsis(*each), each->get_description());
    }
    out << "\nOptions:\n";
    for (const CLI::Option* const each : options_of(command)) {
        write_row(out, option_synopsis(*each), each->get_description());
    }
    if (!commands.empty()) {
        out << "\nCommands:\n";
    }
    for (const CLI::App* const each : commands) {
        write_row(out, each->get_name(), each->get_description());
    }
    out << '\n' << command.get_footer() << '\n';
}

class help_layout : public CLI::FormatterBase {
public:
    std::string make_help(const CLI::App* command, std::string, CLI::AppFormatMode mode) const override {
        std::ostringstream out;
        write_help(out, *command);
        if (mode == CLI::AppFormatMode::All) {
            for (const CLI::App* const each : commands_of(*command)) {
                out << '\n';
                write_help(out, *each);
            }
        }
        return out.str();
    }
};

} // namespace

void set_help_layout(CLI::App& app) {
    app.formatter(std::make_shared<help_layout>());
}

} // namespace zt
