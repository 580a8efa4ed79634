// SPDX-License-Identifier: MIT
//
// One file in a folder of its own, in memory where the system has such a file system: what appending and editing need.
#ifndef ZTENSOR_TESTS_FUZZ_WORK_FILE_HPP
#define ZTENSOR_TESTS_FUZZ_WORK_FILE_HPP

#include <ztensor/span.hpp>

#include <cstddef>
#include <filesystem>
#include <vector>

namespace fuzzing {

class work_file {
public:
    work_file();
    work_file(const work_file&) = delete;
    work_file& operator=(const work_file&) = delete;
    ~work_file();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
    void write(ztensor::bytes_argument content) const;
    /// Another file of the folder.
    void write(const char* name, ztensor::bytes_argument content) const;
    [[nodiscard]] std::vector<std::byte> read() const;
    /// Nothing lies beside it: no temporary, no record.
    [[nodiscard]] bool is_alone() const;

private:
    std::filesystem::path folder_;
    std::filesystem::path path_;
};

} // namespace fuzzing

#endif
