// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "folding.hpp"
#include "input.hpp"
#include "json_info.hpp"
#include "layout.hpp"
#include "numbers.hpp"
#include "selection.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zt {
namespace {

struct info_options {
    std::vector<std::string> paths;
    std::string layout_path;
    std::string sort_by;
    selection selected;
    bool as_json = false;
    bool has_digests = false;
    bool as_tree = false;
    bool shows_all = false;
};

void print_heading(const std::string& text) {
    std::cout << '\n' << emphasised(text) << '\n';
}

void print_attributes(const ztensor::attributes_view& attributes, const std::string& of, bool is_whole) {
    if (!attributes.empty()) {
        print_heading("attributes of " + of);
    }
    for (const ztensor::attribute& each : attributes) {
        const std::string line = "  " + printable(each.key) + ": " + text_of_value(each.cbor, !is_whole);
        std::cout << (is_whole ? line : cut(line, output_columns())) << '\n';
    }
}

/// A line for each object that has any. What its type says already is left out, unless all is asked for.
void print_attributes(const std::vector<ztensor::object_view>& objects, bool is_whole) {
    bool has_heading = false;
    for (const ztensor::object_view& object : objects) {
        const ztensor::attributes shown = !object.has_attributes() ? ztensor::attributes()
                                          : is_whole               ? ztensor::attributes(object.attributes())
                                                                   : without_layout(object);
        if (shown.values().empty()) {
            continue;
        }
        if (!has_heading) {
            print_heading("attributes of objects");
            has_heading = true;
        }
        const std::string line = "  " + printable(object.name()) + ": " + text_of(shown, !is_whole);
        std::cout << (is_whole ? line : cut(line, output_columns())) << '\n';
    }
}

/// What the files hold together.
struct sums {
    std::uint64_t objects = 0, parameters = 0, stored = 0, decoded = 0;

    void add(const ztensor::object_view& object) {
        ++objects;
        parameters += object.element_count();
        for (const ztensor::component_view part : object) {
            stored += part.stored_bytes();
            decoded += part.decoded_bytes().value_or(0);
        }
    }
};

/// The objects that were asked for, in the order that was asked for.
std::vector<ztensor::object_view> chosen_objects(const std::vector<ztensor::reader>& files,
                                                 const info_options& options) {
    std::vector<ztensor::object_view> objects;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            if (options.selected.takes(object)) {
                objects.push_back(object);
            }
        }
    }
    const auto by = [&](const auto& less) { std::stable_sort(objects.begin(), objects.end(), less); };
    if (options.sort_by == "name") {
        by([](const auto& a, const auto& b) { return a.name() < b.name(); });
    } else if (options.sort_by == "size") {
        by([](const auto& a, const auto& b) { return stored_bytes_of(a) > stored_bytes_of(b); });
    } else if (options.sort_by == "parameters") {
        by([](const auto& a, const auto& b) { return a.element_count() > b.element_count(); });
    }
    return objects;
}

std::vector<std::string> row_of(const ztensor::object_view& object) {
    const storage_words how = storage_of(object);
    const bool is_dense = object.format() == ztensor::format::dense;
    return {printable(object.name()),
            printable(type_of(object)),
            to_string(object.shape()),
            human(stored_bytes_of(object)),
            how.is_raw          ? "-"
            : how.decoded_bytes ? human(*how.decoded_bytes)
                                : "?",
            how.is_raw ? "-" : how.encodings,
            how.digests.empty() ? "-" : how.digests,
            is_dense ? "" : printable(object.format().text())};
}

/// One of the components of an object, below it.
std::vector<std::string> row_of(const ztensor::component_view& part) {
    const bool is_raw = part.encoding() == ztensor::encoding::raw;
    const std::string digest = printable(part.digest().algorithm().text());
    return {"  " + printable(part.role()),
            printable(type_of(part)),
            "",
            human(part.stored_bytes()),
            is_raw                 ? "-"
            : part.decoded_bytes() ? human(*part.decoded_bytes())
                                   : "?",
            is_raw ? "-" : printable(part.encoding().text()),
            digest.empty() ? "-" : digest,
            ""};
}

