// SPDX-License-Identifier: MIT
//
// migrate [--version V] [--only NAME]... [--rename OLD=NEW]... IN OUT: copies a file into another generation of
// the format, blobs as they are stored wherever nothing about them changes.
#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace {

/// "OLD=NEW" → its parts; names may hold further signs of equality after the first. No object has two new names.
std::map<std::string, std::string> parse_renames(const std::vector<std::string>& pairs) {
    std::map<std::string, std::string> renames;
    for (const std::string& pair : pairs) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos) {
            throw std::invalid_argument("--rename takes OLD=NEW, not \"" + pair + '"');
        }
        if (!renames.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second) {
            throw std::invalid_argument("--rename is given twice for \"" + pair.substr(0, equals) + '"');
        }
    }
    return renames;
}

bool is_terminal(std::FILE* stream) {
#ifdef _WIN32
    return _isatty(_fileno(stream)) != 0;
#else
    return isatty(fileno(stream)) != 0;
#endif
}

bool show_progress(const ztensor::copy_progress& progress) {
    const double share = progress.total_bytes == 0
                             ? 1.0
                             : static_cast<double>(progress.done_bytes) / static_cast<double>(progress.total_bytes);
    std::fprintf(stderr, "\r%3.0f %%%s", 100 * share, share < 1 ? "" : "\n");
    return true;
}

/// Every name that was given belongs to an object.
void require_objects(const ztensor::reader& from, const std::set<std::string>& only,
                     const std::map<std::string, std::string>& renames) {
    for (const std::string& name : only) {
        from.find(name).value();
    }
    for (const auto& [name, new_name] : renames) {
        from.find(name).value();
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::map<std::string, ztensor::format_version> versions = {
        {"0.1.0", ztensor::format_version::v0_1},
        {"1.1.0", ztensor::format_version::v1_1},
        {"1.2.0", ztensor::format_version::v1_2},
        {"2", ztensor::format_version::v2},
    };
    CLI::App app("Copies a .zt file into another generation of the format.");
    std::string in, out;
    std::string version = "1.2.0";
    std::vector<std::string> only_names, rename_pairs;
    app.add_option("--version", version, "0.1.0, 1.1.0, 1.2.0 or 2")->check(CLI::IsMember(versions));
    app.add_option("--only", only_names, "copy only this object; may be repeated")
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
    app.add_option("--rename", rename_pairs, "OLD=NEW; may be repeated")
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
    app.add_option("IN", in, "the file to read")->required();
    app.add_option("OUT", out, "the file to write")->required();
    CLI11_PARSE(app, argc, argv);
    try {
        const std::set<std::string> only(only_names.begin(), only_names.end());
        const std::map<std::string, std::string> renames = parse_renames(rename_pairs);
        const auto from = ztensor::reader::open(in).value();
        require_objects(from, only, renames);

        ztensor::copy_options options;
        if (!only.empty()) {
            options.select(
                [&](const ztensor::object_view& object) { return only.count(std::string(object.name())) != 0; });
        }
        options.rename([&](std::string_view name) {
            const auto found = renames.find(std::string(name));
            return found == renames.end() ? std::string(name) : found->second;
        });
        if (is_terminal(stderr)) {
            options.progress(show_progress);
        }

        auto to = ztensor::writer::create(out, ztensor::write_options().version(versions.at(version))).value();
        ztensor::copy(from, to, options).value();
        to.finish().value();
    } catch (const std::exception& e) { // ztensor::exception, or memory ran out
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 0;
}
