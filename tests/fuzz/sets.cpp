// SPDX-License-Identifier: MIT
//
// Several files as one: any bytes as a shard beside two others, or, if they start like an object of JSON, as the index
// of three. What opens has every name of its shards once, and a plan of all loads what the files hold.
#include "fuzz/fuzzing.hpp"
#include "fuzz/work_file.hpp"

#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/writer.hpp>

#include <filesystem>
#include <string>
#include <vector>

const std::size_t fuzzing::working_bytes = std::size_t{16} << 20;

namespace {

constexpr std::size_t most_objects = 32;

/// A file with one tensor of that name.
void write_shard(const fuzzing::work_file& folder, const char* file, const char* name) {
    const std::vector<float> elements = {1, 2};
    ztensor::writer out = ztensor::writer::create(folder.folder() / file).value();
    out.add(name, {2}, elements).value();
    out.finish().value();
}

const fuzzing::work_file& folder_of_shards() {
    static const fuzzing::work_file made;
    static const bool is_filled = [] {
        write_shard(made, "1.zt", "a");
        write_shard(made, "2.zt", "b");
        return true;
    }();
    fuzzing::require(is_filled, "the shards are there");
    return made;
}

void load(const ztensor::reader& set) {
    ztensor::load_plan plan(set);
    std::vector<std::vector<std::byte>> memory;
    memory.reserve(most_objects);
    std::vector<ztensor::object_view> planned;
    for (const ztensor::object_view& object : set) {
        const auto data = object.data();
        const bool is_small = data && data->decoded_bytes().value_or(~std::uint64_t{0}) <= fuzzing::max_decoded_bytes;
        if (is_small && planned.size() < most_objects) {
            memory.emplace_back(static_cast<std::size_t>(*data->decoded_bytes()));
            plan.add(object.name(), memory.back());
            planned.push_back(object);
        }
    }
    fuzzing::require(plan.size() == planned.size(), "a plan has what was added");
    if (plan.run(ztensor::load_options().threads(1))) {
        for (std::size_t i = 0; i < planned.size(); ++i) {
            const auto alone = planned[i].read<std::byte>();
            fuzzing::require(alone.has_value() && *alone == memory[i], "a plan loads what the files hold");
        }
    }
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    const work_file& folder = folder_of_shards();
    const bool is_index = !input.empty() && input[0] == std::byte{'{'};
    const char* const name = is_index ? "model.index.json" : "f.zt";
    folder.write(name, input);
    const auto options = small_limits();
    const auto alone = ztensor::open_any(folder.folder() / "f.zt", options);
    const auto set = is_index ? ztensor::open_any(folder.folder() / name, options)
                              : ztensor::open_any({ztensor::file_path(folder.folder() / "1.zt"),
                                                   ztensor::file_path(folder.folder() / "2.zt"),
                                                   ztensor::file_path(folder.folder() / "f.zt")},
                                                  options);
    if (!set) {
        require(!set.error().what().empty(), "a refusal says why");
        const bool has_new_names = alone.has_value() && !alone->contains("a") && !alone->contains("b");
        require(is_index || !has_new_names, "files that open and share no name are a set",
                std::string(set.error().what()));
    } else {
        std::size_t objects = 0;
        for (const ztensor::reader& shard : set->files()) {
            objects += shard.size();
        }
        require(set->size() == objects, "all objects of all files are there");
        for (const ztensor::object_view& object : *set) {
            const auto found = set->find(object.name());
            require(found.has_value() && found->name() == object.name(), "an object is found under its name");
            require(set->file_of(object.name()).value() < set->files().size(), "it is in one of the shards");
        }
        load(*set);
    }
    if (is_index) {
        std::filesystem::remove(folder.folder() / name);
    }
}
