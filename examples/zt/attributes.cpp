// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "input.hpp"
#include "terminal.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/json.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace zt {
namespace {

struct attribute_options {
    std::string path;
    std::string name;
    std::vector<std::string> set;
    std::vector<std::string> removed;
};

exit_code show_attributes(const attribute_options& options) {
    const std::vector<ztensor::reader> files = open_inputs(options.path);
    const auto show = [](const ztensor::attributes_view& attributes) {
        std::cout << ztensor::to_json(attributes).value().dump(1, ' ', true) << '\n';
    };
    if (!options.name.empty()) {
        const ztensor::reader* const found = find_file(files, options.name);
        show((found != nullptr ? *found : files.front()).find(options.name).value().attributes());
        return good;
    }
    for (const ztensor::reader& each : files) {
        show(each.attributes());
    }
    return good;
}

/// VALUE is JSON, or else text.
nlohmann::json value_of(const std::string& text) {
    nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    return value.is_discarded() ? nlohmann::json(text) : value;
}

ztensor::attributes changed(const ztensor::attributes& before, const attribute_options& options) {
    const auto has = [&](const std::string& key) {
        return std::any_of(before.values().begin(), before.values().end(),
                           [&](const ztensor::attributes::entry& each) { return each.key == key; });
    };
    for (const std::string& key : options.removed) {
        if (!has(key)) {
            throw usage_error("there is no attribute \"" + printable(key) + "\" to remove");
        }
    }
    ztensor::attributes made;
    for (const ztensor::attributes::entry& each : before.values()) {
        if (std::find(options.removed.begin(), options.removed.end(), each.key) == options.removed.end()) {
            made.set_cbor(each.key, each.cbor).value();
        }
    }
    nlohmann::json given = nlohmann::json::object();
    for (const std::string& word : options.set) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw usage_error("--set takes KEY=VALUE, not \"" + printable(word) + '"');
        }
        given[word.substr(0, equals)] = value_of(word.substr(equals + 1));
    }
    const ztensor::attributes of_json = ztensor::to_attributes(given).value();
    for (const ztensor::attributes::entry& each : of_json.values()) {
        made.set_cbor(each.key, each.cbor).value();
    }
    return made;
}

exit_code change_attributes(const attribute_options& options) {
    require_changeable(options.path);
    auto file = ztensor::edit(options.path).value();
    if (options.name.empty()) {
        file.file_attributes(changed(file.file_attributes(), options)).value();
    } else {
        file.attributes(options.name, changed(file.attributes(options.name).value(), options)).value();
    }
    wait_for("writing " + options.path, [&] { file.finish().value(); });
    return good;
}

exit_code sweep_folder(const std::string& folder) {
    std::cout << grouped(ztensor::remove_abandoned(folder).value())
              << " temporary files of writers that are gone, removed\n";
    return good;
}

} // namespace

void add_attributes(tool& to) {
    const auto options = std::make_shared<attribute_options>();
    CLI::App* const command = add_command(to, "attributes", "Show, set or remove attributes of a file or an object",
                                          "attributes --set license=MIT --remove draft model.zt", [options] {
                                              const bool changes = !options->set.empty() || !options->removed.empty();
                                              return changes ? change_attributes(*options) : show_attributes(*options);
                                          });
    command->add_option("FILE", options->path, "The file; to be changed, a .zt file")->required();
    command->add_option("NAME", options->name, "An object; the file itself unless given");
    each_once(command->add_option("--set", options->set, "Set a key to JSON, or to text"))->type_name("KEY=VALUE");
    each_once(command->add_option("--remove", options->removed, "Remove a key"))->type_name("KEY");
}

void add_sweep(tool& to) {
    const auto folder = std::make_shared<std::string>();
    CLI::App* const command =
        add_command(to, "sweep", "Remove temporary files that writers left when they were killed, a day ago or longer",
                    "sweep models", [folder] { return sweep_folder(*folder); });
    command->add_option("FOLDER", *folder, "Where the files were written")->required();
}

} // namespace zt
