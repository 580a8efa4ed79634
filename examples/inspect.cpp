// SPDX-License-Identifier: MIT
//
// inspect [--json] [--verify] [--lint] FILE: what is in a file of tensors, for people or for programs.
#include "describe.hpp"
#include "human.hpp"

#include <ztensor/import.hpp>
#include <ztensor/ztensor.hpp>
#if defined(INSPECT_HAS_HDF5)
#include <ztensor/hdf5.hpp>
#endif

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using row = std::vector<std::string>;

/// Names come from the file: whatever is not printable is shown as it is escaped in JSON.
std::string printable(std::string_view text) {
    const std::string quoted = nlohmann::json(text).dump(-1, ' ', true);
    return quoted.substr(1, quoted.size() - 2);
}

std::string digest_column(const ztensor::component_view& component, bool verify) {
    if (verify) {
        return std::string(ztensor::name(component.verify().value()));
    }
    return !component.digest().is_present()
               ? "-"
               : printable(component.digest().text().substr(0, component.digest().text().find(':')));
}

void print_table(const std::vector<row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const row& each : rows) {
        for (std::size_t i = 0; i < each.size(); ++i) {
            widths[i] = std::max(widths[i], each[i].size());
        }
    }
    for (const row& each : rows) {
        for (std::size_t i = 0; i < each.size(); ++i) {
            std::cout << each[i] << (i + 1 < each.size() ? std::string(widths[i] - each[i].size() + 2, ' ') : "\n");
        }
    }
}

void print_attributes(const ztensor::attributes_view& attributes, const char* indent) {
    for (const ztensor::attribute& each : attributes) {
        const auto value = ztensor::to_json(each.cbor);
        std::cout << indent << printable(each.key) << ": "
                  << (value ? value->dump(-1, ' ', true) : "CBOR " + describe::hex(each.cbor)) << '\n';
    }
}

void print_for_people(const ztensor::reader& file, bool verify) {
    std::uint64_t stored = 0, decoded = 0, components = 0;
    std::vector<row> rows = {{"NAME", "FORMAT", "TYPE", "SHAPE", "ENCODING", "STORED", "DECODED", "DIGEST"}};
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            const bool is_alone = object.format() == ztensor::format::dense && part.role() == "data";
            rows.push_back({printable(object.name()) + (is_alone ? "" : " / " + printable(part.role())),
                            printable(object.format().text()),
                            printable(part.type().text().empty() ? part.dtype().text() : part.type().text()),
                            to_string(object.shape()), printable(part.encoding().text()), human(part.stored_bytes()),
                            part.decoded_bytes() ? human(*part.decoded_bytes()) : "?", digest_column(part, verify)});
            stored += part.stored_bytes();
            decoded += part.decoded_bytes().value_or(0);
            ++components;
        }
    }
    print_table(rows);
    std::cout << '\n'
              << file.size() << " objects, " << components << " components, " << human(stored) << " stored, "
              << human(decoded) << " decoded; "
              << (file.container() == ztensor::container_kind::zt ? "version " + std::string(file.version().text())
                                                                  : "format " + std::string(file.container().text()))
              << (file.is_data_shard() ? ", a data shard without a manifest" : "") << ", file of "
              << human(file.file_bytes()) << '\n';
    if (file.has_attributes()) {
        std::cout << "attributes of the file:\n";
        print_attributes(file.attributes(), "  ");
    }
    for (const ztensor::object_view object : file) {
        if (object.has_attributes()) {
            std::cout << "attributes of " << printable(object.name()) << ":\n";
            print_attributes(object.attributes(), "  ");
        }
    }
}

/// HDF5 is read where libhdf5 was there to build with.
ztensor::read_options reading() {
    ztensor::read_options how;
#if defined(INSPECT_HAS_HDF5)
    how.importer(ztensor::hdf5());
#endif
    return how;
}

/// False if there is anything to tell.
bool print_findings(const ztensor::reader& file) {
    const std::vector<ztensor::lint_finding> found = ztensor::lint(file).value();
    for (const ztensor::lint_finding& each : found) {
        std::cerr << ztensor::name(each.kind) << ": ";
        if (!each.object.empty()) {
            std::cerr << "object \"" << printable(each.object) << "\": ";
        }
        if (!each.component.empty()) {
            std::cerr << "component \"" << printable(each.component) << "\": ";
        }
        std::cerr << each.sentence << '\n';
    }
    return found.empty();
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Shows what is in a .zt file, or one of another format.");
    std::string path;
    bool as_json = false, verify = false, lint = false;
    app.add_option("FILE", path, "the file")->required();
    app.add_flag("--json", as_json, "print the description for programs");
    app.add_flag("--verify", verify, "check every digest; a mismatch makes the exit status 1");
    app.add_flag("--lint", lint,
                 "tell on the standard error what is odd about a valid file; any finding makes the exit "
                 "status 1");
    CLI11_PARSE(app, argc, argv);
    try {
        const auto file = ztensor::open_any(path, reading()).value();
        if (as_json) {
            const std::string description = describe::file(file).dump(1);
            std::cout << description << '\n';
        } else {
            print_for_people(file, verify);
        }
        if (!std::cout.flush()) {
            std::cerr << "can't write to the standard output\n";
            return 1;
        }
        const bool is_unsuspicious = !lint || print_findings(file);
        if (verify && !file.verify().value().ok()) {
            std::cerr << path << ": a digest does not match\n";
            return 1;
        }
        return is_unsuspicious ? 0 : 1;
    } catch (const std::exception& e) { // ztensor::exception, or memory ran out
        std::cerr << e.what() << '\n';
        return 1;
    }
}
