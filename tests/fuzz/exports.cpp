// SPDX-License-Identifier: MIT
//
// Any bytes as a file that is exported to safetensors, .npz and .npy: refused with a sentence, with no file left, or
// what was written opens again and holds the same tensors.
#include "fuzz/fuzzing.hpp"
#include "fuzz/work_file.hpp"

#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

const std::size_t fuzzing::working_bytes = std::size_t{16} << 20;

namespace {

constexpr std::uint64_t most_tensors = 32;

struct exported_to {
    const char* name;
    ztensor::result<void> (*write)(const ztensor::reader&, const ztensor::file_path&, const ztensor::export_options&);
};

ztensor::result<void> write_first(const ztensor::reader& from, const ztensor::file_path& path,
                                  const ztensor::export_options& options) {
    return from.empty() ? ztensor::result<void>() : ztensor::export_npy(*from.begin(), path, options);
}

constexpr exported_to formats[] = {
    {"x.safetensors", ztensor::export_safetensors}, {"x.npz", ztensor::export_npz}, {"x.npy", write_first}};

void compare(const ztensor::reader& before, const ztensor::reader& after, bool is_converted, bool is_one_alone) {
    std::size_t dense = 0;
    for (const ztensor::object_view object : before) {
        if (object.format() != ztensor::format::dense || (is_one_alone && dense != 0)) {
            continue;
        }
        ++dense;
        const auto other =
            is_one_alone ? ztensor::result<ztensor::object_view>(*after.begin()) : after.find(object.name());
        fuzzing::require(other.has_value(), "a tensor is found under its name");
        fuzzing::require(other->shape() == object.shape(), "a tensor keeps its shape");
        if (is_converted) {
            static_cast<void>(other->read_as<float>());
            continue;
        }
        auto one = object.data()->read_little_endian();
        const auto two = other->data()->read_little_endian();
        if (one && object.data()->dtype() == ztensor::dtype::boolean) { // what is not 0 becomes 1
            std::transform(one->begin(), one->end(), one->begin(),
                           [](std::byte each) { return static_cast<std::byte>(each != std::byte{0}); });
        }
        fuzzing::require(one.has_value() && two.has_value() && *one == *two, "a tensor keeps its bytes");
    }
    fuzzing::require(is_one_alone || after.size() == dense, "every tensor is there, and nothing else");
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    static const work_file folder;
    const own_copy content(input);
    const auto file = ztensor::reader::from_bytes(content.bytes(), small_limits());
    if (!file || file->size() > most_tensors) {
        return;
    }
    const bool takes_all = input.size() % 2 == 0, converts = input.size() % 5 == 0;
    auto options = ztensor::export_options().sync(ztensor::sync_level::none).attributes(takes_all);
    if (!takes_all) {
        options.select([](const ztensor::object_view& each) { return each.format() == ztensor::format::dense; });
    }
    if (converts) {
        options.floats_as(ztensor::dtype::f32);
    }
    for (const exported_to& format : formats) {
        const std::filesystem::path path = folder.folder() / format.name;
        const auto written = format.write(*file, path, options);
        const bool is_there = std::filesystem::exists(path);
        const bool is_one_alone = format.write == write_first;
        require(written.has_value() == is_there || (is_one_alone && file->empty()),
                "a file is there exactly if it was written");
        if (!written) {
            require(!written.error().what().empty(), "a refusal says why");
            continue;
        }
        if (is_there) {
            const auto after = ztensor::open_any(path, ztensor::read_options().threads(1));
            require(after.has_value(), "what was exported opens",
                    after ? std::string() : std::string(after.error().what()));
            compare(*file, *after, converts, is_one_alone);
            std::filesystem::remove(path);
        }
    }
}
