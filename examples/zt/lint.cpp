// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <iostream>
#include <memory>
#include <string>

namespace zt {
namespace {

exit_code lint_file(const std::string& path) {
    const ztensor::reader file = open_input(path);
    const auto findings = ztensor::lint(file).value();
    for (const ztensor::lint_finding& each : findings) {
        std::cout << ztensor::name(each.kind) << ": ";
        if (!each.object.empty()) {
            std::cout << "object \"" << printable(each.object) << "\": ";
        }
        if (!each.component.empty()) {
            std::cout << "component \"" << printable(each.component) << "\": ";
        }
        std::cout << each.sentence << '\n';
    }
    return findings.empty() ? good : bad;
}

} // namespace

void add_lint(tool& to) {
    const auto path = std::make_shared<std::string>();
    CLI::App* const command =
        add_command(to, "lint", "Tell what is odd about a valid .zt file; any finding makes the exit code 1",
                    "lint model.zt", [path] { return lint_file(*path); });
    command->add_option("FILE", *path, "The file")->required();
}

} // namespace zt
