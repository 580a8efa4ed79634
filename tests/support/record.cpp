// SPDX-License-Identifier: MIT
#include "support/record.hpp"

#include "support/temp_dir.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace support {
namespace {

std::string from_environment(const char* name) {
#if defined(_MSC_VER)
#pragma warning(suppress : 4996) // nobody changes the environment meanwhile
#endif
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

} // namespace

record::record(std::filesystem::path path)
    : path_(std::move(path)), what_to_do_(from_environment("ZTENSOR_RECORD")),
      of_(from_environment("ZTENSOR_RECORD_OF")) {
    std::istringstream lines(read_file(path_));
    std::string group;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t tab = line.find('\t');
        if (!line.empty() && line.front() == '[') {
            group = line.substr(1, line.size() - 2);
        } else if (tab != std::string::npos) {
            old_[group][line.substr(0, tab)] = line.substr(tab + 1);
        }
    }
}

void record::add(const std::string& group, const std::string& row, const std::string& value,
                 const std::vector<std::string>& details) {
    now_[group][row] = value;
    const std::string name = group + '/' + row;
    const auto old_group = old_.find(group);
    const bool is_new = old_group == old_.end() || old_group->second.count(row) == 0;
    const bool differs = is_new || old_group->second.at(row) != value;
    if (differs) {
        differences_.push_back(name + "\n  was " + (is_new ? "not there" : old_group->second.at(row)) + "\n  is  " +
                               value);
    }
    if (what_to_do_ == "show" && (of_.empty() ? differs : name.find(of_) != std::string::npos)) {
        std::printf("%s\t%s\n", name.c_str(), value.c_str());
        for (std::size_t i = 0; i < details.size(); ++i) {
            std::printf("  %zu\t%s\n", i, details[i].c_str());
        }
    }
}

void record::keep(const std::string& group, const std::string& row) {
    now_[group][row] = old_[group][row];
}

std::vector<std::string> record::finish() {
    if (what_to_do_ == "write") {
        std::string out;
        for (const auto& [group, of] : now_) {
            out += '[' + group + "]\n";
            for (const auto& [row, value] : of) {
                out += row + '\t' + value + '\n';
            }
        }
        write_file(path_, out);
        return {};
    }
    for (const auto& [group, of] : old_) {
        for (const auto& [row, value] : of) {
            if (now_[group].count(row) == 0) {
                differences_.push_back(group + '/' + row + "\n  was " + value + "\n  is  not there");
            }
        }
    }
    return differences_;
}

} // namespace support
