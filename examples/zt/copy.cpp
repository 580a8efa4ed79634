// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "rewriting.hpp"
#include "selection.hpp"

#include <memory>
#include <string>
#include <vector>

namespace zt {
namespace {

struct copy_choice {
    std::string in;
    std::string out;
    std::string version = "1.2";
    std::vector<std::string> inputs;
    input_options input;
    selection selected;
};

exit_code copy_file(copy_choice& options, const ztensor::format_version* version) {
    const input_set set = open_set(options.in, options.input);
    const std::vector<ztensor::reader>& files = set.files;
    tell_skipped(set);
    options.selected.check(files);
    tell_changed_bools(files, [&](const ztensor::object_view& object) { return options.selected.takes(object); });
    ztensor::write_options how;
    how.version(version != nullptr ? *version : version_like(files.front()));
    if (files.size() > 1) { // version 2 has names in their order unless told otherwise
        how.any_order();
    }
    auto to = ztensor::writer::create(options.out, how).value();
    for (const ztensor::reader& from : files) {
        add_objects(from, to, options.selected);
    }
    to.finish().value();
    return good;
}

exit_code merge_files(copy_choice& options) {
    std::vector<ztensor::reader> files;
    for (const std::string& path : options.inputs) {
        const input_set opened = open_set(path, options.input);
        tell_skipped(opened);
        files.insert(files.end(), opened.files.begin(), opened.files.end());
    }
    options.selected.check(files);
    tell_changed_bools(files, [&](const ztensor::object_view& object) { return options.selected.takes(object); });
    auto to = ztensor::writer::create(options.out).value();
    for (const ztensor::reader& from : files) {
        add_objects(from, to, options.selected);
    }
    to.finish().value();
    return good;
}

void add_in_and_out(CLI::App* command, copy_choice& options) {
    command->add_option("IN", options.in, "The file to read, of any format, or the folder or index of shards")
        ->required();
    command->add_option("OUT", options.out, "The .zt file to write")->required();
    options.selected.add_options(*command);
    options.selected.add_rename_option(*command);
    options.input.add_options(*command);
}

} // namespace

void add_copy(tool& to) {
    const auto options = std::make_shared<copy_choice>();
    CLI::App* const command =
        add_command(to, "copy", "Copy objects as they are stored into a new .zt file without gaps",
                    "copy --only 'encoder.*' model.zt encoder.zt", [options] { return copy_file(*options, nullptr); });
    add_in_and_out(command, *options);
}

void add_migrate(tool& to) {
    const auto options = std::make_shared<copy_choice>();
    CLI::App* const command = add_command(to, "migrate", "Copy a file into another version of the format",
                                          "migrate --version 1.1 model.zt old.zt",
                                          [options] { return copy_file(*options, &versions().at(options->version)); });
    add_in_and_out(command, *options);
    add_version_option(*command, options->version);
}

void add_merge(tool& to) {
    const auto options = std::make_shared<copy_choice>();
    CLI::App* const command =
        add_command(to, "merge", "Put the objects of several files into one .zt file",
                    "merge model.zt model-00001-of-00002.safetensors model-00002-of-00002.safetensors",
                    [options] { return merge_files(*options); });
    command->add_option("OUT", options->out, "The .zt file to write")->required();
    command->add_option("IN", options->inputs, "The files to read, of any format, or folders or indices of shards")
        ->required();
    options->selected.add_options(*command);
    options->selected.add_rename_option(*command);
    options->input.add_options(*command);
}

} // namespace zt
