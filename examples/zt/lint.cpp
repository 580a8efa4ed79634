// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace zt {
namespace {

/// `start` stands in front of each finding.
exit_code lint_file(const ztensor::reader& file, const std::string& start) {
    const auto findings = wait_for("looking at " + file.path(), [&] { return ztensor::lint(file).value(); });
    for (const ztensor::lint_finding& each : findings) {
        std::cout << start << ztensor::name(each.kind) << ": ";
        if (!each.object.empty()) {
            std::cout << "object \"" << printable(each.object) << "\": ";
        }
        if (!each.component.empty()) {
            std::cout << "component \"" << printable(each.component) << "\": ";
        }
        std::cout << in_one_line(each.sentence) << '\n';
    }
    return findings.empty() ? good : bad;
}

exit_code lint_all(const std::string& path) {
    const std::vector<ztensor::reader> files = open_inputs(path);
    exit_code worst = good;
    for (const ztensor::reader& each : files) {
        const exit_code code = lint_file(each, files.size() == 1 ? "" : path_of(each) + ": ");
        worst = code == good ? worst : code;
    }
    return worst;
}

} // namespace

void add_lint(tool& to) {
    const auto path = std::make_shared<std::string>();
    CLI::App* const command =
        add_command(to, "lint", "Tell what is odd about a valid .zt file; any finding makes the exit code 1",
                    "lint model.zt", [path] { return lint_all(*path); });
    command->add_option("FILE", *path, "The file, or the folder or index of shards")->required();
}

} // namespace zt
