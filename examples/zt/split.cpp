// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
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
    input_options input;
    selection selected;
};

/// For each object that is selected, in the order of the files, the number of its shard from 0 on; and how many shards
/// there are.
std::pair<std::vector<std::size_t>, std::size_t> assign_shards(const std::vector<ztensor::reader>& files,
                                                               const selection& selected, std::uint64_t most_bytes) {
    std::vector<std::size_t> shards;
    std::size_t shard = 0;
    std::uint64_t held = 0;
    for (const ztensor::reader& from : files) {
        for (const ztensor::object_view object : from) {
            if (!selected.takes(object)) {
                continue;
            }
            const std::uint64_t bytes = stored_bytes_of(object);
            if (held != 0 && bytes > most_bytes - std::min(held, most_bytes)) {
                ++shard;
                held = 0;
            }
            held += bytes;
            shards.push_back(shard);
        }
    }
    return {std::move(shards), shard + 1};
}

/// What the shards are called after: the file, the folder, or the index without its two endings.
std::string stem_of(const std::string& path) {
    if (std::filesystem::is_directory(path)) {
        const std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
        return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    }
    const std::filesystem::path stem = std::filesystem::path(path).stem();
    return has_ending(path, ".json") ? stem.stem().stem().string() : stem.string();
}

std::string shard_name(const std::string& stem, std::size_t number, std::size_t count) {
    char ending[64];
    std::snprintf(ending, sizeof ending, "-%05zu-of-%05zu.zt", number + 1, count);
    return stem + ending;
}

exit_code split_file(split_options& options) {
    const std::uint64_t most_bytes = parse_size(options.size);
    if (most_bytes == 0) {
        throw usage_error("--size must be more than 0");
    }
    const std::vector<ztensor::reader> files = open_inputs(options.in, options.input);
    tell_skipped(files);
    options.selected.check(files);
    const std::filesystem::path folder = options.folder;
    const std::string stem = stem_of(options.in);
    const auto [shards, count] = assign_shards(files, options.selected, most_bytes);
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) {
        throw std::runtime_error(printable(options.folder) + ": the folder can't be made: " + failure.message());
    }

    nlohmann::ordered_json index = {{"metadata", {{"total_size", 0}}},
                                    {"weight_map", nlohmann::ordered_json::object()}};
    std::uint64_t total = 0;
    std::vector<std::vector<std::string>> names(count);
    {
        std::size_t position = 0;
        for (const ztensor::reader& from : files) {
            for (const ztensor::object_view object : from) {
                if (!options.selected.takes(object)) {
                    continue;
                }
                const std::size_t shard = shards[position++];
                names[shard].emplace_back(object.name());
                const std::string name = options.selected.name_for(object.name());
                if (!index["weight_map"].emplace(name, shard_name(stem, shard, count)).second) {
                    throw content_error("two objects are to be called \"" + printable(name) + '"');
                }
                total += stored_bytes_of(object);
            }
        }
    }
    index["metadata"]["total_size"] = total;

    progress_line progress;
    std::uint64_t done = 0;
    for (std::size_t shard = 0; shard < count; ++shard) {
        const std::string name = shard_name(stem, shard, count);
        auto to = ztensor::writer::create(folder / name).value();
        const std::set<std::string, std::less<>> wanted(names[shard].begin(), names[shard].end());
        const auto how =
            ztensor::copy_options()
                .select([&](const ztensor::object_view& object) { return wanted.count(object.name()) != 0; })
                .rename([&](std::string_view old_name) { return options.selected.name_for(old_name); })
                .progress([&](const ztensor::copy_progress& now) {
                    progress.show(done + now.done_bytes, total, now.object);
                    return true;
                });
        for (const ztensor::reader& from : files) {
            ztensor::copy(from, to, how).value();
            for (const ztensor::object_view object : from) {
                done += wanted.count(object.name()) != 0 ? stored_bytes_of(object) : 0;
            }
        }
        to.finish().value();
        std::cout << name << ": " << grouped(names[shard].size()) << " objects\n";
    }
    const std::filesystem::path index_path = folder / (stem + ".zt.index.json");
    std::ofstream out(index_path, std::ios::binary);
    out << index.dump(2) << '\n';
    if (!out.flush()) {
        throw std::runtime_error("can't write " + index_path.string());
    }
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
    command->add_option("FOLDER", options->folder, "Where NAME-00001-of-00003.zt and NAME.zt.index.json go")
        ->required();
    command->add_option("--size", options->size, "Most bytes of tensors in a shard, such as 500MB; 5GB unless given")
        ->type_name("SIZE");
    options->selected.add_options(*command);
    options->selected.add_rename_option(*command);
    options->input.add_options(*command);
}

} // namespace zt
