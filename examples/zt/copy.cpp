// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "rewriting.hpp"
#include "selection.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zt {
namespace {

const std::map<std::string, ztensor::format_version> versions = {{"0.1", ztensor::format_version::v0_1},
                                                                 {"1.1", ztensor::format_version::v1_1},
                                                                 {"1.2", ztensor::format_version::v1_2},
                                                                 {"2", ztensor::format_version::v2}};

/// The version of a file, or the nearest that can be written.
ztensor::format_version version_like(const ztensor::reader& file) {
    const auto found = versions.find(std::string(ztensor::name(file.generation())));
    return found == versions.end() ? ztensor::format_version::v1_2 : found->second;
}

exit_code copy_file(const std::string& in, const std::string& out, selection& selected,
                    const ztensor::format_version* version) {
    const ztensor::reader from = open_input(in);
    selected.check({from});
    const auto target = version != nullptr ? *version : version_like(from);
    auto to = ztensor::writer::create(out, ztensor::write_options().version(target)).value();
    add_objects(from, to, selected);
    to.finish().value();
    return good;
}

exit_code merge_files(const std::string& out, const std::vector<std::string>& inputs, selection& selected) {
    std::vector<ztensor::reader> files;
    for (const std::string& path : inputs) {
        const std::vector<ztensor::reader> opened = open_inputs(path);
        files.insert(files.end(), opened.begin(), opened.end());
    }
    selected.check(files);
    auto to = ztensor::writer::create(out).value();
    for (const ztensor::reader& from : files) {
        add_objects(from, to, selected);
    }
    to.finish().value();
    return good;
}

struct copy_choice {
    std::string in;
    std::string out;
    std::string version = "1.2";
    std::vector<std::string> inputs;
    selection selected;
};

void add_in_and_out(CLI::App* command, copy_choice& options) {
    command->add_option("IN", options.in, "The file to read")->required();
    command->add_option("OUT", options.out, "The .zt file to write")->required();
    options.selected.add_options(*command);
    options.selected.add_rename_option(*command);
}

} // namespace

void add_copy(tool& to) {
    const auto options = std::make_shared<copy_choice>();
    CLI::App* const command =
        add_command(to, "copy", "Copy objects as they are stored into a new .zt file without gaps",
                    "copy --only 'encoder.*' model.zt encoder.zt",
                    [options] { return copy_file(options->in, options->out, options->selected, nullptr); });
    add_in_and_out(command, *options);
}

void add_migrate(tool& to) {
    const auto options = std::make_shared<copy_choice>();
    CLI::App* const command = add_command(
        to, "migrate", "Copy a file into another version of the format", "migrate --version 1.1 model.zt old.zt",
        [options] { return copy_file(options->in, options->out, options->selected, &versions.at(options->version)); });
    add_in_and_out(command, *options);
    command->add_option("--version", options->version, "0.1, 1.1, 1.2, which is the default, or 2")
        ->type_name("VERSION")
        ->check(CLI::IsMember(versions));
}

void add_merge(tool& to) {
    const auto options = std::make_shared<copy_choice>();
    CLI::App* const command =
        add_command(to, "merge", "Put the objects of several files into one .zt file",
                    "merge model.zt model-00001-of-00002.safetensors model-00002-of-00002.safetensors",
                    [options] { return merge_files(options->out, options->inputs, options->selected); });
    command->add_option("OUT", options->out, "The .zt file to write")->required();
    command->add_option("IN", options->inputs, "The files to read, of any format, or folders or indices of shards")
        ->required();
    options->selected.add_options(*command);
    options->selected.add_rename_option(*command);
}

} // namespace zt
