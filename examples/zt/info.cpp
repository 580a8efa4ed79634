// SPDX-License-Identifier: MIT
#include "../describe.hpp"
#include "command.hpp"
#include "input.hpp"
#include "layout.hpp"
#include "terminal.hpp"

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace zt {
namespace {

struct info_options {
    std::string path;
    std::string layout_path;
    bool as_json = false;
};

void print_attributes(const ztensor::attributes_view& attributes, const std::string& of) {
    if (attributes.empty()) {
        return;
    }
    std::cout << '\n' << emphasised("attributes of " + of) << '\n';
    for (const ztensor::attribute& each : attributes) {
        const auto value = ztensor::to_json(each.cbor);
        const std::string text = value ? value->dump(-1, ' ', true) : "CBOR " + describe::hex(each.cbor);
        std::cout << cut("  " + printable(each.key) + ": " + text, output_columns()) << '\n';
    }
}

void print_objects(const ztensor::reader& file) {
    std::vector<std::vector<std::string>> rows;
    std::uint64_t stored = 0, decoded = 0;
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            const bool is_alone = object.format() == ztensor::format::dense && part.role() == "data";
            const std::string digest = printable(part.digest().text().substr(0, part.digest().text().find(':')));
            rows.push_back({printable(object.name()) + (is_alone ? "" : " / " + printable(part.role())),
                            printable(type_of(part)), to_string(object.shape()), human(part.stored_bytes()),
                            part.decoded_bytes() ? human(*part.decoded_bytes()) : "?",
                            printable(part.encoding().text()), digest.empty() ? "-" : digest,
                            is_alone ? "" : printable(object.format().text())});
            stored += part.stored_bytes();
            decoded += part.decoded_bytes().value_or(0);
        }
    }
    print_table({{"NAME", false, true},
                 {"TYPE"},
                 {"SHAPE", false, true},
                 {"STORED", true},
                 {"DECODED", true},
                 {"ENCODING"},
                 {"DIGEST"},
                 {"FORMAT", false, true}},
                rows);
    std::cout << '\n'
              << cut(grouped(file.size()) + " objects, " + human(stored) + " stored, " + human(decoded) + " decoded; " +
                         describe::generation(file) + ", file of " + human(file.file_bytes()),
                     output_columns())
              << '\n';
}

void print_file(const ztensor::reader& file) {
    print_objects(file);
    print_attributes(file.attributes(), "the file");
    for (const ztensor::object_view object : file) {
        print_attributes(object.attributes(), printable(object.name()));
    }
}

/// Of a file beside which an undo record lies; "" of others.
std::string change_note(const std::string& path) {
    const auto found = ztensor::has_undo_record(path);
    return found && *found
               ? "an undo record lies beside it: a change in place is going on, or was broken off, and then "
                 "\"zt recover\" brings back the last complete state"
               : "";
}

/// The files of `path`; what is wrong with one that is being changed in place is told with that.
std::vector<ztensor::reader> open_noted(const std::string& path, const std::string& note) {
    if (!note.empty()) {
        if (const auto opened = ztensor::open_any(path); !opened) {
            throw content_error(std::string(opened.error().what()) + "; " + note);
        }
    }
    return open_inputs(path);
}

exit_code show_info(const info_options& options) {
    const std::string note = change_note(options.path);
    const std::vector<ztensor::reader> files = open_noted(options.path, note);
    if (files.size() != 1 && (options.as_json || !options.layout_path.empty())) {
        throw usage_error("--json and --layout are for one file");
    }
    for (const ztensor::reader& each : files) {
        if (files.size() != 1) {
            std::cout << (&each == &files.front() ? "" : "\n") << emphasised(path_of(each)) << '\n';
        }
        if (!options.as_json && options.layout_path.empty()) {
            print_file(each);
        }
    }
    tell_skipped(files);
    if (!note.empty()) {
        (options.as_json ? std::cerr : std::cout) << note << '\n';
    }
    const ztensor::reader& file = files.front();
    if (!options.layout_path.empty()) {
        std::ofstream svg(options.layout_path, std::ios::binary);
        svg << draw_layout(file, options.path);
        if (!svg.flush()) {
            throw std::runtime_error("can't write " + options.layout_path);
        }
        return good;
    }
    if (options.as_json) {
        std::cout << describe::file(file).dump(1) << '\n';
    }
    return good;
}

} // namespace

void add_info(tool& to) {
    const auto options = std::make_shared<info_options>();
    CLI::App* const command = add_command(to, "info", "Show what is in a file", "info model.safetensors",
                                          [options] { return show_info(*options); });
    command->add_option("FILE", options->path, "The file, of any format, or the folder or index of shards")->required();
    CLI::Option* const json = command->add_flag("--json", options->as_json, "All of it for programs, with digests");
    command->add_option("--layout", options->layout_path, "Draw where everything lies, as a picture for a browser")
        ->type_name("FILE.svg")
        ->excludes(json);
}

} // namespace zt
