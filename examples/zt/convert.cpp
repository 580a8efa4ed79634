// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "pipe.hpp"
#include "rewriting.hpp"
#include "scales.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zt {
namespace {

struct convert_options {
    std::string in;
    std::string out;
    std::string version;
    input_options input;
    selection selected;
    rewriting how;
    bool drops_attributes = false;
    bool is_strict = false;
    bool takes_raw_values = false;
};

/// What becomes the one array of a .npy file.
ztensor::object_view only_object(const ztensor::reader& from, const convert_options& options) {
    std::vector<ztensor::object_view> selected;
    for (const ztensor::object_view object : from) {
        if (options.selected.takes(object)) {
            selected.push_back(object);
        }
    }
    if (selected.size() != 1) {
        throw usage_error("a .npy file holds one tensor, but there are " + grouped(selected.size()) +
                          ": choose one with --only");
    }
    return selected.front();
}

exit_code export_file(const ztensor::reader& from, const convert_options& options) {
    if (options.how.zstd_level || options.how.planes || options.how.plain || !options.how.digest.empty() ||
        !options.version.empty()) {
        throw usage_error("--zstd, --planes, --plain, --digest and --version are for .zt files");
    }
    progress_line progress;
    auto how = ztensor::export_options()
                   .select([&](const ztensor::object_view& object) { return options.selected.takes(object); })
                   .rename([&](std::string_view name) { return options.selected.name_for(name); })
                   .attributes(!options.drops_attributes)
                   .progress([&](const ztensor::copy_progress& now) {
                       progress.show(now.done_bytes, now.total_bytes, now.object);
                       return true;
                   });
    if (const auto floats = options.how.floats_as()) {
        how.floats_as(*floats);
    }
    if (has_ending(options.out, ".npy")) {
        auto done = ztensor::export_npy(only_object(from, options), options.out, how);
        if (!done) {
            throw ztensor::exception(with_way_out(std::move(done).error(), from));
        }
        return good;
    }
    const auto write = has_ending(options.out, ".npz") ? ztensor::export_npz : ztensor::export_safetensors;
    auto done = write(from, options.out, how);
    if (!done) {
        throw ztensor::exception(with_way_out(std::move(done).error(), from));
    }
    return good;
}

bool dequantizes_any(const ztensor::reader& from, const convert_options& options) {
    for (const ztensor::object_view object : from) {
        if (options.selected.takes(object) && options.how.dequantizes(object)) {
            return true;
        }
    }
    return false;
}

/// By way of a .zt file that has floats in place of weights with scales: other formats are written from dense tensors.
exit_code export_dequantized(const ztensor::reader& from, const convert_options& options) {
    const std::string between = temporary_file("floats.zt");
    auto to = ztensor::writer::create(between, ztensor::write_options().any_order()).value();
    add_objects(from, to, options.selected, options.how);
    to.finish().value();
    convert_options rest = options;
    rest.selected = {}; // which have been selected, and have their new names
    return export_file(ztensor::reader::open(between).value(), rest);
}

/// What --planes has spared: the stored bytes of what was selected, before and after.
void tell_share(const std::vector<ztensor::reader>& files, const convert_options& options) {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (const ztensor::reader& from : files) {
        for (const ztensor::object_view object : from) {
            before += options.selected.takes(object) ? stored_bytes_of(object) : 0;
        }
    }
    const ztensor::reader made = ztensor::reader::open(options.out).value();
    for (const ztensor::object_view object : made) {
        after += stored_bytes_of(object);
    }
    const double share = before == 0 ? 1.0 : static_cast<double>(after) / static_cast<double>(before);
    std::cout << grouped(before) << " bytes of tensors before, " << grouped(after) << " after: " << std::fixed
              << std::setprecision(1) << 100 * share << " %\n";
}

/// Refuses codes that would become numbers without their scales, or a file of their own.
void require_numbers(const std::vector<ztensor::reader>& files, const convert_options& options) {
    const bool is_npy = has_ending(options.out, ".npy");
    if (options.takes_raw_values || (options.how.dtype.empty() && !is_npy)) {
        return;
    }
    refuse_codes(files, is_npy ? "a .npy file" : "what --dtype makes",
                 [&](const ztensor::object_view& object) { return options.selected.takes(object); });
}

exit_code convert_file(convert_options& options) {
    const bool is_zt = has_ending(options.out, ".zt");
    if (!is_zt && !has_ending(options.out, ".safetensors") && !has_ending(options.out, ".npz") &&
        !has_ending(options.out, ".npy")) {
        throw usage_error("OUT ends with .zt, .safetensors, .npz or .npy, not as \"" + printable(options.out) +
                          "\" does");
    }
    const input_set set = open_set(options.in, options.input);
    const std::vector<ztensor::reader>& files = set.files;
    if (tell_skipped(set) && options.is_strict) {
        throw content_error("not all of " + printable(name_of_input(options.in)) +
                            " can be read, and --strict was given");
    }
    options.selected.check(files);
    require_numbers(files, options);
    tell_changed_bools(files, [&](const ztensor::object_view& object) { return options.selected.takes(object); });
    if (!is_zt && files.size() != 1) {
        throw usage_error("several files become one .zt file; convert that into another format then");
    }
    if (!is_zt) {
        return dequantizes_any(files.front(), options) ? export_dequantized(files.front(), options)
                                                       : export_file(files.front(), options);
    }
    if (options.drops_attributes && options.version != "0.1") {
        throw usage_error(
            "--drop-attributes is for files that have no place for them: a .zt file has, but for version 0.1");
    }
    options.how.drops_file_attributes = options.drops_attributes;
    ztensor::write_options how;
    if (!options.version.empty()) {
        how.version(versions().at(options.version));
    }
    if (files.size() > 1 || options.how.changes_blobs()) { // version 2 has names in their order unless told otherwise
        how.any_order();
    }
    auto to = ztensor::writer::create(options.out, how).value();
    for (const ztensor::reader& from : files) {
        add_objects(from, to, options.selected, options.how);
    }
    to.finish().value();
    if (options.how.planes) {
        tell_share(files, options);
    }
    return good;
}

} // namespace

void add_convert(tool& to) {
    const auto options = std::make_shared<convert_options>();
    CLI::App* const command =
        add_command(to, "convert", "Convert any file into .zt, .safetensors, .npz or .npy",
                    "convert --zstd --digest model.safetensors model.zt", [options] { return convert_file(*options); });
    command->add_option("IN", options->in, "The file to read, of any format, or the folder or index of shards")
        ->required();
    command->add_option("OUT", options->out, "The file to write: .zt, .safetensors, .npz or, of one tensor, .npy")
        ->required();
    add_version_option(*command, options->version);
    options->how.add_options(*command);
    options->selected.add_options(*command);
    options->input.add_options(*command);
    options->selected.add_rename_option(*command);
    command->add_flag(
        "--drop-attributes", options->drops_attributes,
        "Leave out the attributes that the new format has no place for: all of them, or the file's in version 0.1");
    add_raw_values_option(*command, options->takes_raw_values);
    command->add_flag("--strict", options->is_strict, "Convert nothing of a file of which something has to be skipped");
}

} // namespace zt
