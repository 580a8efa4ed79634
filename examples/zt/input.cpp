// SPDX-License-Identifier: MIT
#include "input.hpp"

#include "../describe.hpp"
#include "command.hpp"
#include "pipe.hpp"
#include "terminal.hpp"
#include "texts.hpp"
#include "wording.hpp"

#if defined(ZT_HAS_HDF5)
#include <ztensor/hdf5.hpp>
#endif
#if defined(ZT_HAS_HTTP)
#include <ztensor/s3.hpp>
#endif

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <system_error>

namespace zt {

bool is_url(std::string_view path) {
    const std::size_t end = path.find("://");
    const auto is_letter = [](char each) { return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9'); };
    return end != std::string_view::npos && end > 1 &&
           std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end), is_letter);
}

namespace {

ztensor::read_options reading(const input_options& options) {
    ztensor::read_options how;
#if defined(ZT_HAS_HDF5)
    how.importer(ztensor::hdf5());
#endif
    return how.verify_digests(!options.takes_damaged);
}

ztensor::result<ztensor::reader> opened(const std::string& path, const input_options& options) {
    return wait_for("opening " + path, [&]() -> ztensor::result<ztensor::reader> {
        if (!is_url(path)) {
            return ztensor::open_any(file_behind(path), reading(options));
        }
#if defined(ZT_HAS_HTTP)
        return ztensor::open_remote(path, reading(options));
#else
        throw content_error("this zt is built without libcurl, and can't read " + printable(path));
#endif
    });
}

} // namespace

void input_options::add_options(CLI::App& command) {
    command.add_flag("--damaged", takes_damaged, "Take what does not match its digest, too, instead of refusing it");
}

void require_one_file(const std::string& path) {
    std::error_code unknown;
    if (is_url(path)) {
        return;
    }
    const bool is_folder = std::filesystem::is_directory(path, unknown);
    if (is_folder || has_ending(path, ".json")) {
        throw content_error("this command takes one file, and " + printable(path) + " is " +
                            (is_folder ? "a folder" : "an index of shards"));
    }
}

void require_changeable(const std::string& path) {
    require_one_file(path);
    if (is_url(path)) {
        throw content_error("this command changes a file where it is, and " + printable(path) +
                            " is on another machine");
    }
    if (is_pipe(path)) {
        throw content_error("this command changes a file where it is, and " + printable(path) + " is a pipe");
    }
}

std::string kind_of(const ztensor::reader& file) {
    return (file.container() == ztensor::container_kind::zt ? "zTensor " : "") + describe::generation(file);
}

std::string path_of(const ztensor::reader& file) {
    return printable(with_paths_of_pipes(file.path()));
}

ztensor::reader open_input(const std::string& path, const input_options& options) {
    require_one_file(path);
    return opened(path, options).value();
}

std::vector<ztensor::reader> open_inputs(const std::string& path, const input_options& options) {
    const auto set = opened(path, options);
    if (!set && set.error().code() == ztensor::errc::invalid_argument) { // which model is meant, the files don't say
        throw content_error(set.error().what());
    }
    const ztensor::span<const ztensor::reader> files = set.value().files();
    if (files.empty()) {
        throw content_error(printable(path) + " names no file");
    }
    return {files.begin(), files.end()};
}

void require_other_file(const std::string& out, const std::string& path, const std::vector<ztensor::reader>& files) {
    const auto is_out = [&](const std::filesystem::path& each) {
        std::error_code absent;
        return std::filesystem::equivalent(std::filesystem::u8path(out), each, absent);
    };
    const bool is_part = std::any_of(files.begin(), files.end(), [&](const ztensor::reader& each) {
        return is_out(std::filesystem::u8path(each.path()));
    });
    if (is_part || is_out(std::filesystem::u8path(path))) {
        throw usage_error(printable(out) + " is what is read, and would be lost");
    }
}

void save_text(const std::string& out, const std::string& text, const std::string& path,
               const std::vector<ztensor::reader>& files) {
    require_other_file(out, path, files);
    errno = 0;
    std::ofstream file(std::filesystem::u8path(out), std::ios::binary);
    file << text;
    file.close();
    if (!file) {
        throw std::runtime_error("can't write " + printable(out) + ": " + std::generic_category().message(errno));
    }
}

