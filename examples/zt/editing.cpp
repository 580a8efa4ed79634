// SPDX-License-Identifier: MIT
//
// append, remove, rename, compact: changes to a .zt file that exists.
#include "command.hpp"
#include "input.hpp"
#include "rewriting.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <ztensor/edit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zt {
namespace {

struct edit_options {
    std::string path;
    std::vector<std::string> words;
    input_options input;
    selection selected;
    bool is_in_place = false;
};

exit_code append_files(edit_options& options) {
    require_changeable(options.path);
    std::vector<ztensor::reader> files;
    for (const std::string& path : options.words) {
        const input_set opened = open_set(path, options.input);
        tell_skipped(opened);
        files.insert(files.end(), opened.files.begin(), opened.files.end());
    }
    options.selected.check(files);
    const auto mode = options.is_in_place ? ztensor::publish_mode::in_place : ztensor::publish_mode::replace;
    auto to = ztensor::writer::append(options.path, ztensor::write_options().publish(mode)).value();
    for (const ztensor::reader& from : files) {
        add_objects(from, to, options.selected);
    }
    wait_for("writing " + options.path, [&] { to.finish().value(); });
    return good;
}

/// Names of objects that one of the words, which are names or patterns, means.
std::vector<std::string> names_meant(const std::string& path, const std::vector<std::string>& words) {
    const std::vector<ztensor::reader> files = {open_input(path)};
    std::unordered_set<std::string> whole;
    std::vector<std::string> patterns;
    for (const std::string& word : words) {
        require_match(word, files, "remove");
        if (word.find_first_of("*?") == std::string::npos) {
            whole.insert(word);
        } else {
            patterns.push_back(word);
        }
    }
    std::vector<std::string> names;
    for (const ztensor::object_view object : files.front()) {
        const std::string name(object.name());
        const auto is_meant = [&](const std::string& pattern) { return matches(pattern, name); };
        if (whole.count(name) != 0 || std::any_of(patterns.begin(), patterns.end(), is_meant)) {
            names.push_back(name);
        }
    }
    return names;
}

exit_code remove_objects(const edit_options& options) {
    require_changeable(options.path);
    const std::vector<std::string> names = names_meant(options.path, options.words);
    auto file = ztensor::edit(options.path).value();
    for (const std::string& name : names) {
        file.remove(name).value();
    }
    wait_for("writing " + options.path, [&] { file.finish().value(); });
    return good;
}

/// What is to be called otherwise, and how. No name is that of two objects afterwards.
struct name_changes {
    std::vector<std::pair<std::string, std::string>> from_to;
    std::unordered_set<std::string> all_names; ///< afterwards
};

name_changes find_changes(const std::string& path, const std::vector<std::string>& words) {
    const std::vector<ztensor::reader> files = {open_input(path)};
    const renamings renamed(words, "rename");
    renamed.check(files);
    name_changes found;
    for (const ztensor::object_view object : files.front()) {
        const std::string name = renamed.name_for(object.name());
        if (!found.all_names.insert(name).second) {
            throw content_error("two objects are to be called \"" + printable(name) + '"');
        }
        if (name != object.name()) {
            found.from_to.emplace_back(object.name(), name);
        }
    }
    return found;
}

/// An object whose name another one gets makes room for it first.
void make_changes(ztensor::editor& file, name_changes changes) {
    std::size_t count = 0;
    for (auto& [from, to] : changes.from_to) {
        if (changes.all_names.count(from) == 0) {
            continue;
        }
        std::string between = "renamed-0";
        while (!changes.all_names.insert(between).second) {
            between = "renamed-" + std::to_string(++count);
        }
        file.rename(from, between).value();
        from = between;
    }
    for (const auto& [from, to] : changes.from_to) {
        file.rename(from, to).value();
    }
}

exit_code rename_objects(const edit_options& options) {
    require_changeable(options.path);
    name_changes changes = find_changes(options.path, options.words);
    auto file = ztensor::edit(options.path).value();
    make_changes(file, std::move(changes));
    wait_for("writing " + options.path, [&] { file.finish().value(); });
    return good;
}

exit_code compact_file(const std::string& path) {
    require_changeable(path);
    const std::uint64_t dead = ztensor::dead_bytes(open_input(path)).value();
    wait_for("writing " + path, [&] { ztensor::compact(path).value(); });
    std::cout << printable(path) << ": " << (dead == 0 ? "no dead bytes" : human(dead) + " of dead bytes dropped")
              << '\n';
    return good;
}

} // namespace

void add_append(tool& to) {
    const auto options = std::make_shared<edit_options>();
    CLI::App* const command =
        add_command(to, "append", "Add the objects of other files to a .zt file", "append model.zt lora.safetensors",
                    [options] { return append_files(*options); });
    command->add_option("FILE", options->path, "The .zt file that grows")->required();
    command->add_option("IN", options->words, "The files to read, of any format, or folders or indices of shards")
        ->required();
    options->selected.add_options(*command);
    options->selected.add_rename_option(*command);
    options->input.add_options(*command);
    command->add_flag("--in-place", options->is_in_place, "Extend the file itself instead of a copy of it");
}

void add_remove(tool& to) {
    const auto options = std::make_shared<edit_options>();
    CLI::App* const command = add_command(to, "remove", "Take objects out of a .zt file", "remove model.zt 'decoder.*'",
                                          [options] { return remove_objects(*options); });
    command->add_option("FILE", options->path, "The .zt file")->required();
    command->add_option("NAME", options->words, "Names of objects, or patterns with * and ?")->required();
}

void add_rename(tool& to) {
    const auto options = std::make_shared<edit_options>();
    CLI::App* const command =
        add_command(to, "rename", "Give objects of a .zt file other names", "rename model.zt 'model.*=*'",
                    [options] { return rename_objects(*options); });
    command->add_option("FILE", options->path, "The .zt file")->required();
    command
        ->add_option("RENAMING", options->words,
                     "OLD=NEW: the name of an object, and its new one; a * in OLD keeps in NEW what it stood for")
        ->required();
}

void add_compact(tool& to) {
    const auto path = std::make_shared<std::string>();
    CLI::App* const command = add_command(to, "compact", "Drop the bytes of a .zt file that no object has any more",
                                          "compact model.zt", [path] { return compact_file(*path); });
    command->add_option("FILE", *path, "The .zt file")->required();
}

} // namespace zt
