// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <ztensor/edit.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace zt {
namespace {

const char* sentence(ztensor::recovery outcome) {
    switch (outcome) {
    case ztensor::recovery::undone:
        return "as it was before the change that was broken off";
    case ztensor::recovery::kept_new:
        return "the change was complete: the file is as it was to become";
    default:
        return "nothing to recover";
    }
}

exit_code recover_file(const std::string& path) {
    require_changeable(path);
    std::error_code unknown;
    if (std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found) {
        throw std::runtime_error(printable(path) + ": there is no such file");
    }
    const ztensor::recovery outcome = wait_for("recovering " + path, [&] { return ztensor::recover(path).value(); });
    std::cout << printable(path) << ": " << sentence(outcome) << '\n';
    return good;
}

} // namespace

void add_recover(tool& to) {
    const auto path = std::make_shared<std::string>();
    CLI::App* const command = add_command(
        to, "recover",
        "Bring back the last complete state of a file that was being changed in place when that was broken off",
        "recover model.zt", [path] { return recover_file(*path); });
    command->add_option("FILE", *path, "The file, beside which its undo record lies")->required();
}

} // namespace zt