void print_objects(const std::vector<ztensor::object_view>& objects, bool has_components) {
    std::vector<std::vector<std::string>> rows;
    for (const ztensor::object_view& object : objects) {
        rows.push_back(row_of(object));
        if (has_components && object.size() > 1) {
            for (const ztensor::component_view part : object) {
                rows.push_back(row_of(part));
            }
        }
    }
    print_table({{"NAME", false, false, true},
                 {"TYPE"},
                 {"SHAPE", false, true},
                 {"STORED", true},
                 {"DECODED", true},
                 {"ENCODING"},
                 {"DIGEST"},
                 {"FORMAT", false, true}},
                rows);
}

/// Objects by the parts of their names between dots and slashes, with what is below each.
void print_tree(const std::vector<ztensor::object_view>& objects) {
    std::map<std::string, sums> below; // by prefix, each of which ends with its separator
    std::map<std::string, ztensor::object_view> leaves;
    for (const ztensor::object_view& object : objects) {
        const std::string name(object.name());
        leaves.emplace(name, object);
        for (std::size_t at = name.find_first_of("./"); at != std::string::npos;
             at = name.find_first_of("./", at + 1)) {
            below[name.substr(0, at + 1)].add(object);
        }
    }
    std::vector<std::vector<std::string>> rows;
    const auto indented = [](const std::string& path) {
        const std::string own = path.substr(0, path.size() - 1);
        const auto depth = static_cast<std::size_t>(
            std::count_if(own.begin(), own.end(), [](char c) { return c == '.' || c == '/'; }));
        const std::size_t last = own.find_last_of("./");
        return std::string(2 * depth, ' ') + printable(last == std::string::npos ? path : path.substr(last + 1));
    };
    auto leaf = leaves.begin();
    const auto add_leaves_before = [&](const std::string* path) {
        for (; leaf != leaves.end() && (path == nullptr || leaf->first < *path); ++leaf) {
            const ztensor::object_view& object = leaf->second;
            rows.push_back({indented(leaf->first + '.').substr(0, indented(leaf->first + '.').size() - 1),
                            to_string(object.shape()), grouped(object.element_count()),
                            human(stored_bytes_of(object))});
        }
    };
    for (const auto& [path, sum] : below) {
        add_leaves_before(&path);
        rows.push_back({indented(path), grouped(sum.objects) + " objects", grouped(sum.parameters), human(sum.stored)});
    }
    add_leaves_before(nullptr);
    print_table({{"NAME", false, false, true}, {"SHAPE", false, true}, {"PARAMETERS", true}, {"STORED", true}}, rows);
}

