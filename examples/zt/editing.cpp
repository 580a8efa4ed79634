// SPDX-License-Identifier: MIT
//
// append, remove, rename: changes to a .zt file that exists.
#include "command.hpp"
#include "input.hpp"
#include "rewriting.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <memory>
#include <string>
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
        const std::vector<ztensor::reader> opened = open_inputs(path, options.input);
        files.insert(files.end(), opened.begin(), opened.end());
    }
    tell_skipped(files);
    options.selected.check(files);
    const auto mode = options.is_in_place ? ztensor::publish_mode::in_place : ztensor::publish_mode::replace;
    auto to = ztensor::writer::append(options.path, ztensor::write_options().publish(mode)).value();
    for (const ztensor::reader& from : files) {
        add_objects(from, to, options.selected);
    }
    wait_for("writing " + options.path, [&] { to.finish().value(); });
    return good;
}

exit_code remove_objects(const edit_options& options) {
    require_changeable(options.path);
    std::vector<std::string> names;
    {
        const ztensor::reader file = open_input(options.path);
        std::vector<bool> is_used(options.words.size());
        for (const ztensor::object_view object : file) {
            bool is_named = false;
            for (std::size_t i = 0; i < options.words.size(); ++i) {
                if (matches(options.words[i], object.name())) {
                    is_used[i] = is_named = true;
                }
            }
            if (is_named) {
                names.emplace_back(object.name());
            }
        }
        for (std::size_t i = 0; i < options.words.size(); ++i) {
            if (!is_used[i]) {
                static_cast<void>(file.find(options.words[i]).value()); // which says what may have been meant
            }
        }
    }
    auto file = ztensor::edit(options.path).value();
    for (const std::string& name : names) {
        file.remove(name).value();
    }
    wait_for("writing " + options.path, [&] { file.finish().value(); });
    return good;
}

exit_code rename_objects(const edit_options& options) {
    require_changeable(options.path);
    auto file = ztensor::edit(options.path).value();
    for (const std::string& word : options.words) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) {
            throw usage_error("rename takes OLD=NEW, not \"" + printable(word) + '"');
        }
        file.rename(word.substr(0, equals), word.substr(equals + 1)).value();
    }
    wait_for("writing " + options.path, [&] { file.finish().value(); });
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
    CLI::App* const command = add_command(to, "rename", "Give objects of a .zt file other names",
                                          "rename model.zt w=weight", [options] { return rename_objects(*options); });
    command->add_option("FILE", options->path, "The .zt file")->required();
    command->add_option("RENAMING", options->words, "OLD=NEW: the name of an object, and its new one")->required();
}

} // namespace zt