bool tell_skipped(const std::vector<ztensor::reader>& files) {
    bool tells = false;
    for (const ztensor::reader& file : files) {
        const std::string start = "zt: " + path_of(file) + ": ";
        for (const ztensor::skipped_item& each : file.skipped()) {
            const std::string where = each.where.empty() ? "" : " in \"" + printable(each.where) + '"';
            const std::string why =
                replaced(printable(in_words_of_zt(each.why)), "\\\"", "\""); // a sentence, which may quote
            std::cerr << start << "skipped \"" << printable(each.name) << '"' << where << ": " << why << '\n';
        }
        if (!file.skipped().empty()) {
            std::cerr << start << grouped(file.skipped().size()) << " skipped, " << grouped(file.size())
                      << " objects read\n";
        } else if (file.empty() && file.container() != ztensor::container_kind::zt) {
            std::cerr << start << "no tensors were found in it\n";
        } else {
            continue;
        }
        tells = true;
    }
    return tells;
}

namespace {

std::uint64_t count_changed_bools(const ztensor::component_view& part) {
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(part.stored_bytes(), most_bytes)));
    std::uint64_t count = 0;
    for (std::uint64_t at = 0; at < part.stored_bytes();) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(part.stored_bytes() - at, piece.size()));
        const ztensor::span<std::byte> bytes(piece.data(), size);
        part.read_stored_into(bytes, at).value();
        count += static_cast<std::uint64_t>(
            std::count_if(bytes.begin(), bytes.end(), [](std::byte each) { return each > std::byte{1}; }));
        at += size;
    }
    return count;
}

} // namespace

void tell_changed_bools(const std::vector<ztensor::reader>& files,
                        const std::function<bool(const ztensor::object_view&)>& takes) {
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            if (file.container() == ztensor::container_kind::zt || !takes(object)) {
                continue;
            }
            for (const ztensor::component_view part : object) {
                const std::uint64_t count =
                    part.dtype() == ztensor::dtype::boolean ? count_changed_bools(part) : std::uint64_t{0};
                if (count != 0) {
                    std::cerr << "zt: " << path_of(file) << ": " << grouped(count) << " bools of \""
                              << printable(object.name()) << "\" are bytes other than 0 and 1: they become 1\n";
                }
            }
        }
    }
}

const ztensor::reader* find_file(const std::vector<ztensor::reader>& files, std::string_view name) {
    for (const ztensor::reader& each : files) {
        if (each.contains(name)) {
            return &each;
        }
    }
    return nullptr;
}

std::vector<ztensor::component_view> parts_of(const ztensor::object_view& object) {
    if (object.is_in_planes()) {
        return {object.data().value()};
    }
    return {object.begin(), object.end()};
}

std::string encoding_of(const ztensor::object_view& object, const ztensor::component_view& part) {
    return object.is_in_planes() && part.role() == "data" ? "planes" : printable(part.encoding().text());
}

std::uint64_t stored_bytes_of(const ztensor::object_view& object) {
    std::uint64_t sum = 0;
    for (const ztensor::component_view component : object) {
        sum += component.stored_bytes();
    }
    return sum;
}

ztensor::result<ztensor::component_view> elements_of(const ztensor::object_view& object) {
    return object.format() == ztensor::format::dense ? object.data() : object.component("values");
}

bool is_sparse(const ztensor::object_view& object) {
    return object.format() == ztensor::format::sparse_csr || object.format() == ztensor::format::sparse_coo;
}

ztensor::result<ztensor::component_view> values_of(const ztensor::object_view& sparse) {
    auto values = sparse.component("values");
    return values ? values : sparse.component("data");
}

bool has_ending(std::string_view path, std::string_view ending) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return path.size() >= ending.size() &&
           std::equal(ending.begin(), ending.end(), path.end() - static_cast<std::ptrdiff_t>(ending.size()),
                      [&](char a, char b) { return lower(a) == lower(b); });
}

std::string type_of(const ztensor::component_view& component) {
    return std::string(component.type().text().empty() ? component.dtype().text() : component.type().text());
}

} // namespace zt
