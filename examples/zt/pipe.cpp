// SPDX-License-Identifier: MIT
#include "pipe.hpp"

#include "terminal.hpp"
#include "texts.hpp"

#include <ztensor/file_path.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace zt {
namespace {

namespace fs = std::filesystem;

/// A new folder of this user's alone, which is removed when the program ends.
class temporary_folder {
public:
    temporary_folder() {
        std::random_device random;
        constexpr int most_tries = 100;
        for (int i = 0; i < most_tries; ++i) {
            char name[16];
            std::snprintf(name, sizeof name, "zt-%08x", static_cast<unsigned>(random()));
            path_ = fs::temp_directory_path() / name;
            if (fs::create_directory(path_)) {
                fs::permissions(path_, fs::perms::owner_all);
                return;
            }
        }
        throw std::runtime_error("no temporary folder can be made");
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    /// Of that name, which may say what is in it.
    [[nodiscard]] fs::path next(const fs::path& name) {
        const fs::path folder = path_ / std::to_string(++count_);
        fs::create_directory(folder);
        return folder / name;
    }

private:
    fs::path path_;
    int count_ = 0;
};

std::string utf8_of(const fs::path& path) {
    const auto text = path.u8string(); // of another type since C++20
    return std::string(text.begin(), text.end());
}

void copy_all(const fs::path& from, const fs::path& to, const std::string& name) {
    std::ifstream in(from, std::ios::binary);
    std::ofstream out(to, std::ios::binary);
    if (!in) {
        throw std::runtime_error(printable(name) + ": the pipe can't be opened");
    }
    std::vector<char> piece(std::size_t{1} << 20);
    while (in && out) {
        in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        out.write(piece.data(), in.gcount());
    }
    if (!in.eof() || !out.flush()) {
        throw std::runtime_error(printable(name) + ": the pipe can't be kept in a temporary file in " +
                                 utf8_of(fs::temp_directory_path()));
    }
}

/// What was read, by the path of the pipe.
std::map<std::string, std::string>& kept_files() {
    static std::map<std::string, std::string> kept;
    return kept;
}

} // namespace

bool is_pipe(const std::string& path) {
    std::error_code unknown;
    return fs::is_fifo(ztensor::file_path(path).native(), unknown);
}

std::string file_behind(const std::string& path) {
    if (const auto known = kept_files().find(path); known != kept_files().end()) {
        return known->second;
    }
    if (!is_pipe(path)) {
        return path;
    }
    const fs::path here = ztensor::file_path(path).native();
    const std::string kept = temporary_file(utf8_of(here.filename()));
    copy_all(here, ztensor::file_path(kept).native(), path);
    return kept_files()[path] = kept;
}

std::string with_paths_of_pipes(std::string text) {
    for (const auto& [pipe, kept] : kept_files()) {
        text = replaced(text, kept, pipe);
    }
    return text;
}

std::string temporary_file(const std::string& name) {
    static temporary_folder folder;
    return utf8_of(folder.next(ztensor::file_path(name).native()));
}

} // namespace zt
