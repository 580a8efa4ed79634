// SPDX-License-Identifier: MIT
//
// rewrite [--version V] IN OUT: reads every component's values and adds them again with the writer, in the order of
// their offsets, with the same encodings and digests.
#include <ztensor/ztensor.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <map>
#include <string>

int main(int argc, char** argv) {
    const std::map<std::string, ztensor::format_version> versions = {
        {"0.1.0", ztensor::format_version::v0_1},
        {"1.1.0", ztensor::format_version::v1_1},
        {"1.2.0", ztensor::format_version::v1_2},
    };
    CLI::App app("Writes a .zt file anew.");
    std::string in, out;
    std::string version = "1.2.0";
    app.add_option("IN", in, "the file to read")->required();
    app.add_option("OUT", out, "the file to write")->required();
    app.add_option("--version", version, "0.1.0, 1.1.0 or 1.2.0")->check(CLI::IsMember(versions));
    CLI11_PARSE(app, argc, argv);
    try {
        const auto from = ztensor::reader::open(in).value();
        auto to = ztensor::writer::create(out, ztensor::write_options().version(versions.at(version))).value();
        ztensor::copy(from, to, ztensor::copy_options().reencode()).value();
        to.finish().value();
        std::cout << out << ": " << from.size() << " objects\n";
        if (!std::cout.flush()) {
            std::cerr << "can't write to the standard output\n";
            return 1;
        }
    } catch (const std::exception& e) { // ztensor::exception, or memory ran out
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 0;
}
