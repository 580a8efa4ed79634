// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "texts.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <string>

namespace zt {
namespace {

/// Within single quotes of a shell.
std::string quoted_inside(const std::string& text) {
    return replaced(text, "'", "'\\''");
}

std::string option_words(const CLI::App& command) {
    std::string words;
    for (const CLI::Option* const each : options_of(command)) {
        words += (words.empty() ? "--" : " --") + long_name(*each);
    }
    return words;
}

void complete_bash(const CLI::App& app) {
    std::string names;
    for (const CLI::App* const command : commands_of(app)) {
        names += command->get_name() + ' ';
    }
    std::cout << "_zt() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                 "    if ((COMP_CWORD == 1)); then\n"
                 "        words='"
              << names << option_words(app)
              << "'\n"
                 "    else\n"
                 "        case ${COMP_WORDS[1]} in\n";
    for (const CLI::App* const command : commands_of(app)) {
        std::cout << "            " << command->get_name() << ") words='" << option_words(*command)
                  << (command->get_name() == "completion" ? " bash zsh fish" : "") << "' ;;\n";
    }
    std::cout << "        esac\n"
                 "    fi\n"
                 "    if ((COMP_CWORD == 1)) || [[ $word == -* || ${COMP_WORDS[1]} == completion ]]; then\n"
                 "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                 "    else\n"
                 "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                 "    fi\n"
                 "}\n"
                 "complete -o filenames -F _zt zt\n";
}

/// A description within the brackets or behind the colon of zsh's own words.
std::string zsh_text(const std::string& text) {
    return quoted_inside(replaced(replaced(replaced(text, "[", "\\["), "]", "\\]"), ":", "\\:"));
}

void complete_zsh(const CLI::App& app) {
    std::cout << "#compdef zt\n"
                 "_zt() {\n"
                 "    local -a commands\n"
                 "    commands=(\n";
    for (const CLI::App* const command : commands_of(app)) {
        std::cout << "        '" << command->get_name() << ':' << zsh_text(command->get_description()) << "'\n";
    }
    std::cout << "    )\n"
                 "    if ((CURRENT == 2)); then\n"
                 "        _describe command commands\n"
                 "        return\n"
                 "    fi\n"
                 "    case ${words[2]} in\n";
    for (const CLI::App* const command : commands_of(app)) {
        std::cout << "        " << command->get_name() << ") _arguments '1:command:'";
        for (const CLI::Option* const each : options_of(*command)) {
            std::cout << " \\\n            '--" << long_name(*each) << '[' << zsh_text(each->get_description()) << "]'";
        }
        std::cout << (command->get_name() == "completion" ? " '*:shell:(bash zsh fish)' ;;\n"
                                                          : " '*:file:_files' ;;\n");
    }
    std::cout << "    esac\n"
                 "}\n"
                 "compdef _zt zt\n";
}

void complete_fish(const CLI::App& app) {
    for (const CLI::App* const command : commands_of(app)) {
        const std::string name = command->get_name();
        std::cout << "complete -c zt -n __fish_use_subcommand -f -a " << name << " -d '"
                  << replaced(command->get_description(), "'", "\\'") << "'\n";
        for (const CLI::Option* const each : options_of(*command)) {
            std::cout << "complete -c zt -n '__fish_seen_subcommand_from " << name << "' -l " << long_name(*each)
                      << " -d '" << replaced(each->get_description(), "'", "\\'") << "'\n";
        }
    }
    std::cout << "complete -c zt -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
}

exit_code print_completion(const CLI::App& app, const std::string& shell) {
    static const std::map<std::string, void (*)(const CLI::App&)> shells = {
        {"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};
    shells.at(shell)(app);
    return good;
}

} // namespace

void add_completion(tool& to) {
    const auto shell = std::make_shared<std::string>();
    CLI::App* const command = add_command(to, "completion", "Print what makes a shell complete the words of zt",
                                          "completion bash > ~/.local/share/bash-completion/completions/zt",
                                          [shell, &to] { return print_completion(to.app, *shell); });
    command->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

} // namespace zt
