// SPDX-License-Identifier: MIT
//
// What the library did when a record of it was made, to be compared with what it does: a file of named rows in groups.
// ZTENSOR_RECORD=write in the environment writes the file anew; ZTENSOR_RECORD=show prints the details of what differs;
// and of each row whose name contains ZTENSOR_RECORD_OF, if that is set.
#ifndef ZTENSOR_TESTS_SUPPORT_RECORD_HPP
#define ZTENSOR_TESTS_SUPPORT_RECORD_HPP

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace support {

class record {
public:
    explicit record(std::filesystem::path path);

    /// What a row says now. `details` are printed where they are asked for; `group` is the part of the file, the name
    /// of a row stands once in it.
    void add(const std::string& group, const std::string& row, const std::string& value,
             const std::vector<std::string>& details = {});
    /// A row that this build can't look at stays as it is.
    void keep(const std::string& group, const std::string& row);

    /// What differs from the file, a line each; or writes it, and nothing differs.
    [[nodiscard]] std::vector<std::string> finish();

private:
    using rows = std::map<std::string, std::string>;

    std::filesystem::path path_;
    std::map<std::string, rows> old_, now_;
    std::string what_to_do_, of_;
    std::vector<std::string> differences_;
};

} // namespace support

#endif
