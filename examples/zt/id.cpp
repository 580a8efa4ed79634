// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <iostream>
#include <memory>
#include <string>

namespace zt {
namespace {

struct id_options {
    std::string path;
    std::string algorithm = "xxh3";
};

exit_code print_id(const id_options& options) {
    const auto algorithm = options.algorithm == "xxh3" ? ztensor::digest::xxh3 : ztensor::digest::sha256;
    std::string id;
    {
        const waiting_line waiting("reading " + name_of_input(options.path));
        id = ztensor::content_digest(open_input(options.path), algorithm).value();
    }
    std::cout << id << '\n';
    return good;
}

} // namespace

void add_id(tool& to) {
    const auto options = std::make_shared<id_options>();
    CLI::App* const command = add_command(
        to, "id", "Print the content digest of a file of version 2: that of its tensors, however they are stored",
        "id model.zt", [options] { return print_id(*options); });
    command->add_option("FILE", options->path, "The file")->required();
    command
        ->add_option("--digest-of", options->algorithm,
                     "Made of the digests of this algorithm: xxh3, the default, or sha256")
        ->type_name("ALGORITHM")
        ->check(CLI::IsMember({"xxh3", "sha256"}));
}

} // namespace zt
