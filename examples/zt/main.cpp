// SPDX-License-Identifier: MIT
//
// zt: looks into tensor files, converts, compares and changes them. Every subcommand is a thin caller of the library.
#include "command.hpp"
#include "input.hpp"
#include "pipe.hpp"
#include "terminal.hpp"
#include "texts.hpp"
#include "wording.hpp"

#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <numeric>
#include <string>
#include <vector>

namespace zt {

CLI::App* add_command(tool& to, const std::string& name, const std::string& summary, const std::string& example,
                      action run) {
    CLI::App* const command = to.app.add_subcommand(name, summary);
    command->footer("Example:\n  zt " + example);
    command->callback([&to, run = std::move(run)] { to.chosen = run; });
    return command;
}

CLI::Option* each_once(CLI::Option* option) {
    return option->take_all()->expected(1)->allow_extra_args(false);
}

namespace {

constexpr const char* exit_codes = "Exit codes:\n"
                                   "  0  good\n"
                                   "  1  a file or its content is bad, differs, or can't become what was asked for\n"
                                   "  2  usage\n"
                                   "  3  the system refused: no such file, no permission, no room, no memory";

std::string version_text() {
    return "zt " + std::to_string(ZTENSOR_VERSION_MAJOR) + '.' + std::to_string(ZTENSOR_VERSION_MINOR) + '.' +
           std::to_string(ZTENSOR_VERSION_PATCH);
}

/// "--zstd" and "--digest" may stand alone, and must not take the word behind them for their value.
std::vector<std::string> words_of(int argc, char** argv) {
    const std::vector<std::string> arguments = utf8_arguments(argc, argv);
    std::vector<std::string> words;
    for (std::size_t i = arguments.size(); i > 1; --i) { // CLI11 takes them from the back
        const std::string& word = arguments[i - 1];
        words.push_back(word == "--zstd" ? "--zstd=1" : word == "--digest" ? "--digest=sha256" : word);
    }
    return words;
}

/// How many letters have to be put in, left out or exchanged to make one word of the other.
std::size_t edits_between(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row.back();
}

/// The word that is meant by one that there is not; "" if none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& known) {
    std::string found;
    std::size_t least = word.size() < 4 ? 2 : 3;
    for (const std::string& each : known) {
        const std::size_t edits = edits_between(word, each);
        if (edits < least) {
            least = edits;
            found = each;
        }
    }
    return found;
}

/// Names the command or option that was probably meant.
void suggest(const CLI::App& app, const std::vector<std::string>& words) {
    std::vector<std::string> known;
    const auto tell = [&](const std::string& word) {
        const std::string meant = nearest(word, known);
        if (!meant.empty() && meant != word) {
            std::cerr << "zt: did you mean \"" << meant << "\" by \"" << printable(name_of_input(word)) << "\"?\n";
        }
    };
    if (words.empty()) {
        return;
    }
    const std::string& first = words.back(); // they are in the order in which they are taken
    for (const CLI::App* each : commands_of(app)) {
        known.push_back(each->get_name());
    }
    if (std::find(known.begin(), known.end(), first) == known.end()) {
        return tell(first);
    }
    known.clear();
    for (const CLI::Option* each : options_of(*app.get_subcommand(first))) {
        known.push_back("--" + long_name(*each));
    }
    for (const std::string& word : words) {
        if (word.substr(0, 2) == "--") {
            tell(word.substr(0, word.find('=')));
        }
    }
}

/// What is wrong with a command line, in a line, and where it says what is right. The words are in the order in which
/// they are taken.
std::string refusal_of(const CLI::App& app, const CLI::ParseError& failure, const std::vector<std::string>& words) {
    const std::vector<CLI::App*> chosen = app.get_subcommands(); // one, or none
    const std::string command = chosen.empty() ? "zt" : "zt " + chosen.front()->get_name();
    const std::vector<std::string> unknown = app.remaining(true);
    const auto first = std::find_first_of(words.rbegin(), words.rend(), unknown.begin(), unknown.end());
    const bool is_unknown =
        failure.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && first != words.rend();
    std::string why = in_one_line(failure.what());
    if (is_unknown && chosen.empty() && first->substr(0, 1) != "-") {
        why = "there is no command \"" + printable(name_of_input(*first)) + '"';
    } else if (is_unknown) {
        why = (chosen.empty() ? "there is no option \"" : chosen.front()->get_name() + " takes no \"") +
              printable(name_of_input(*first)) + '"';
    }
    return "zt: " + why + "; " + command + " --help says what there is\n";
}

exit_code code_for(const ztensor::error& why) {
    switch (why.kind()) {
    case ztensor::error_kind::io:
        return refused;
    case ztensor::error_kind::limit:
        return why.code() == ztensor::errc::out_of_memory ? refused : bad;
    case ztensor::error_kind::not_found:
        return why.code() == ztensor::errc::file_not_found || why.code() == ztensor::errc::shard_missing ? refused
               : why.code() == ztensor::errc::object_not_found                                           ? usage
                                                                                                         : bad;
    case ztensor::error_kind::usage:
        return why.code() == ztensor::errc::invalid_argument || why.code() == ztensor::errc::writer_closed ? usage
                                                                                                           : bad;
    default:
        return bad;
    }
}

exit_code complain(const std::string& why, exit_code code) {
    std::cerr << "zt: " << in_one_line(with_paths_of_pipes(in_words_of_zt(why))) << '\n';
    return code;
}

} // namespace

