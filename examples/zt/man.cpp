// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "texts.hpp"

#include <ztensor/version.hpp>

#include <sstream>
#include <string>

namespace zt {
namespace {

/// As roff takes it literally.
std::string roff(const std::string& text) {
    std::string out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
    out = replaced(out, "'", "\\(aq");
    return replaced(out, "\n.", "\n\\&.");
}

/// Lines as they stand.
std::string verbatim(const std::string& text) {
    return ".nf\n" + roff(text) + "\n.fi\n";
}

void write_options_of(std::ostream& out, const CLI::App& command) {
    for (const CLI::Option* const each : arguments_of(command)) {
        out << ".TP\n.I " << roff(argument_synopsis(*each)) << '\n' << roff(each->get_description()) << '\n';
    }
    for (const CLI::Option* const each : options_of(command)) {
        out << ".TP\n.B " << roff(option_synopsis(*each)) << '\n' << roff(each->get_description()) << '\n';
    }
}

} // namespace

std::string man_page(const CLI::App& app) {
    std::ostringstream out;
    out << ".TH ZT 1 \"\" \"ztensor " << ZTENSOR_VERSION_MAJOR << '.' << ZTENSOR_VERSION_MINOR << '.'
        << ZTENSOR_VERSION_PATCH << "\" \"User Commands\"\n"
        << ".SH NAME\nzt \\- look into tensor files, convert, compare and change them\n"
        << ".SH SYNOPSIS\n.B zt\n.I COMMAND\n[OPTIONS] ...\n"
        << ".SH DESCRIPTION\n"
        << roff(app.get_description()) << '\n'
        << ".SH OPTIONS\n";
    write_options_of(out, app);
    out << ".SH COMMANDS\n";
    for (const CLI::App* const command : commands_of(app)) {
        out << ".SS " << roff(usage_of(*command)) << '\n' << roff(command->get_description()) << ".\n";
        write_options_of(out, *command);
        out << ".PP\n" << verbatim(command->get_footer());
    }
    out << ".SH EXIT STATUS\n" << verbatim(app.get_footer());
    out << ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set, nothing is emphasised.\n"
        << ".TP\n.B COLUMNS\nThe width of a terminal that does not tell it.\n";
    return out.str();
}

} // namespace zt
