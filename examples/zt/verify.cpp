// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace zt {
namespace {

struct verify_options {
    std::vector<std::string> paths;
    bool decodes = false;
    bool needs_digests = false;
};

void complain_of(const std::string& path, const ztensor::component_view& part, const ztensor::object_view& object) {
    std::cerr << "zt: " << path << ": object \"" << printable(object.name()) << "\", component \""
              << printable(part.role()) << "\": the stored bytes are not those that were digested\n";
}

ztensor::verification verify_digests(const ztensor::reader& file) {
    progress_line progress;
    const auto show = [&](const ztensor::load_progress& now) {
        progress.show(now.bytes_done, now.bytes_total, now.name);
        return true;
    };
    return file.verify(0, show).value();
}

/// Every element of every component whose words are known. Damage throws.
void decode_all(const ztensor::reader& file) {
    progress_line progress;
    std::uint64_t total = 0, done = 0;
    for (const ztensor::object_view object : file) {
        total += stored_bytes_of(object);
    }
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            if (part.encoding().is_known()) {
                auto pieces = ztensor::component_pieces::open(part).value();
                while (!pieces.next().value().empty()) {
                    progress.show(done, total, object.name());
                }
            }
        }
        done += stored_bytes_of(object);
    }
}

exit_code verify_file(const ztensor::reader& file, const verify_options& options) {
    const std::string path = path_of(file);
    const ztensor::verification found = verify_digests(file);
    std::set<std::uint64_t> damaged; // blobs, by where they are
    for (const ztensor::component_view& each : found.mismatches) {
        damaged.insert(each.offset());
    }
    for (const ztensor::object_view object : file) {
        for (const ztensor::component_view part : object) {
            if (damaged.count(part.offset()) != 0 && part.verify().value() == ztensor::digest_state::mismatch) {
                complain_of(path, part, object);
            }
        }
    }
    if (options.decodes && found.ok()) {
        decode_all(file);
    }
    const std::uint64_t unknown = found.absent + found.unsupported;
    std::cout << path << ": " << grouped(found.verified) << " verified, " << grouped(unknown)
              << " without a digest that could be checked, " << grouped(found.mismatches.size()) << " damaged\n";
    if (options.needs_digests && found.ok() && !found.complete()) {
        throw content_error(path + ": not every component has a digest that can be checked");
    }
    return found.ok() ? good : bad;
}

exit_code verify_path(const std::string& path, const verify_options& options) {
    exit_code worst = good;
    for (const ztensor::reader& file : open_inputs(path)) {
        worst = std::max(worst, run([&] { return verify_file(file, options); }));
    }
    return worst;
}

/// All of them, also behind one that is bad or can't be opened.
exit_code verify_all(const verify_options& options) {
    exit_code worst = good;
    for (const std::string& path : options.paths) {
        worst = std::max(worst, run([&] { return verify_path(path, options); }));
    }
    return worst;
}

} // namespace

void add_verify(tool& to) {
    const auto options = std::make_shared<verify_options>();
    CLI::App* const command = add_command(to, "verify", "Check every digest; damage makes the exit code 1",
                                          "verify model.zt", [options] { return verify_all(*options); });
    command->add_option("FILE", options->paths, "The files, of any format, or folders or indices of shards")
        ->required();
    command->add_flag("--decode", options->decodes, "Decode everything, too");
    command->add_flag("--require-digests", options->needs_digests, "A component without a digest is damage, too");
}

} // namespace zt