exit_code run(const action& chosen) {
    try {
        return chosen();
    } catch (const ztensor::exception& failure) {
        return complain(failure.what(), code_for(failure.error()));
    } catch (const usage_error& failure) {
        return complain(failure.what(), usage);
    } catch (const content_error& failure) {
        return complain(failure.what(), bad);
    } catch (const std::bad_alloc&) {
        return complain("memory ran out", refused);
    } catch (const std::exception& failure) {
        return complain(failure.what(), refused);
    }
}

namespace {

/// All of what was asked for, and what it printed is where it was to go.
exit_code run_and_flush(const action& chosen) {
    const exit_code code = run(chosen);
    return std::cout.flush() ? code : complain("can't write to the standard output", refused);
}

void add_commands(tool& to) {
    for (const auto add :
         {add_info,       add_stats,   add_report,  add_verify,  add_lint,  add_convert, add_copy,   add_merge,
          add_split,      add_migrate, add_diff,    add_extract, add_print, add_append,  add_remove, add_rename,
          add_attributes, add_compact, add_recover, add_sweep,   add_id,    add_bench,   add_completion}) {
        add(to);
    }
}

int main_of(int argc, char** argv) {
    tool zt_tool;
    CLI::App& app = zt_tool.app;
    app.name("zt");
    app.description("Looks into tensor files, converts, compares and changes them: .zt of every generation, and for "
                    "reading\nwhat others write.");
    app.footer(std::string(exit_codes) + "\n\nzt COMMAND --help shows an example of each command.");
    app.set_help_all_flag("--help-all", "Help on every command");
    bool asks_for_version = false, asks_for_man_page = false;
    app.add_flag("--version", asks_for_version, "The version of the library");
    app.add_flag("--man", asks_for_man_page, "The manual page, as zt.1");
    app.require_subcommand(0, 1); // whether these two need none depends on the version of CLI11
    set_help_layout(app);
    add_commands(zt_tool);
    try {
        app.parse(words_of(argc, argv));
    } catch (const CLI::ParseError& failure) {
        if (failure.get_exit_code() == 0) { // help was asked for
            return static_cast<exit_code>(app.exit(failure));
        }
        std::cerr << refusal_of(app, failure, words_of(argc, argv));
        suggest(app, words_of(argc, argv));
        return usage;
    }
    if (asks_for_version || asks_for_man_page) {
        return run_and_flush([&] {
            std::cout << (asks_for_version ? version_text() + '\n' : man_page(app));
            return good;
        });
    }
    if (!zt_tool.chosen) {
        return complain("a command is required; zt --help lists them", usage);
    }
    return run_and_flush(zt_tool.chosen);
}

} // namespace
} // namespace zt

int main(int argc, char** argv) {
    try {
        return zt::main_of(argc, argv);
    } catch (const std::exception& failure) {
        std::cerr << "zt: " << zt::in_one_line(failure.what()) << '\n';
        return zt::refused;
    }
}
