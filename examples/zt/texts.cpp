// SPDX-License-Identifier: MIT
#include "texts.hpp"

namespace zt {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
    std::vector<const CLI::Option*> found;
    for (const CLI::Option* const each : command.get_options()) {
        if (!each->get_lnames().empty()) {
            found.push_back(each);
        }
    }
    return found;
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& command) {
    std::vector<const CLI::Option*> found;
    for (const CLI::Option* const each : command.get_options()) {
        if (each->get_positional()) {
            found.push_back(each);
        }
    }
    return found;
}

std::string long_name(const CLI::Option& option) {
    return option.get_lnames().front();
}

std::string option_synopsis(const CLI::Option& option) {
    const bool is_flag = option.get_expected_max() == 0;
    const std::string value = is_flag ? "" : option.get_type_name();
    const bool may_stand_alone = value.substr(0, 1) == "[";
    const std::string type = value.substr(0, value.find(':')); // what follows are the values that it may have
    const std::string short_name = option.get_snames().empty() ? "" : '-' + option.get_snames().front() + ", ";
    return short_name + "--" + long_name(option) + (type.empty() || may_stand_alone ? "" : " ") + type;
}

std::string argument_synopsis(const CLI::Option& argument) {
    return argument.get_name(true) + (argument.get_expected_max() > 1 ? "..." : "");
}

std::string usage_of(const CLI::App& command) {
    if (!commands_of(command).empty()) {
        return "zt [OPTIONS] COMMAND ...";
    }
    std::string out = "zt " + command.get_name() + " [OPTIONS]";
    for (const CLI::Option* const each : arguments_of(command)) {
        const std::string synopsis = argument_synopsis(*each);
        out += each->get_required() ? ' ' + synopsis : " [" + synopsis + ']';
    }
    return out;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    std::size_t begin = 0;
    for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
        (out += text.substr(begin, at - begin)) += to;
        begin = at + from.size();
    }
    return out += text.substr(begin);
}

} // namespace zt
