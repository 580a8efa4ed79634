// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "rewriting.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace zt {
namespace {

struct split_options {
    std::string in;
    std::string folder;
    std::string size = "5GB";
    std::string version;
    input_options input;
    selection selected;
};

/// What is to be written: bytes in all. Throws content_error if two objects are to have one name.
std::uint64_t check_objects(const std::vector<ztensor::reader>& files, const selection& selected) {
    std::set<std::string> names;
    std::uint64_t bytes = 0;
    for (const ztensor::reader& from : files) {
        for (const ztensor::object_view object : from) {
            if (!selected.takes(object)) {
                continue;
            }
            const std::string name = selected.name_for(object.name());
            if (!names.insert(name).second) {
                throw content_error("two objects are to be called \"" + printable(name) + '"');
            }
            bytes += stored_bytes_of(object);
        }
    }
    return bytes;
}

/// Each shard has those of all files.
void copy_attributes(const std::vector<ztensor::reader>& files, ztensor::sharded_writer& to) {
    for (const ztensor::reader& from : files) {
        if (from.has_attributes()) {
            to.add_attributes(from.attributes()).value();
        }
    }
}

/// What the shards are called after: the file, the folder, or the index without its two endings.
std::string stem_of(const std::string& given) {
    const std::string path = name_of_input(given);
    if (std::filesystem::is_directory(path)) {
        const std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
        return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    }
    const std::filesystem::path stem = std::filesystem::path(path).stem();
    return has_ending(path, ".json") ? stem.stem().stem().string() : stem.string();
}

std::string name_at(const std::string& path) {
    return printable(std::filesystem::path(path).filename().string());
}

/// What was written, by its index or, of version 2, its root.
void tell_shards(const std::filesystem::path& index) {
    const ztensor::reader written = ztensor::open_any(index).value();
    for (const ztensor::reader& file : written.files()) {
        std::set<std::string_view> shards;
        for (const ztensor::object_view object : file) {
            for (const ztensor::component_view part : object) {
                shards.insert(part.shard());
            }
        }
        shards.erase(std::string_view()); // what the file holds itself
        std::cout << name_at(file.path()) << ": " << grouped(file.size()) << " objects"
                  << (shards.empty() ? "" : " in " + grouped(shards.size()) + " data shards") << '\n';
    }
}

exit_code split_file(split_options& options) {
    const std::uint64_t most_bytes = parse_size(options.size);
    if (most_bytes == 0) {
        throw usage_error("--size must be more than 0");
    }
    const input_set set = open_set(options.in, options.input);
    const std::vector<ztensor::reader>& files = set.files;
    tell_skipped(set);
    options.selected.check(files);
    tell_changed_bools(files, [&](const ztensor::object_view& object) { return options.selected.takes(object); });
    const std::filesystem::path folder = options.folder;
    const std::string stem = stem_of(options.in);
    const std::uint64_t total = check_objects(files, options.selected);
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) {
        throw std::runtime_error(printable(options.folder) + ": the folder can't be made: " + failure.message());
    }

    const auto version = options.version.empty() ? version_like(files.front()) : versions().at(options.version);
    auto how = ztensor::write_options().version(version).shard_bytes(most_bytes);
    if (files.size() > 1) { // version 2 has names in their order unless told otherwise
        how.any_order();
    }
    auto to = ztensor::sharded_writer::create(folder / (stem + ".zt"), how).value();
    copy_attributes(files, to);
    progress_line progress;
    std::uint64_t done = 0;
    for (const ztensor::reader& from : files) {
        std::uint64_t copied = 0;
        const auto what = ztensor::copy_options()
                             .file_attributes(false)
                             .select([&](const ztensor::object_view& object) { return options.selected.takes(object); })
                             .rename([&](std::string_view old_name) { return options.selected.name_for(old_name); })
                             .progress([&](const ztensor::copy_progress& now) {
                                 copied = now.done_bytes;
                                 progress.show(done + copied, total, now.object);
                                 return true;
                             });
        ztensor::copy(from, to, what).value();
        done += copied;
    }
    to.finish().value();
    tell_shards(folder / (stem + (version == ztensor::format_version::v2 ? ".zt" : ".zt.index.json")));
    return good;
}

} // namespace

void add_split(tool& to) {
    const auto options = std::make_shared<split_options>();
    CLI::App* const command =
        add_command(to, "split", "Split a file into shards with an index", "split --size 2GB model.zt shards",
                    [options] { return split_file(*options); });
    command->add_option("IN", options->in, "The file to read, of any format, or the folder or index of shards")
        ->required();
    command->add_option("FOLDER", options->folder,
                        "Where NAME.zt.index.json and its files NAME-<token>-00001-of-00003.zt go; of version 2, NAME.zt "
                        "and its data shards")
        ->required();
    command->add_option("--size", options->size, "Most bytes of tensors in a shard, such as 500MB; 5GB unless given")
        ->type_name("SIZE");
    add_version_option(*command, options->version, "that of IN, or 1.2 of another format,");
    options->selected.add_options(*command);
    options->selected.add_rename_option(*command);
    options->input.add_options(*command);
}

} // namespace zt