void print_files(const std::vector<ztensor::reader>& files, const info_options& options) {
    const std::vector<ztensor::object_view> objects = chosen_objects(files, options);
    if (options.as_tree) {
        print_tree(objects);
    } else {
        print_objects(objects, options.shows_all);
    }
    sums all;
    for (const ztensor::object_view& object : objects) {
        all.add(object);
    }
    std::uint64_t bytes = 0;
    for (const ztensor::reader& each : files) {
        bytes += each.file_bytes();
    }
    const std::string of_files =
        files.size() == 1 ? kind_of(files.front()) + ", file of " : grouped(files.size()) + " files of ";
    std::cout << '\n'
              << cut(grouped(all.objects) + " objects, " + grouped(all.parameters) + " parameters, " +
                         human(all.stored) + " stored, " + human(all.decoded) + " decoded; " + of_files + human(bytes),
                     output_columns())
              << '\n';
    if (const std::uint64_t dead = files.size() == 1 ? ztensor::dead_bytes(files.front()).value() : 0; dead != 0) {
        std::cout << human(dead) << " of the file are dead bytes, which \"zt compact\" drops\n";
    }
    for (const ztensor::reader& each : files) {
        print_attributes(each.attributes(), files.size() == 1 ? "the file" : path_of(each), options.shows_all);
    }
    print_attributes(objects, options.shows_all);
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
input_set open_noted(const std::string& path, const std::string& note) {
    try {
        return open_set(path);
    } catch (const ztensor::exception& failure) {
        if (note.empty()) {
            throw;
        }
        throw content_error(failure.what() + ("; " + note));
    }
}

void save_layout(const std::vector<ztensor::reader>& files, const info_options& options) {
    if (files.size() != 1 || options.paths.size() != 1) {
        throw usage_error("--layout is for one file");
    }
    const std::string& path = options.paths.front();
    save_text(options.layout_path, draw_layout(files.front(), name_of_input(path)), path, files);
}

exit_code show_one(const std::string& path, info_options& options) {
    const std::string note = change_note(path);
    const input_set set = open_noted(path, note);
    const std::vector<ztensor::reader>& files = set.files;
    options.selected.check(files);
    if (!options.layout_path.empty()) {
        save_layout(files, options);
    } else {
        if (options.paths.size() != 1) {
            const std::string title = emphasised(printable(name_of_input(path)));
            std::cout << (path == options.paths.front() ? "" : "\n") << title << '\n';
        }
        print_files(files, options);
    }
    tell_skipped(set);
    if (!note.empty()) {
        std::cout << note << '\n';
    }
    return good;
}

/// Adds what is in the files of `path` to `all`, or why they can't be opened.
exit_code add_json(const std::string& path, info_options& options, nlohmann::ordered_json& all) {
    if (const std::string note = change_note(path); !note.empty()) {
        std::cerr << note << '\n';
    }
    input_set set;
    try {
        set = open_set(path);
    } catch (const ztensor::exception& failure) {
        all.push_back({{"path", name_of_input(path)}, {"error", json_of(failure.error())}});
        throw;
    }
    options.selected.check(set.files);
    bool is_damaged = false;
    for (const ztensor::reader& file : set.files) {
        all.push_back(json_of(file, options.selected, options.has_digests, is_damaged));
    }
    tell_skipped(set);
    return is_damaged ? bad : good;
}

/// One file as such; several, or a set, as a list. What can't be opened is told in it, too.
exit_code show_json(info_options& options) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    exit_code worst = good;
    for (const std::string& path : options.paths) {
        worst = std::max(worst, run([&] { return add_json(path, options, all); }));
    }
    if (!all.empty()) {
        nlohmann::ordered_json several;
        if (all.size() != 1) {
            several["files"] = std::move(all);
        }
        print_json(several.is_null() ? all.front() : several);
    }
    return worst;
}

exit_code show_info(info_options& options) {
    if (options.as_json) {
        return show_json(options);
    }
    exit_code worst = good;
    for (const std::string& path : options.paths) {
        worst = std::max(worst, run([&] { return show_one(path, options); }));
    }
    return worst;
}

} // namespace

void add_info(tool& to) {
    const auto options = std::make_shared<info_options>();
    CLI::App* const command = add_command(to, "info", "Show what is in a file", "info model.safetensors",
                                          [options] { return show_info(*options); });
    command->add_option("FILE", options->paths, "Files of any format, or folders or indices of shards")->required();
    options->selected.add_options(*command);
    command->add_option("--sort", options->sort_by, "Order by name, size or parameters, the largest first")
        ->type_name("BY")
        ->check(CLI::IsMember({"name", "size", "parameters"}));
    command->add_flag("--tree", options->as_tree, "What lies below each part of the names, with sums");
    command->add_flag("--all", options->shows_all, "Attributes whole, and a line for each component");
    CLI::Option* const json = command->add_flag("--json", options->as_json, "What the index says, for programs");
    command
        ->add_flag("--digests", options->has_digests, "Read everything, too: what is damaged, and SHA-256 of the rest")
        ->needs(json);
    command->add_option("--layout", options->layout_path, "Draw where everything lies, as a picture for a browser")
        ->type_name("FILE.svg")
        ->excludes(json);
}

} // namespace zt
