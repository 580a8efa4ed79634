// SPDX-License-Identifier: MIT
#include "input.hpp"

#include "../describe.hpp"
#include "command.hpp"
#include "pipe.hpp"
#include "terminal.hpp"
#include "wording.hpp"

#if defined(ZT_HAS_HDF5)
#include <ztensor/hdf5.hpp>
#endif
#if defined(ZT_HAS_HTTP)
#include <ztensor/s3.hpp>
#endif

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>

namespace zt {

bool is_url(std::string_view path) {
    const std::size_t end = path.find("://");
    const auto is_letter = [](char each) { return std::isalnum(static_cast<unsigned char>(each)) != 0; };
    return end != std::string_view::npos && end > 1 &&
           std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end), is_letter);
}

std::string name_of_input(const std::string& path) {
    if (!is_url(path)) {
        return path;
    }
    const std::size_t begin = path.find("://") + 3;
    const std::size_t end = std::min(path.find_first_of("/?#", begin), path.size());
    const std::string scheme = path.substr(0, begin);
    std::string host = path.substr(begin, end - begin);
    host.erase(0, host.rfind('@') + 1); // nothing where there is none
    const std::size_t colon = host.find(':');
    const bool has_odd_port = host.substr(0, 1) != "[" && colon != std::string::npos &&
                              host.find_first_not_of("0123456789", colon + 1) != std::string::npos;
    if (has_odd_port) { // a password with a character that ends the host
        return scheme + "...";
    }
    return scheme + host + path.substr(end, path.find_first_of("?#", end) - end);
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
    return wait_for("opening " + name_of_input(path), [&]() -> ztensor::result<ztensor::reader> {
        if (!is_url(path)) {
            return ztensor::open_any(file_behind(path), reading(options));
        }
#if defined(ZT_HAS_HTTP)
        return ztensor::open_remote(path, reading(options));
#else
        throw content_error("this zt is built without libcurl, and can't read " +
                            printable(name_of_input(path)));
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
        throw content_error("this command takes one file, and " + printable(name_of_input(path)) + " is " +
                            (is_folder ? "a folder" : "an index of shards"));
    }
}

void require_changeable(const std::string& path) {
    require_one_file(path);
    if (is_url(path)) {
        throw content_error("this command changes a file where it is, and " + printable(name_of_input(path)) +
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

input_set open_set(const std::string& path, const input_options& options) {
    auto set = opened(path, options);
    if (!set && set.error().code() == ztensor::errc::invalid_argument) { // which model is meant, the files don't say
        throw content_error(set.error().what());
    }
    const ztensor::span<const ztensor::reader> files = set.value().files();
    if (files.empty()) {
        throw content_error(printable(name_of_input(path)) + " names no file");
    }
    return {set.value(), {files.begin(), files.end()}};
}

std::vector<ztensor::reader> open_inputs(const std::string& path, const input_options& options) {
    return open_set(path, options).files;
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

namespace {

namespace fs = std::filesystem;

/// A name beside `out` that no file has, such as `zt sweep` removes if the program is killed.
fs::path temporary_beside(const fs::path& out) {
    std::random_device random;
    for (;;) {
        char name[40];
        std::snprintf(name, sizeof name, ".ztensor-%08x%08x.tmp", static_cast<unsigned>(random()),
                      static_cast<unsigned>(random()));
        const fs::path path = out.parent_path() / name;
        std::error_code absent;
        if (fs::symlink_status(path, absent).type() == fs::file_type::not_found) {
            return path;
        }
    }
}

/// Why a file can't be written.
std::runtime_error not_written(const std::string& out, const std::string& why) {
    return std::runtime_error("can't write " + printable(out) + ": " + why);
}

void write_text(const fs::path& to, const std::string& text, const std::string& out) {
    errno = 0;
    std::ofstream file(to, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
        throw not_written(out, std::generic_category().message(errno));
    }
}

/// Puts a new file in the place of the old one, with the rights of that.
void replace_text(const fs::path& old, const std::string& text, const std::string& out) {
    const fs::path made = temporary_beside(old);
    try {
        write_text(made, text, out);
        std::error_code failure;
        if (const fs::file_status before = fs::status(old, failure); fs::exists(before)) {
            fs::permissions(made, before.permissions(), failure);
        }
        fs::rename(made, old, failure);
        if (failure) {
            throw not_written(out, failure.message());
        }
    } catch (...) {
        std::error_code ignored;
        fs::remove(made, ignored);
        throw;
    }
}

} // namespace

void save_text(const std::string& out, const std::string& text, const std::string& path,
               const std::vector<ztensor::reader>& files) {
    require_other_file(out, path, files);
    const fs::path given = fs::u8path(out);
    std::error_code absent;
    const fs::file_status status = fs::status(given, absent);
    if (fs::exists(status) && !fs::is_regular_file(status)) { // a pipe or a device takes no other's place
        return write_text(given, text, out);
    }
    const fs::path target = fs::is_symlink(given, absent) ? fs::canonical(given, absent) : given;
    replace_text(target.empty() ? given : target, text, out);
}

namespace {

/// Items of the file, or of all files together. True if there are any.
bool tell_items(const ztensor::reader& file, ztensor::span<const ztensor::skipped_item> items) {
    const std::string start = "zt: " + path_of(file) + ": ";
    for (const ztensor::skipped_item& each : items) {
        const std::string where = each.where.empty() ? "" : " in \"" + printable(each.where) + '"';
        const std::string why = in_one_line(in_words_of_zt(each.why));
        std::cerr << start << "skipped \"" << printable(each.name) << '"' << where << ": " << why << '\n';
    }
    if (!items.empty()) {
        std::cerr << start << grouped(items.size()) << " skipped, " << grouped(file.size()) << " objects read\n";
    }
    return !items.empty();
}

} // namespace

ztensor::span<const ztensor::skipped_item> left_out_of(const input_set& set) {
    std::size_t of_files = 0; // which come last
    for (const ztensor::reader& file : set.files) {
        of_files += file.skipped().size();
    }
    const auto& all = set.all.skipped();
    return {all.data(), all.size() - of_files};
}

bool tell_skipped(const input_set& set) {
    bool tells = tell_items(set.all, left_out_of(set));
    for (const ztensor::reader& file : set.files) {
        const bool has_items = tell_items(file, file.skipped());
        const bool is_empty = file.empty() && file.container() != ztensor::container_kind::zt;
        if (!has_items && is_empty) {
            std::cerr << "zt: " << path_of(file) << ": no tensors were found in it\n";
        }
        tells = tells || has_items || is_empty;
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

file_map files_by_name(const std::vector<ztensor::reader>& files) {
    file_map found;
    for (const ztensor::reader& file : files) {
        for (const ztensor::object_view object : file) {
            found.try_emplace(object.name(), &file);
        }
    }
    return found;
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

namespace {

/// Adds a word to a list in which each stands once.
void add_once(std::string& list, const std::string& word) {
    const std::string within = ", " + list + ", ";
    if (!word.empty() && within.find(", " + word + ", ") == std::string::npos) {
        list += (list.empty() ? "" : ", ") + word;
    }
}

/// "mxfp4" of f4_e2m1, "mxfp8_e4m3fn" of f8_e4m3fn.
std::string mx_type_of(const std::string& element) {
    const std::string narrow = element == "f4_e2m1" ? "f4" : element;
    return narrow.substr(0, 1) == "f" ? "mxfp" + narrow.substr(1) : "mx_" + narrow;
}

} // namespace

std::string type_of(const ztensor::object_view& object) {
    const std::string_view format = object.format().text();
    if (!object.format().known() && format.substr(0, 5) == "gguf.") {
        return std::string(format.substr(5, format.find('/') - 5));
    }
    if (object.format() == ztensor::format::quantized_group) {
        const auto quantized = ztensor::quantized_view::from(object);
        return quantized ? "int" + std::to_string(quantized->bits()) : std::string(format);
    }
    if (const auto data = object.component("data"); data && object.format() == ztensor::format::mx) {
        return mx_type_of(type_of(*data));
    }
    if (const auto values = is_sparse(object) ? values_of(object) : object.data()) {
        return type_of(*values);
    }
    std::string types;
    for (const ztensor::component_view part : object) {
        add_once(types, type_of(part));
    }
    return types;
}

storage_words storage_of(const ztensor::object_view& object) {
    storage_words found;
    for (const ztensor::component_view& part : parts_of(object)) {
        const bool is_raw = part.encoding() == ztensor::encoding::raw;
        add_once(found.encodings, encoding_of(object, part));
        found.is_raw = found.is_raw && is_raw;
        const auto bytes = part.decoded_bytes();
        found.decoded_bytes =
            bytes && found.decoded_bytes ? std::optional(*bytes + *found.decoded_bytes) : std::nullopt;
    }
    for (const ztensor::component_view part : object) {
        add_once(found.digests, printable(part.digest().algorithm().text()));
    }
    return found;
}

} // namespace zt
